"""Design problems whose optimum is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import mechgrad as mg

Position, Velocity = mg.measures.JointCoordinate, mg.measures.JointVelocity


def slider(mass: float = 2.0, **parts) -> mg.Model:
    """A mass on a straight slide, no gravity along it."""
    return mg.Model(
        "slider", [mg.Body("block", mass=mass)], [mg.Prismatic("x", "ground", "block", axis=(1, 0, 0))],
        gravity=(0, 0, 0), **parts,
    )  # fmt: skip


def pendulum(length: float) -> mg.Model:
    return mg.Model(
        "pendulum",
        [mg.Body("bob", mass=2, com=(0, 0, -length))],
        [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))],
    )


def swing(length: float, amplitude: float, t: np.ndarray) -> np.ndarray:
    """The angle of a mathematical pendulum that starts at rest, by elliptic functions."""
    k, w = np.sin(amplitude / 2), np.sqrt(9.81 / length)
    return 2 * np.arcsin(k * ellipj(ellipk(k * k) - w * t, k * k)[0])


def test_length_of_a_pendulum_from_its_swing():
    t = np.linspace(0.1, 2.0, 20)
    data = mg.design.Measured(Position("pin"), t, swing(1.3, 0.7, t), sigma=1e-3)
    start = mg.simulate(pendulum(1.0), {"pin": 0.5}, 2.0, rtol=1e-12, atol=1e-12)
    variables = {"bob.com.z": (-3.0, -0.5), "start.position.pin": (0.1, 1.5)}
    best = mg.DesignProblem(start, variables, mg.design.LeastSquares(data)).solve(tolerance=1e-10)
    assert best.success
    assert best.result.solver == "least-squares"
    assert best.values == pytest.approx({"bob.com.z": -1.3, "start.position.pin": 0.7}, abs=1e-8)
    assert best.iterations < 10
    # C = (J^T J)^-1, J = derivatives of the closed form
    J = np.stack([
        (swing(1.3 + d, 0.7 + e, t) - swing(1.3 - d, 0.7 - e, t)) / 2e-6 / 1e-3 for d, e in ((-1e-6, 0), (0, 1e-6))
    ], axis=1)  # fmt: skip
    found = best.identification()
    assert found.covariance == pytest.approx(np.linalg.inv(J.T @ J), rel=1e-5)
    assert found.noise == 1.0
    assert found.intervals[:, 1] - found.values == pytest.approx(1.959964 * found.standard_errors, rel=1e-6)


def test_least_effort_from_rest_to_rest():
    """x'' = u: u = 6 - 12 t takes 1 m in 1 s at the least integral of u^2, which is 12."""
    m, knots = 2.0, np.linspace(0.0, 1.0, 5)
    motor = mg.forces.Motor("motor", "x", mg.functions.Spline(tuple(knots), tuple(1.0 - knots)))
    motion = mg.simulate(slider(m, forces=[motor]), {"x": 0.0}, 1.0, step=0.005)
    effort = mg.Integral(lambda f: (f / m) ** 2, mg.measures.Effort("motor"), rule="gregory")
    problem = mg.DesignProblem(
        motion, ["motor.torque.values.*"], effort,
        [mg.design.Limit(mg.AtEnd(Position("x")), 1.0, 1.0, "arrives"),
         mg.design.Limit(mg.AtEnd(Velocity("x")), 0.0, 0.0, "rests")],
    )  # fmt: skip
    best = problem.solve(tolerance=1e-10)
    assert best.success, best
    assert best.result.solver == "slsqp"
    assert best.value == pytest.approx(12.0, abs=1e-8)
    assert best.x == pytest.approx(m * (6 - 12 * knots), abs=1e-6)
    # the distance d costs 12 d^2, so that one more metre costs 24 and the multiplier is -24; a final speed w costs
    # 4 w^2 - 12 w + 12
    arrives, rests = best.constraints
    assert (arrives.multiplier, rests.multiplier) == pytest.approx((-24.0, 12.0), abs=1e-6)
    # with a mass m' the same forces are (m / m')^2 less: effort counts (f / 2)^2, so the minimum is 12 (m' / 2)^2
    assert best.sensitivity(["block.mass"])["block.mass"] == pytest.approx(12.0, abs=1e-6)
    assert best.sensitivity(["start.position.x"])["start.position.x"] == pytest.approx(-24.0, abs=1e-6)


def absorber(mass_ratio: float) -> mg.Model:
    """A mass of 1 kg on a spring of 1 N/m, and another one on it with a spring and a damper."""
    bodies = [mg.Body("main", mass=1.0), mg.Body("absorber", mass=mass_ratio)]
    joints = [
        mg.Prismatic("x", "ground", "main", axis=(1, 0, 0)),
        mg.Prismatic("u", "main", "absorber", axis=(1, 0, 0)),
    ]
    forces = [
        mg.forces.JointSpring("S", "x", stiffness=1.0),
        mg.forces.JointSpring("T", "u", stiffness=mass_ratio, damping=0.3 * mass_ratio),
    ]
    return mg.Model("absorber", bodies, joints, forces=forces, gravity=(0, 0, 0))


def test_tuned_mass_damper_for_white_noise():
    """The variance of x when the ground shakes as white noise is the integral of the squared response to a knock on
    the ground: f^2 = (1 - mu/2)/(1 + mu)^2, zeta^2 = mu (1 - mu/4) / (4 (1 + mu)(1 - mu/2)) (Warburton 1982)."""
    mu = 0.5
    model = absorber(mu)
    motion = mg.simulate(model, mg.state(model, [0.0, 0.0], [1.0, 0.0]), 110.0, rtol=1e-11, atol=1e-12)
    variance = mg.Integral(lambda x: x**2, Position("x"))
    best = mg.DesignProblem(motion, {"T.stiffness": (0.05, 2.0), "T.damping": (0.02, 2.0)}, variance).solve()
    f = np.sqrt(1 - mu / 2) / (1 + mu)
    zeta = np.sqrt(mu * (1 - mu / 4) / (4 * (1 + mu) * (1 - mu / 2)))
    assert best.success, best
    assert best.values == pytest.approx({"T.stiffness": mu * f**2, "T.damping": 2 * zeta * f * mu}, abs=1e-8)


@pytest.mark.parametrize(("solver", "digits"), [("auto", 1e-8), ("ipopt", 1e-6), ("trust-constr", 1e-4), ("mma", 1e-6)])
def test_worst_of_two_scenarios(solver, digits):
    """One speed for two targets, at 1 m and at 3 m: halfway between, each missed by a metre. The barrier of
    trust-constr stays away from its limits by more than the others."""
    motion = mg.simulate(slider(), {"x": 0.0}, 1.0, step=0.05)
    missed = {
        "near": mg.AtEnd(lambda x: (x - 1.0) ** 2, Position("x")),
        "far": mg.AtEnd(lambda x: (x - 3.0) ** 2, Position("x")),
    }
    problem = mg.DesignProblem(
        {"near": motion, "far": motion}, {"start.velocity.x": (0.0, 10.0)}, mg.design.WorstCase(missed)
    )
    best = problem.solve(solver)
    assert best.success, best
    assert best.values["start.velocity.x"] == pytest.approx(2.0, abs=digits)
    assert best.value == pytest.approx(1.0, abs=digits)
    assert [side.active for side in best.constraints] == [True, True]
    assert sum(side.multiplier for side in best.constraints) == pytest.approx(1.0, abs=1e-4)


def test_worst_of_all_instants_and_its_smooth_stand_in():
    """A slider from x0 to x0 + 1 within a second, |x| as small as can be: from -1/2 to 1/2."""
    motion = mg.simulate(slider(), mg.state(slider(), [0.0], [1.0]), 1.0, step=0.05)
    where = {"start.position.x": (-2.0, 2.0)}
    squares = mg.objectives.AtTimes(None, lambda x: x**2, Position("x"))
    best = mg.DesignProblem(motion, where, mg.design.WorstCase(squares)).solve()
    assert (best.values["start.position.x"], best.value) == pytest.approx((-0.5, 0.25), abs=1e-8)
    smooth = mg.objectives.SmoothMaximum(lambda x: x**2, Position("x"), error=1e-3)
    near = mg.DesignProblem(motion, where, smooth).solve()
    assert near.values["start.position.x"] == pytest.approx(-0.5, abs=1e-8)  # by symmetry
    assert 0.25 < near.value <= 0.25 + 1e-3


def test_weights_of_scenarios_and_many_values():
    """w1 (v - 1)^2 + w2 (v - 3)^2 is least at the weighted mean."""
    motion = mg.simulate(slider(), {"x": 0.0}, 1.0, step=0.05)
    scenarios = {"near": mg.design.Scenario(motion, weight=3.0), "far": motion}
    missed = {k: mg.AtEnd(lambda x, d=d: (x - d) ** 2, Position("x")) for k, d in (("near", 1.0), ("far", 3.0))}
    from mechgrad.optimization.design.goals import Total

    best = mg.DesignProblem(scenarios, ["start.velocity.x"], Total(missed)).solve()
    assert best.values["start.velocity.x"] == pytest.approx(1.5, abs=1e-8)
    # 3 (x0 + v - 1)^2 + (x0 + v - 3)^2: another start of both costs nothing, as 3 - 3 say
    assert best.sensitivity(["start.position.x"]) == pytest.approx({"start.position.x": 0.0}, abs=1e-7)
    with pytest.raises(mg.ModelError, match="unknown name 'spring'"):
        best.sensitivity(["spring.stiffness"])


def test_a_number_that_one_scenario_alone_has():
    """Two sliders that are to be at 1 m, one pulled by a spring: what the spring costs is asked of that one alone."""
    spring = mg.forces.JointSpring("S", "x", stiffness=0.4, free_position=3.0)
    motions = {
        "free": mg.simulate(slider(), {"x": 0.0}, 1.0, step=0.05),
        "sprung": mg.simulate(slider(forces=[spring]), {"x": 0.0}, 1.0, step=0.05),
    }
    miss = mg.AtEnd(lambda x: (x - 1.0) ** 2, Position("x"))
    found = {}
    for stiffness in (0.39, 0.4, 0.41):
        motions["sprung"] = motions["sprung"].recipe.with_values({"S.stiffness": stiffness}).simulate()
        found[stiffness] = mg.DesignProblem(motions, ["start.velocity.x"], miss).solve(tolerance=1e-10)
    difference = (found[0.41].value - found[0.39].value) / 0.02
    assert found[0.4].sensitivity("S.stiffness")["S.stiffness"] == pytest.approx(difference, rel=1e-3)
    assert abs(difference) > 1e-2


def test_intervals_hold_the_truth_as_often_as_they_say():
    """A hundred records of one swing, by elliptic functions, with noise of their own: each 95 % interval holds the true
    number in 95 of 100 or so (below 90 with a chance of one in a hundred), the noise being estimated."""
    t, rng = np.linspace(0.1, 2.0, 20), np.random.default_rng(7)
    exact, true = swing(1.3, 0.7, t), {"bob.com.z": -1.3, "start.position.pin": 0.7}
    start = mg.simulate(pendulum(1.25), {"pin": 0.65}, 2.0, step=0.02)
    inside = dict.fromkeys(true, 0)
    for _ in range(100):
        data = mg.design.Measured(Position("pin"), t, exact + 2e-3 * rng.normal(size=20))
        bounds = {"bob.com.z": (-2.0, -0.8), "start.position.pin": (0.3, 1.0)}
        best = mg.DesignProblem(start, bounds, mg.design.LeastSquares(data)).solve(tolerance=1e-6)
        assert best.success
        known = best.identification()
        for name, (low, high) in zip(known.names, known.intervals, strict=True):
            inside[name] += low <= true[name] <= high
    assert all(90 <= count <= 99 for count in inside.values()), inside


def test_den_hartogs_tuning_evens_out_the_fixed_points():
    """A machine shaken by 1 N at two speeds, an absorber of mass mu on it: whatever its damping, the responses at Den
    Hartog's fixed points are equal if its frequency is 1 / (1 + mu) of the machine's, and are sqrt(1 + 2 / mu) then."""
    mu = 0.5
    best_frequency = 1.0 / (1.0 + mu)
    # the fixed points: both ends of the damper move as one rigid body would, or not at all, with the same amplitude
    root = np.sqrt(mu / (2.0 + mu))
    speeds = np.sqrt((1.0 - np.array([root, -root])) / (1.0 + mu))
    bodies, joints, forces = [], [], []
    for k, speed in enumerate(speeds):
        bodies += [mg.Body(f"machine {k}", mass=1.0), mg.Body(f"absorber {k}", mass=mu)]
        joints += [
            mg.Prismatic(f"x{k}", "ground", f"machine {k}", axis=(1, 0, 0)),
            mg.Prismatic(f"u{k}", f"machine {k}", f"absorber {k}", axis=(1, 0, 0)),
        ]
        shaking = mg.functions.Harmonic(1.0, frequency=speed / (2 * np.pi))
        forces += [
            mg.forces.JointSpring(f"foundation {k}", f"x{k}", stiffness=1.0),
            mg.forces.JointSpring(f"spring {k}", f"u{k}", stiffness=0.35, damping=0.35),
            mg.forces.Motor(f"shaking {k}", f"x{k}", shaking),
        ]
    tuning = mg.DesignVariable("stiffness", {f"spring {k}.stiffness": 1.0 for k in range(2)}, 0.35, bounds=(0.05, 1.0))
    model = mg.Model("machines", bodies, joints, gravity=(0, 0, 0), forces=forces, variables=[tuning])
    motion = mg.simulate(model, np.zeros(4), 180.0, rtol=1e-10, atol=1e-11)
    squares = [
        mg.AtEnd(lambda x, v, w=w: x**2 + (v / w) ** 2, Position(f"x{k}"), Velocity(f"x{k}"))
        for k, w in enumerate(speeds)
    ]
    best = mg.DesignProblem(motion, ["stiffness"], mg.design.WorstCase(squares)).solve(tolerance=1e-10)
    assert best.success, best
    assert best.values["stiffness"] == pytest.approx(mu * best_frequency**2, abs=1e-8)
    assert best.value == pytest.approx(1.0 + 2.0 / mu, abs=1e-7)
    assert [side.active for side in best.constraints] == [True, True]


def test_knots_of_a_driver_that_accelerates_as_little_as_possible():
    """A slider driven a metre within a second, at rest at both ends: the least integral of the squared acceleration is
    that of 3 t^2 - 2 t^3, which is 12; a clamped spline of any knots can be that cubic. Two Gauss points between knots
    integrate the square of a straight line exactly."""
    knots = np.linspace(0.0, 1.0, 6)
    t = np.sort(np.concatenate([knots[:-1] + 0.1 - 0.1 / np.sqrt(3.0), knots[:-1] + 0.1 + 0.1 / np.sqrt(3.0)]))
    spline = mg.functions.Spline(tuple(knots), tuple(knots), ends="clamped")
    model = slider(constraints=[mg.constraints.Driver("drive", "x", spline)])
    squares = mg.objectives.AtTimes(None, lambda a: a[:, 0], mg.measures.PointAcceleration("block.origin"))
    inner = {f"drive.function.values.{k}": (-1.0, 2.0) for k in range(1, 5)}
    best = mg.DesignProblem(mg.kinematic_motion(model, t), inner, mg.design.LeastSquares(squares)).solve()
    assert best.success, best
    assert best.x == pytest.approx(3 * knots[1:-1] ** 2 - 2 * knots[1:-1] ** 3, abs=1e-8)
    assert 2.0 * best.value * 0.1 == pytest.approx(12.0, abs=1e-8)


def test_length_of_a_pendulum_from_its_period():
    """A quarter of the period after it was let go it passes the bottom: 4 sqrt(l / g) K(sin(amplitude / 2)) = T."""
    amplitude, period = 1.2, 2.5
    length = 9.81 * (period / (4.0 * ellipk(np.sin(amplitude / 2) ** 2))) ** 2
    start = mg.simulate(pendulum(1.0), {"pin": amplitude}, 5.0, rtol=1e-12, atol=1e-12, stop={"pin": 0.0})
    quarter = mg.design.Limit(mg.objectives.EndTime(), period / 4.0, period / 4.0, "a quarter of the period")
    slow = mg.AtEnd(lambda v: v**2, Velocity("pin"))
    best = mg.DesignProblem(start, {"bob.com.z": (-3.0, -0.5)}, slow, [quarter]).solve(tolerance=1e-11)
    assert best.success, best
    assert best.values["bob.com.z"] == pytest.approx(-length, abs=1e-8)
    # v = sqrt(2 g / l (1 - cos a)) at the bottom; dT/dl = T / (2 l): what a longer period is worth
    fall = 2.0 * 9.81 * (1.0 - np.cos(amplitude)) / length
    assert best.value == pytest.approx(fall, rel=1e-8)
    assert best.constraints[0].multiplier == pytest.approx(fall / length / (period / 4.0 / (2.0 * length)), rel=1e-6)
