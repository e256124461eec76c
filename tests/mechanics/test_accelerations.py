"""Accelerations of any mechanism and their derivatives: against complex steps, along motions, where rows depend."""

from __future__ import annotations

import numpy as np
import pytest
from support import timed
from support.oracles import by_parameter, by_q, by_x, relative_error
from support.random_loops import random_linkage

import mechgrad as mg
from mechgrad.gallery import bicycle, bicycle_start, bricard, five_bar, five_bar_start, slider_crank

TIME = 0.4  # where functions of time have slopes


def linkage() -> tuple[mg.Model, mg.State, list[str]]:
    model, at = random_linkage(3, 4)
    paths = ["spring.stiffness", "rub.viscous", "motor.torque.values.1", "bar1.mass", "h2.origin.x", "bar3.com.y"]
    return model, mg.assemble(model, at, {"h0": 2.0, "h1": -1.0}), paths


def ram() -> tuple[mg.Model, mg.State, list[str]]:
    model = timed.ram()
    return model, mg.assemble(model, {"A": 0.4}, {"A": 0.3}, t=TIME), ["drive.function.amplitude", "B.origin.x"]


def rolling() -> tuple[mg.Model, mg.State, list[str]]:
    model = bicycle("rolling")
    return model, bicycle_start(model, lean=0.1), ["rear wheel.radius", "fork.mass", "gravity.x"]


def tyres() -> tuple[mg.Model, mg.State, list[str]]:
    model = bicycle("tyres")
    return model, bicycle_start(model, lean=0.1), ["rear tyre.stiffness", "fork.mass", "gravity.x"]


def crank() -> tuple[mg.Model, mg.State, list[str]]:
    model = slider_crank(spring=True, axial_inertia=1e-3)
    return (
        model,
        mg.assemble(model, {"crank axis": 0.4}, {"crank axis": 3.0}),
        ["rod.mass", "S1.stiffness", "B.child_origin.x"],
    )


CASES = (linkage, ram, rolling, tyres, crank)


