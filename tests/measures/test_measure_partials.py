"""Partials of every measure by positions, velocities and numbers of the model, against central differences of the
equations of `measured_motion`.

At the first instant nothing has moved yet: the gradient by a start value is the measure's own partial, and that by a
number of the model is what the measure feels of it directly. Accelerations follow from the equations of motion, and
reactions with them.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import measured_motion as by_hand

import mechgrad as mg
from mechgrad.simulation.starts.base import coordinate_names

MODEL = by_hand.model(rope=False)
POSITION_GOALS = {
    "elbow": mg.measures.JointCoordinate("elbow"),
    "tip": mg.measures.PointPosition("tip"),
    "fore com": mg.measures.PointPosition("fore.com"),
    "beak": mg.measures.PointPosition("beak"),
    "distance": mg.measures.Distance("eye", "tool.com"),
    "angle": mg.measures.Angle("beak", "tail", axis="mast"),
    "potential": mg.measures.PotentialEnergy(),
    "height": mg.measures.Height("tip", "eye", "mast"),
    "offset": mg.measures.Offset("tip", "ring", (1, 2, 2)),
}
GOALS = {
    **POSITION_GOALS,
    "elbow rate": mg.measures.JointVelocity("elbow"),
    "tip rate": mg.measures.PointVelocity("tip"),
    "fore com rate": mg.measures.PointVelocity("fore.com"),
    "fore spin": mg.measures.PointVelocity("fore.spin"),
    "kinetic": mg.measures.KineticEnergy(),
    "spring": mg.measures.Effort("spring"),
    "bend": mg.measures.Effort("bend"),
    "rub": mg.measures.Effort("rub"),
    "mount": mg.measures.Effort("mount"),
    "elbow second": mg.measures.JointAcceleration("elbow"),
    "tip second": mg.measures.PointAcceleration("tip"),
    "fore com second": mg.measures.PointAcceleration("fore.com"),
    "reaction": mg.measures.JointReaction("elbow"),
    "reaction in parent": mg.measures.JointReaction("elbow", axes="parent"),
}
NUMBERS = {
    "tool.mass": ("MASS", "tool"),
    "fore.com.x": ("COM", "fore", 0),
    "kite.com.z": ("COM", "kite", 2),
    "tool.com.y": ("COM", "tool", 1),
    "tool.inertia.yy": ("INERTIA", "tool", 1),
    "spring.stiffness": ("SPRING", "stiffness"),
    "spring.damping": ("SPRING", "damping"),
    "spring.free_length": ("SPRING", "free_length"),
    "bend.stiffness": ("BEND", "stiffness"),
    "bend.free_angle": ("BEND", "free_angle"),
    "rub.coulomb": ("RUB", "coulomb"),
    "rub.speed": ("RUB", "speed"),
    "mount.stiffness.y": ("K", 1),
    "mount.rotational_stiffness.x": ("KR", 0),
    "mount.rotational_damping.z": ("CR", 2),
    "tip.position.y": ("POINTS", "tip", 1, 1),
    "wall.position.x": ("POINTS", "wall", 1, 0),
    "beak.direction.x": ("VECTORS", "beak", 1, 0),
    "elbow.origin.x": ("ELBOW", 0),
    "elbow.child_origin.z": ("HINGE_SEAT", 2),
    "elbow.axis.z": ("HINGE_AXIS", 2),
    "reach.axis.y": ("SLIDE_AXIS", 1),
    "gravity.z": ("GRAVITY", 2),
}


@contextmanager
def changed(place, step):
    """The number of the oracle at a place, a step further."""
    name, *keys = place
    old = getattr(by_hand, name)
    setattr(by_hand, name, _stepped(old, keys, step))
    try:
        yield
    finally:
        setattr(by_hand, name, old)


def _stepped(x, keys, step):
    if not keys:
        return x + step
    if isinstance(x, dict):
        return {k: _stepped(y, keys[1:], step) if k == keys[0] else y for k, y in x.items()}
    if len(keys) > 1:
        return tuple(_stepped(y, keys[1:], step) if k == keys[0] else y for k, y in enumerate(x))
    return np.array(x) + step * np.eye(len(x))[keys[0]]


def moved(q, dq):
    """q after small displacements: Euler parameters turn by a rotation vector in world axes."""
    out = np.concatenate((q[:3] + dq[:3], q[3:11], q[11:] + dq[9:]))
    for at, turn in ((3, dq[3:6]), (7, dq[6:9])):
        new = Rotation.from_rotvec(turn) * Rotation.from_quat(np.roll(q[at : at + 4], -1))
        out[at : at + 4] = np.roll(new.as_quat(), 1)
    return out


def values(q, v, model=MODEL):
    """Of all goals, by hand; accelerations alone are the library's."""
    a = mg.forward_dynamics(model, q, v)
    b = by_hand.rigid(q, v, a)
    u, w, n = (by_hand.vector(b, name)[0] for name in ("beak", "tail", "mast"))
    bend, rub = by_hand.BEND, by_hand.RUB
    reaction = by_hand.elbow_reaction(b, 0.0)
    found = {
        "elbow": q[11],
        "tip": by_hand.point(b, "tip")[0],
        "fore com": b["fore"].fixed(by_hand.COM["fore"])[0],
        "beak": u,
        "distance": np.linalg.norm(by_hand.point(b, "eye")[0] - b["tool"].fixed(by_hand.COM["tool"])[0]),
        "angle": np.arctan2(n @ np.cross(u, w), np.linalg.norm(n) * (u @ w)),
        "potential": by_hand.potential_energy(b, q),
        "height": by_hand.height(b, "tip", "eye", "mast"),
        "offset": np.array([1, 2, 2]) / 3 @ (by_hand.point(b, "tip")[0] - by_hand.point(b, "ring")[0]),
        "elbow rate": v[9],
        "tip rate": by_hand.point(b, "tip")[1],
        "fore com rate": b["fore"].fixed(by_hand.COM["fore"])[1],
        "fore spin": b["fore"].w,
        "kinetic": by_hand.kinetic_energy(b),
        "spring": by_hand.spring_force(b),
        "bend": bend["stiffness"] * (q[11] - bend["free_angle"]) + bend["damping"] * v[9],
        "rub": rub["coulomb"] * np.tanh(v[10] / rub["speed"]) + rub["viscous"] * v[10],
        "mount": by_hand.mount_forces(b),
        "elbow second": a[9],
        "tip second": by_hand.point(b, "tip")[2],
        "fore com second": b["fore"].fixed(by_hand.COM["fore"])[2],
        "reaction": np.concatenate(reaction),
        "reaction in parent": np.concatenate([b["arm"].R.T @ x for x in reaction]),
    }
    return {name: np.atleast_1d(found[name]) for name in GOALS}


