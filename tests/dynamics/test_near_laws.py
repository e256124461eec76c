"""The broad phase: a list of what is near changes no bit of a motion, and leaves out what is far."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.dynamics.system import System
from mechgrad.kinematics import mechanism_record
from mechgrad.model.mechanism import G_A, G_B, G_FIRST, G_LAST, G_LAW, G_MARKER, G_MARKER_END

WALLS = mg.surfaces.Superellipsoid(0.5, 0.3, 0.4, order=4)


def swarm(n=5):
    """Balls that hit each other and a hull on a swinging arm, among springs; one pair is never near."""
    bodies = [mg.Body(f"b{k}", 1.0 + 0.1 * k, inertia=(0.01, 0.012, 0.014)) for k in range(n)]
    bodies.append(mg.Body("arm", 4.0, com=(0, 0, -0.5), inertia=(0.2, 0.2, 0.1)))
    joints = [mg.Floating(f"j{k}", "ground", f"b{k}") for k in range(n)]
    joints.append(mg.Spherical("pivot", "ground", "arm", origin=(0.2, 0.45, 1.0)))
    forces = [mg.forces.SpringDamper("first", "b0.origin", "ground.origin", 5.0, 0.1, 0.5)]
    for i in range(n):
        forces.append(
            mg.forces.SphereContact(
                f"hull {i}", f"b{i}.origin", 0.1, "middle", "up", 3e3, friction=0.3, exponent=1.5, ground=WALLS
            )
        )
        forces += [
            mg.forces.BodyContact(f"touch {i} {k}", f"b{i}.origin", f"b{k}.origin", 0.1, 0.1, 2e4, friction=0.3)
            for k in range(i)
        ]
    forces.insert(4, mg.forces.SpringDamper("second", "b1.com", "ground.origin", 5.0, 0.1, 0.5))
    points, vectors = [mg.Point("middle", "arm", (0, 0, -1.0))], [mg.Vector("up", "arm", (0.1, 0, 1))]
    model = mg.Model("swarm", bodies, joints, points, vectors, forces=forces, gravity=(0, 0, -1.0))
    q, v = model.neutral().reshape(-1), np.zeros(model.n_v)
    for k in range(n):
        q[7 * k : 7 * k + 3] = 0.3 * k - 0.4, 0.03 * (-1) ** k, 0.05 * k
        v[6 * k : 6 * k + 3] = 2.5 * (-1) ** k, 0.5, 0.1
    q[7 * (n - 1) + 1], v[-1] = 9.0, 0.4
    return model, mg.state(model, q, v)


METHODS = {
    "explicit": {"scheme": "rk4", "step": 1e-3},
    "implicit": {"scheme": "trapezoidal", "step": 1e-3},
    "error control": {"rtol": 1e-7, "atol": 1e-8},
}


def answers(options):
    """A motion during which pairs meet and part, and its gradients, both ways, with a complex step."""
    model, start = swarm()
    motion = mg.simulate(model, start, 0.15, **options)
    goal = mg.Integral(
        lambda x, y: (x * x).sum(-1) + (y * y).sum(-1), mg.measures.PointPosition("b2.origin"),
        mg.measures.PointPosition("b1.origin"),
    )  # fmt: skip
    numbers = [
        "touch 1 0.stiffness",
        "hull 2.radius",
        "hull 2.ground.half_length",
        "hull 2.ground.half_height",
        "b1.mass",
    ]
    gradients = [mg.gradient(motion, goal, numbers, method=method) for method in ("direct", "adjoint")]
    return motion, gradients


@pytest.mark.parametrize("method", METHODS)
def test_the_list_changes_nothing(monkeypatch, method):
    motion, gradients = answers(METHODS[method])
    everyone = lambda rows_i, laws_i, markers: (  # noqa: E731 - nobody is guarded
        np.zeros((0, 7), np.int64), np.array([[0, markers]]), np.zeros(0, np.int64)
    )  # fmt: skip
    monkeypatch.setattr(mechanism_record, "guards_of", everyone)
    plain, others = answers(METHODS[method])
    assert np.array_equal(motion.q, plain.q)
    assert np.array_equal(motion.v, plain.v)
    for gradient, other in zip(gradients, others, strict=True):
        np.testing.assert_allclose(gradient.array, other.array, rtol=1e-14)  # sums that pieces are made of: roundings
    assert np.abs(gradients[0].array).min() > 1e-9
    np.testing.assert_allclose(gradients[0].array, gradients[1].array, rtol=1e-7)
    monkeypatch.undo()
    if method == "explicit":
        certificate = gradients[1].certify()
        np.testing.assert_allclose(certificate.complex_step, gradients[1].array.reshape(1, -1), rtol=1e-7)


def test_who_is_guarded():
    """Contacts of bodies are, springs are not; a marker that others need is always placed."""
    model, _ = swarm(3)
    T = System(model).T
    guards, common, watched = mechanism_record.guards_of(*_tables(T), T.n_markers)
    assert len(guards) == T.n_guards == 6
    assert sorted(set(range(8)) - set(guards[:, G_LAW].tolist())) == [0, 4]
    assert (guards[:, G_LAST] - guards[:, G_FIRST] == 6).all()
    assert sorted(set(guards[:, [G_A, G_B]].ravel().tolist())) == watched.tolist()
    own = [m for line in guards for m in range(line[G_MARKER], line[G_MARKER_END])]
    always = [m for first, last in common for m in range(first, last)]
    assert sorted([*own, *always]) == list(range(T.n_markers))  # each of them once, or its covector would count twice
    assert set(watched.tolist()) <= set(always)


def _tables(T):
    from mechgrad.model.mechanism import AT_LAWS, AT_ROWS, LAW, N_ALL, N_LAWS, ROW

    rows = T.ints[T.ints[AT_ROWS] :][: ROW * int(T.ints[N_ALL])].reshape(-1, ROW)
    laws = T.ints[T.ints[AT_LAWS] :][: LAW * int(T.ints[N_LAWS])].reshape(-1, LAW)
    return rows, laws