def disturbed(model: mg.Model, state: mg.State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A state without symmetry, off the constraints: derivatives hold there, too."""
    rng = np.random.default_rng(2)
    q = np.asarray(model.integrate(state.q, rng.uniform(-0.01, 0.01, model.n_v)))
    return q, state.v + rng.uniform(-0.3, 0.3, model.n_v), rng.uniform(-1, 1, model.n_v)


def stacked(result: mg.results.ForwardDynamicsDerivatives, name: str) -> np.ndarray:
    """A block of a, then that of the multipliers."""
    parts = [result] if result.multipliers is None else [result, result.multipliers]
    return np.concatenate([getattr(part, name) for part in parts], axis=-2)


@pytest.mark.parametrize("case", CASES)
def test_derivatives_by_complex_step(case) -> None:
    """Every block, a and multipliers, to what solving linear equations leaves of rounding."""
    model, state, paths = case()
    q, v, tau = disturbed(model, state)
    loads = [mg.Load(model.bodies[-2].name, (1.0, -2.0, 3.0), (0.1, 0.2, -0.3), (0.1, 0.05, -0.02), "body", "push")]
    D = mg.forward_dynamics_derivatives(model, q, v, tau, t=TIME, loads=loads, wrt=[*paths, "push.point.y"])

    def solve(model, q, v, tau):
        return np.concatenate(mg.forward_dynamics(model, q, v, tau, t=TIME, loads=loads, return_multipliers=True))

    assert relative_error(D.a, solve(model, q, v, tau)[: model.n_v]) == 0.0
    wanted = {
        "dq": by_q(lambda x: solve(model, x, v, tau), model, q),
        "dv": by_x(lambda x: solve(model, q, x, tau), v),
        "dtau": by_x(lambda x: solve(model, q, v, x), tau),
    }
    for name, want in wanted.items():
        assert np.abs(want).max() > 1e-2
        assert relative_error(stacked(D, name), want) < 1e-11
    for k, path in enumerate(paths):
        want = by_parameter(lambda m: solve(m, q, v, tau), model, path)
        assert np.abs(want).max() > 1e-3, path
        assert relative_error(stacked(D, "dp")[:, k], want) < 1e-11, path

    def pushed(y):
        moved = [mg.Load(loads[0].body, loads[0].force, loads[0].torque, (0.1, y, -0.02), "body")]
        return np.concatenate(mg.forward_dynamics(model, q, v, tau, t=TIME, loads=moved, return_multipliers=True))

    want = by_x(lambda y: pushed(y[0]), np.array([0.05]))[:, 0]
    assert np.abs(want).max() > 1e-3
    assert relative_error(stacked(D, "dp")[:, -1], want) < 1e-11
    assert relative_error(D.by("push.point.y"), want[: model.n_v]) < 1e-11


@pytest.mark.parametrize("case", [linkage, ram])
def test_derivatives_by_differences(case) -> None:
    """Steps of 1e-5, central: h^2 of the third derivative, with a margin of a thousand."""
    model, state, paths = case()
    q, v, tau = disturbed(model, state)
    D, h = mg.forward_dynamics_derivatives(model, q, v, tau, t=TIME, wrt=paths), 1e-5

    def solve(q, model=model):
        return np.concatenate(mg.forward_dynamics(model, q, v, tau, t=TIME, return_multipliers=True))

    by_turns = [(solve(q + h * e) - solve(q - h * e)) / (2 * h) for e in np.eye(model.n_v)]
    assert relative_error(stacked(D, "dq"), np.stack(by_turns, axis=-1)) < 1e-7
    for k, path in enumerate(paths):
        ends = [solve(q, model.with_values({path: model.value(path) + s * h})) for s in (1, -1)]
        assert relative_error(stacked(D, "dp")[:, k], (ends[0] - ends[1]) / (2 * h)) < 1e-7


def test_samples_with_forces_of_their_own() -> None:
    """tau, loads and t sample by sample, in one call and in many."""
    model, state, paths = linkage()
    rng = np.random.default_rng(4)
    nt = 5
    q = state.q + rng.uniform(-0.1, 0.1, (nt, model.n_v))
    v, tau = rng.uniform(-2, 2, (2, nt, model.n_v))
    t, force = rng.uniform(0, 0.3, nt), rng.uniform(-5, 5, (nt, 3))
    wrt = [paths[0], "pull.force.x"]

    def pull(f):
        return [mg.Load("bar2", f, point=(0.2, 0.1, 0.3), name="pull"), mg.Load("bar1", torque=[[0.1, 0.2, 0.3]])]

    a, lam = mg.forward_dynamics(model, q, v, tau, t=t, loads=pull(force), return_multipliers=True)
    D = mg.forward_dynamics_derivatives(model, q, v, tau, t=t, loads=pull(force), wrt=wrt)
    out = np.empty_like(a)
    assert mg.forward_dynamics(model, q, v, tau, t=t, loads=pull(force), out=out) is out
    np.testing.assert_array_equal(out, a)
    assert np.ptp(a, axis=0).min() > 1.0
    for k in range(nt):
        one = mg.forward_dynamics(model, q[k], v[k], tau[k], t=t[k], loads=pull(force[k]), return_multipliers=True)
        for x, y in zip(one, (a[k], lam[k]), strict=True):
            assert relative_error(x, y) < 1e-12
        single = mg.forward_dynamics_derivatives(model, q[k], v[k], tau[k], t=t[k], loads=pull(force[k]), wrt=wrt)
        for name in ("dq", "dv", "dtau", "dp"):
            assert relative_error(stacked(D, name)[k], stacked(single, name)) < 1e-11
    constant = mg.forward_dynamics(model, q, v, tau[0], loads=pull(force[0]))
    assert relative_error(constant[0], mg.forward_dynamics(model, q[0], v[0], tau[0], loads=pull(force[0]))) < 1e-12


def twice_held() -> mg.Model:
    """A double pendulum whose first hinge is held twice: by its angle, and by the height of a point it carries. The
    gradients of both rows are parallel, and their ratio changes with the angle."""
    bodies = [mg.Body(x, 1.0 + k, (0.3, 0.1, 0.2), (0.2, 0.3, 0.4)) for k, x in enumerate("ab")]
    joints = [mg.Revolute("1", "ground", "a", axis=(0, 1, 0)), mg.Revolute("2", "a", "b", (0.8, 0, 0), axis=(0, 1, 0))]
    points = [mg.Point("P", "a", (0.7, 0, 0)), mg.Point("O", "ground", (0, 0, -0.7 * np.sin(0.4)))]
    return mg.Model(
        "twice",
        bodies,
        joints,
        points,
        [mg.Vector("up", "ground", (0, 0, 1))],
        constraints=[
            mg.constraints.PointInPlane("height", "P", "O", "up"),
            mg.constraints.Driver("angle", "1", mg.functions.Constant(0.4)),
        ],
        forces=[mg.forces.JointSpring("spring", "2", 7.0, 0.5)],
    )


def test_multipliers_of_least_norm_turn_with_the_rows() -> None:
    """Two rows of rank one: each carries what the squares of their gradients say, and so do the derivatives."""
    model = twice_held()
    q, v, tau = np.array([0.4, 0.9]), np.array([0.0, 1.3]), np.array([0.3, -0.2])
    D = mg.forward_dynamics_derivatives(model, q, v, tau, wrt=["b.mass", "P.position.x"])
    lam, gamma = D.multipliers.lam, mg.terms.constraint_terms(model, q).gamma
    assert np.linalg.matrix_rank(gamma) == 1
    np.testing.assert_allclose(lam[0] * gamma[1, 0], lam[1] * gamma[0, 0], rtol=1e-9)
    assert np.abs(lam).min() > 1.0

    def solve(model, q, v, tau):
        return np.concatenate(mg.forward_dynamics(model, q, v, tau, return_multipliers=True))

    # the height bends, so that beyond its own angle the two rows disagree by squares of the speed only, 0 here
    for name, want in (
        ("dq", by_q(lambda x: solve(model, x, v, tau), model, q)),
        ("dv", by_x(lambda x: solve(model, q, x, tau), v)),
        ("dtau", by_x(lambda x: solve(model, q, v, x), tau)),
        ("dp", np.stack([by_parameter(lambda m: solve(m, q, v, tau), model, p) for p in D.parameters], axis=-1)),
    ):
        assert np.abs(want[2:]).min(axis=0).max() > 0.05
        assert relative_error(stacked(D, name), want) < 1e-9
    # the part that turning rows add, in closed form: d(gamma / gamma^2) of the force through the first hinge
    ratio = gamma[0, 0] / gamma[1, 0]
    slope = mg.terms.constraint_terms(model, q, np.array([1.0, 0.0])).rate_q[0, 0] / gamma[1, 0]
    assert D.multipliers.dq[0, 0] - ratio * D.multipliers.dq[1, 0] == pytest.approx(slope * lam[1], rel=1e-9)
    assert abs(slope * lam[1]) > 0.1


def test_along_the_motion_of_an_overconstrained_loop() -> None:
    """Bricard's linkage, five rows of rank four: the rate of a is a_q v + a_v a, that of its multipliers likewise."""
    model = bricard()
    h = 1e-3
    motion = mg.simulate(model, model.neutral(), duration=0.5 + 2 * h, samples=503, rtol=1e-12, atol=1e-12)
    q, v = motion.q[-5:], motion.v[-5:]
    a, lam = mg.forward_dynamics(model, q, v, return_multipliers=True)
    assert np.linalg.matrix_rank(mg.terms.constraint_terms(model, q[2]).gamma, tol=1e-9) == 4
    D = mg.forward_dynamics_derivatives(model, q[2], v[2])
    for values, block in ((a, D), (lam, D.multipliers)):
        wanted = (8.0 * (values[3] - values[1]) - (values[4] - values[0])) / (12.0 * h)  # order h^4
        assert np.abs(wanted).max() > 0.5
        assert relative_error(block.dq @ v[2] + block.dv @ a[2], wanted) < 1e-6


def test_a_tree_of_bodies_keeps_its_way() -> None:
    """The function of trees itself, bit for bit; multipliers are none."""
    from mechgrad.gallery import arm7
    from mechgrad.inverse import forward

    model = arm7()
    q, v, tau = np.random.default_rng(1).uniform(-1, 1, (3, 4, 7))
    a, lam = mg.forward_dynamics(model, q, v, tau, t=TIME, return_multipliers=True)
    np.testing.assert_array_equal(a, forward.forward_dynamics(model, q, v, tau))
    assert lam.shape == (4, 0)
    for method in ("factor", "recursive"):
        np.testing.assert_array_equal(
            mg.forward_dynamics(model, q, v, tau, method=method),
            forward.forward_dynamics(model, q, v, tau, method=method),
        )
    D, E = (
        f(model, q, v, tau, wrt="*.mass")
        for f in (mg.forward_dynamics_derivatives, forward.forward_dynamics_derivatives)
    )
    np.testing.assert_array_equal(D.dp, E.dp)
    assert D.multipliers is None
    sprung = mg.Model("arm", model.bodies, model.joints, forces=[mg.forces.JointSpring("s", model.joint_names[0], 0.0)])
    assert relative_error(mg.forward_dynamics(sprung, q, v, tau, method="recursive"), a) < 1e-12


def test_what_cannot_be_answered_says_why() -> None:
    model, q = five_bar(), five_bar_start()
    with pytest.raises(
        mg.InputError, match=r"method is 'factor'; model .* has constraints, which leave no choice.*auto"
    ):
        mg.forward_dynamics(model, q, method="factor")
    with pytest.raises(mg.InputError, match="method is 'quick'"):
        mg.forward_dynamics(model, q, method="quick")
    with pytest.raises(mg.InputError, match=r"t has shape \(3,\); give one instant, or 2"):
        mg.forward_dynamics(model, [q, q], t=[0.0, 1.0, 2.0])
    with pytest.raises(mg.InputError, match=r"q has shape \(3,\); model .* needs \(4,\) or \(nt, 4\)"):
        mg.forward_dynamics(model, q[:3])
    with pytest.raises(mg.InputError, match="v is nan at sample 1, column 2"):
        mg.forward_dynamics(model, [q, q], [0 * q, [0, 0, np.nan, 0]])
    with pytest.raises(mg.InputError, match="out has shape"):
        mg.forward_dynamics(model, q, out=np.empty(3))
    with pytest.raises(mg.InputError, match="takes real numbers; take a complex step through forward_dynamics"):
        mg.forward_dynamics_derivatives(model, q + 0j)
    loose = mg.Model(
        "loose", [mg.Body("a", 1.0, (1, 0, 0)), mg.Body("probe")],
        [mg.Revolute("1", "ground", "a", axis=(0, 1, 0)), mg.Revolute("tip", "a", "probe", axis=(0, 1, 0))],
        forces=[mg.forces.JointSpring("s", "1", 1.0)],
    )  # fmt: skip
    with pytest.raises(mg.errors.SingularMassMatrixError, match=r"at sample \d: .* 'tip' moves no inertia"):
        mg.forward_dynamics(loose, [[0.1, 0.2]] * 2)
    held = mg.Model(
        "held",
        loose.bodies,
        loose.joints,
        forces=loose.forces,
        constraints=[mg.constraints.Driver("d", "1", mg.functions.Constant(0.1))],
    )
    with pytest.raises(
        mg.errors.SingularMassMatrixError, match="the state of model 'held' has no unique accelerations"
    ):
        mg.forward_dynamics(held, [0.1, 0.2])
