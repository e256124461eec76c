"""Seeded random mechanisms: any joint kind, branching, massless links, loads on every body."""

from __future__ import annotations

import numpy as np

import mechgrad as mg

ONE_DOF = ("revolute", "prismatic", "dh-revolute", "dh-prismatic", "dh-modified")
ALL_KINDS = (*ONE_DOF, "cylindrical", "cardan", "planar", "spherical", "floating", "fixed")


def random_inertia(rng: np.random.Generator, mass: float) -> np.ndarray:
    """Inertia tensor of a random cloud of points: one that a body can have."""
    x = rng.standard_normal((8, 3)) * 0.3
    return mass / 8 * sum((p @ p) * np.eye(3) - np.outer(p, p) for p in x)


def random_joint(rng: np.random.Generator, kind: str, name: str, parent: str, child: str) -> mg.results.Joint:
    """A joint of this kind with every number random."""
    if kind.startswith("dh"):
        theta, d, a, alpha = rng.uniform(-1, 1, 4)
        return mg.drawing.DenavitHartenberg(
            name, parent, child,
            kind=rng.choice(["revolute", "prismatic"]).item() if kind == "dh-modified" else kind.removeprefix("dh-"),
            theta=theta, d=d, a=a, alpha=alpha, sign=rng.choice([-1, 1]).item(),
            convention="modified" if kind == "dh-modified" else "standard",
        )  # fmt: skip
    place = {
        "origin": rng.uniform(-1, 1, 3),
        "orientation": rng.standard_normal(4),
        "child_origin": rng.uniform(-0.5, 0.5, 3),
    }
    axis, other = rng.standard_normal(3), rng.standard_normal(3)
    match kind:
        case "revolute":
            return mg.Revolute(name, parent, child, axis=axis, **place)
        case "prismatic":
            return mg.Prismatic(name, parent, child, axis=axis, **place)
        case "cylindrical":
            return mg.Cylindrical(name, parent, child, axis=axis, **place)
        case "cardan":
            return mg.Cardan(name, parent, child, axis1=axis, axis2=other, **place)
        case "planar":
            return mg.Planar(name, parent, child, normal=axis, direction=other, **place)
        case "spherical":
            return mg.Spherical(name, parent, child, **place)
        case "floating":
            return mg.Floating(name, parent, child, **place)
        case "fixed":
            return mg.Fixed(name, parent, child, **place)
    raise AssertionError(kind)


def random_tree(
    seed: int, n_joints: int, kinds: tuple[str, ...] = ALL_KINDS, massless: float = 0.2, branching: float = 0.4
) -> mg.Model:
    """A tree of n joints; leaves carry mass, so that the mass matrix is regular. Every body has a point and a
    vector."""
    rng = np.random.default_rng(seed)
    names = [f"b{i}" for i in range(n_joints)]
    parents = ["ground"]
    for i in range(1, n_joints):
        chain = rng.random() > branching
        parents.append(names[i - 1] if chain else rng.choice(["ground", *names[:i]]).item())
    joints = [
        random_joint(
            rng, kinds[k] if (k := i) < len(kinds) else rng.choice(kinds).item(), f"j{i}", parents[i], names[i]
        )
        for i in range(n_joints)
    ]
    bodies = []
    for name in names:
        inner = name in parents
        mass = 0.0 if inner and rng.random() < massless else rng.uniform(0.5, 3)
        bodies.append(mg.Body(name, mass, rng.uniform(-0.3, 0.3, 3), random_inertia(rng, mass)))
    return mg.Model(
        f"random {seed}", bodies, joints,
        points=[mg.Point(f"P{n}", n, rng.uniform(-1, 1, 3)) for n in names],
        vectors=[mg.Vector(f"U{n}", n, rng.uniform(-1, 1, 3)) for n in names],
        gravity=rng.uniform(-10, 10, 3),
    )  # fmt: skip


def random_state(model: mg.Model, seed: int, nt: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q (off the neutral pose, Euler parameters of unit length), v, a."""
    rng = np.random.default_rng(seed)
    lead = () if nt is None else (nt,)
    q = model.integrate(
        np.broadcast_to(model.neutral(), (*lead, model.n_q)), rng.uniform(-1.5, 1.5, (*lead, model.n_v))
    )
    return q, rng.uniform(-2, 2, (*lead, model.n_v)), rng.uniform(-5, 5, (*lead, model.n_v))


def random_loads(model: mg.Model, seed: int, nt: int | None = None, axes: str = "both") -> list[mg.Load]:
    """A force at a point and a couple on every body, in alternating axes; per sample if nt is given."""
    rng = np.random.default_rng(seed)
    lead = () if nt is None else (nt,)
    loads = []
    for k, name in enumerate(model.body_names):
        chosen = ("world", "body")[k % 2] if axes == "both" else axes
        loads.append(
            mg.Load(
                name, force=rng.uniform(-20, 20, (*lead, 3)), torque=rng.uniform(-5, 5, (*lead, 3)),
                point=rng.uniform(-1, 1, 3), axes=chosen, name=f"L{k}",
            )
        )  # fmt: skip
    return loads