H = 1e-5


def difference(up, down):
    return {name: (up[name] - down[name]) / (2 * H) for name in GOALS}


@cache
def wanted():
    """Columns: positions, velocities, numbers."""
    q, v = by_hand.start()
    steps = H * np.eye(11)
    columns = [difference(values(moved(q, e), v), values(moved(q, -e), v)) for e in steps]
    columns += [difference(values(q, v + e), values(q, v - e)) for e in steps]
    for path, place in NUMBERS.items():
        ends = []
        for step in (H, -H):
            model = MODEL.with_values({path: MODEL.value(path) + step})
            with changed(place, step):
                ends.append(values(q, v, model))
        columns.append(difference(*ends))
    return {name: np.array([column[name] for column in columns]).T for name in GOALS}


@cache
def found(method):
    starts = [f"start.position.{name}" for name in coordinate_names(MODEL)[0]]
    starts += [f"start.velocity.{name}" for name in MODEL.v_names]
    motion = mg.simulate(MODEL, mg.state(MODEL, *by_hand.start()), duration=4e-3, scheme="rk4", step=2e-3)
    goals = {name: mg.AtTime(0.0, measure) for name, measure in GOALS.items()}
    array = mg.gradient(motion, goals, [*starts, *NUMBERS], method=method).array
    sizes = [len(x) for x in wanted().values()]
    return dict(zip(GOALS, np.split(array, np.cumsum(sizes)[:-1]), strict=True))


@pytest.mark.parametrize("method", ["direct", "adjoint"])
@pytest.mark.parametrize("name", GOALS)
def test_partials(name, method):
    exact, here = wanted()[name], found(method)[name]
    # differences leave 1e-10 of curvature and 1e-11 of rounding, relative to the largest; thousands for accelerations
    np.testing.assert_allclose(here, exact, rtol=0, atol=1e-7 * max(1.0, np.abs(exact).max()))
    by_velocities = np.abs(exact[:, 11:22]).max()
    assert np.abs(exact[:, :11]).max() > 1e-2 or name in ("rub", "elbow rate")
    assert (by_velocities > 1e-2) == (name not in POSITION_GOALS)


def test_every_number_is_felt():
    size = np.max([np.abs(x[:, 22:]).max(axis=0) for x in wanted().values()], axis=0)
    assert size.min() > 1e-2
