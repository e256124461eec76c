"""Mechanisms with loops, every joint that can close one, and rows of closures in plain NumPy."""

import numpy as np
import pytest
from joint_poses import every_joint
from support.oracles import STEP

import mechgrad as mg
from mechgrad.model.primitives.fields import replaced
from mechgrad.model.primitives.rows import DOT, PLANE, POINT

JOINTS = [joint for joint in every_joint(np.random.default_rng(23)) if joint.n_v < 6]
IDS = [
    f"{type(j).__name__}-{getattr(j, 'kind', '')}{getattr(j, 'sign', '')}{getattr(j, 'convention', '')}" for j in JOINTS
]
every_kind = pytest.mark.parametrize("joint", JOINTS, ids=IDS)


def bodies(names):
    """Bodies with mass, without symmetry."""
    return [
        mg.Body(name, 1.0 + 0.3 * k, (0.1, -0.2, 0.05 * k), np.diag([0.4, 0.5, 0.6]) + 0.02 * k)
        for k, name in enumerate(names)
    ]


def five_bar(**options):
    ends = ["ground", *"abcd"]
    hinges = [mg.Revolute(f"h{k}", ends[k], ends[k + 1], (0.5 * (k > 0), 0, 0), axis=(0, 1, 0)) for k in range(4)]
    return mg.Model("five-bar", bodies("abcd"), [*hinges, mg.Revolute("h4", "ground", "d", (1, 0, 0), axis=(0, 1, 0))],
                    **options)  # fmt: skip


def slider_crank(cardan=("rod", "slider"), **options):
    joints = [
        mg.Revolute("A", "ground", "crank", (0, 0.1, 0.12), axis=(1, 0, 0)),
        mg.Spherical("B", "crank", "rod", (0, 0.08, 0)),
        mg.Cardan("C", *cardan, (0.3, 0, 0), axis1=(0, 1, 0), axis2=(0, 0, 1)),
        mg.Prismatic("D", "ground", "slider", axis=(1, 0, 0)),
    ]
    return mg.Model("slider-crank", bodies(["crank", "rod", "slider"]), joints, **options)


# ---- rows in plain NumPy


def row_value(row, poses):
    """A row at poses (R, p) of bodies, by the definitions of `mechgrad.model.primitives.rows`."""
    x = [poses[place.body][0] @ place.local + (poses[place.body][1] if place.is_point else 0.0) for place in row.places]
    if row.kind == POINT:
        return row.direction @ (x[0] - x[1]) - row.constant
    if row.kind == DOT:
        return x[0] @ x[1] - row.constant
    assert row.kind == PLANE
    return x[0] @ (x[1] - x[2]) - row.constant


def values(rows, poses):
    return np.array([row_value(row, poses) for row in rows])


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def twist_jacobian(rows, poses, body):
    """d rows by the six twists of one body, by complex step."""
    R, p = poses[body]
    columns = []
    for w, u in [(e, np.zeros(3)) for e in np.eye(3)] + [(np.zeros(3), e) for e in np.eye(3)]:
        moved = {**poses, body: (R + 1j * STEP * skew(w) @ R, p + 1j * STEP * u)}
        columns.append(values(rows, moved).imag / STEP)
    return np.stack(columns, axis=1)


def between(joint, parent, child):
    """The same joint between other bodies."""
    new = replaced(joint, {})
    object.__setattr__(new, "parent", parent)
    object.__setattr__(new, "child", child)
    return new


def random_q(model, rng):
    return model.integrate(model.neutral(), rng.normal(size=model.n_v))


def poses_of(model, q):
    motion = mg.kinematics.body_motion(model, q)
    return {"ground": (np.eye(3), np.zeros(3))} | {
        name: (motion.of(name).R, motion.of(name).p) for name in model.body_names
    }
