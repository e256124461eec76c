"""Design of mechanisms with loops: springs of a five-bar, reactions of a slider-crank, paths of a four-bar."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery

SPRINGS = {f"{s}.{name}": bounds for s in ("S1", "S2") for name, bounds in
           (("stiffness", (20.0, 300.0)), ("free_length", (0.5, 4.0)))}  # fmt: skip


@pytest.fixture(scope="module")
def five_bar() -> mg.Trajectory:
    return mg.simulate(gallery.five_bar(), gallery.five_bar_start(), 1.0, step=0.02)


def still(model: mg.Model) -> mg.Integral:
    """How far P2 is from (0.5, -2), squared, over the motion."""
    return mg.Integral(
        lambda x: (x[:, 0] - 0.5) ** 2 + (x[:, 1] + 2.0) ** 2 + x[:, 2] ** 2, mg.measures.PointPosition("P2")
    )


def test_springs_of_a_five_bar_by_two_solvers(five_bar):
    """Stretched springs keep P2 nearly in place; two stretches and two stiffnesses are more than enough, so that one
    more wish makes the optimum unique: little stretch."""
    problem = mg.DesignProblem(five_bar, {k: SPRINGS[k] for k in ("S1.free_length", "S2.free_length")},
                               still(five_bar.model))  # fmt: skip
    first = problem.solve()
    assert first.success, first
    assert first.value < 0.05 * first.start_value
    assert max(abs(x) for x in first.gradient.values()) < 1e-6 * first.start_value
    second = problem.solve("slsqp", tolerance=1e-12)
    assert second.values == pytest.approx(first.values, rel=1e-5)
    assert all(c.passed for c in first.certify().values())
    # no simulation is made twice for a value and its gradient
    assert first.program.evaluator.simulations == len(first.history)
    assert first.failures == ()


def test_reactions_of_a_slider_crank_are_kept_below_a_limit():
    """As much kinetic energy, by the mass of the slider, as the reaction at B allows over the whole motion."""
    model = gallery.slider_crank(spring=True)
    start = mg.assemble(model, {"crank axis": 0.5}, {"crank axis": 6.0})
    motion = mg.simulate(model, start, 0.2, step=0.01)
    force = lambda F: F[:, 3] ** 2 + F[:, 4] ** 2 + F[:, 5] ** 2  # noqa: E731
    squares = mg.objectives.AtTimes(None, force, mg.measures.JointReaction("B"))
    fastest = -1.0 * mg.AtEnd(mg.measures.KineticEnergy())
    before = np.sqrt(mg.gradient(motion, squares, ["S1.stiffness"]).values.max())
    bound = 0.9 * before
    problem = mg.DesignProblem(
        motion, {"slider.mass": (0.5, 4.0)}, fastest, [mg.design.Limit(squares, upper=bound**2, name="reaction at B")]
    )
    best = problem.solve()
    assert best.success, best
    after = np.sqrt(mg.gradient(best.motion, squares, ["S1.stiffness"]).values.max())
    assert after == pytest.approx(bound, rel=1e-6)
    assert sum(side.active for side in best.constraints) >= 1
    # what a looser limit would bring, from the multipliers and by solving again
    looser = mg.DesignProblem(
        motion, {"slider.mass": (0.5, 4.0)}, fastest, [mg.design.Limit(squares, upper=1.001 * bound**2)]
    ).solve()
    gain = -sum(side.multiplier for side in best.constraints) * 0.001 * bound**2
    assert looser.value - best.value == pytest.approx(gain, rel=0.02)


def four_bar(crank: float, coupler: float, rocker: float, ground: float, along: float, across: float) -> mg.Model:
    z = (0.0, 0.0, 1.0)
    rod = {"mass": 1.0, "inertia": (1e-3, 1e-3, 1e-3)}
    return mg.Model(
        "four-bar",
        [mg.Body(name, **rod) for name in ("crank", "coupler", "rocker")],
        [
            mg.Revolute("A", "ground", "crank", axis=z),
            mg.Revolute("B", "crank", "coupler", (crank, 0, 0), axis=z),
            mg.Revolute("C", "coupler", "rocker", (coupler, 0, 0), axis=z),
            mg.Revolute("D", "ground", "rocker", (ground, 0, 0), child_origin=(rocker, 0, 0), axis=z),
        ],
        [mg.Point("P", "coupler", (along, across, 0))],
        gravity=(0, 0, 0),
    )


LENGTHS = ["B.origin.x", "C.origin.x", "D.child_origin.x", "D.origin.x", "P.position.x", "P.position.y"]


def coupler_path(angle: np.ndarray, a: float, b: float, c: float, d: float, x: float, y: float) -> np.ndarray:
    """P of an open four-bar by two circles, (n, 2)."""
    B = a * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    to = np.array([d, 0.0]) - B
    s = np.linalg.norm(to, axis=1)
    turn = np.arctan2(to[:, 1], to[:, 0]) + np.arccos((b**2 + s**2 - c**2) / (2 * b * s))
    e, n = (np.stack(p, axis=1) for p in ((np.cos(turn), np.sin(turn)), (-np.sin(turn), np.cos(turn))))
    return B + x * e + y * n


def test_path_of_a_four_bar_through_six_points():
    """Six points with their crank angles, made by a known linkage, are met exactly from another one."""
    wanted = (1.0, 3.0, 2.5, 3.5, 1.2, 0.8)
    guessed = (1.1, 2.8, 2.7, 3.4, 1.0, 0.6)
    angle = np.linspace(0.2, 5.2, 6)
    data = np.column_stack([coupler_path(angle, *wanted), np.zeros(6)])
    model = four_bar(*guessed)
    guess = mg.assemble(model, {"A": angle[0]}, guess=[angle[0], 1.0, -2.0]).q
    motion = mg.kinematic_motion(model, angle, {"A": mg.functions.Polynomial((0.0, 1.0))}, guess=guess)
    P = mg.measures.PointPosition("P")
    ours = P.values(mg_samples(motion))[:, :2]
    assert ours == pytest.approx(coupler_path(angle, *guessed), abs=1e-9)  # the same way to put it together
    bounds = dict(zip(LENGTHS, [(0.5, 1.5), (2, 4), (2, 4), (2, 4), (0, 2), (0, 2)], strict=True))
    best = mg.DesignProblem(motion, bounds, mg.design.LeastSquares(mg.design.Measured(P, angle, data))).solve()
    assert best.success, best
    assert best.result.solver == "least-squares"
    assert best.value < 1e-16
    assert best.x == pytest.approx(np.array(wanted), abs=1e-6)
    assert best.motion.markers(["P"]).position[:, 0] == pytest.approx(data, abs=1e-7)


def mg_samples(motion):
    from mechgrad.sensitivities.differentiable import case_of

    return case_of(motion).samples(())


def test_equilibria_and_assembled_states_are_scenarios():
    """A spring that holds a pendulum at 0.5 rad; a rod that puts a point where it is wanted: one variable each."""
    bob = mg.Body("bob", mass=2, com=(0, 0, -1))
    spring = mg.forces.JointSpring("S", "pin", stiffness=30.0, free_position=1.0)
    model = mg.Model("held", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))], forces=[spring],
                     points=[mg.Point("tip", "bob", (0, 0, -1))])  # fmt: skip
    miss = mg.AtEnd(lambda q: (q - 0.5) ** 2, mg.measures.JointCoordinate("pin"))
    best = mg.DesignProblem(mg.equilibrium(model), {"S.stiffness": (1.0, 100.0)}, miss).solve()
    assert best.values["S.stiffness"] == pytest.approx(19.62 * np.sin(0.5) / 0.5, rel=1e-6)
    reach = mg.AtEnd(lambda x: (x[:, 0] + 0.3) ** 2, mg.measures.PointPosition("tip"))
    turned = mg.DesignProblem(mg.assemble(model, {"pin": 0.2}), {"start.position.pin": (0.0, 1.0)}, reach).solve()
    assert turned.values["start.position.pin"] == pytest.approx(np.arcsin(0.3), rel=1e-6)


def test_a_design_that_cannot_be_put_together_is_a_bad_point():
    """As long a crank as possible: beyond crank + ground = coupler + rocker nothing closes, and the first step of the
    search goes there. It comes back, and says what it met."""
    model = four_bar(1.0, 1.8, 1.8, 2.0, 0.5, 0.0)
    state = mg.assemble(model, {"A": np.pi}, guess=[np.pi, 0.0, -1.0])
    far = mg.AtEnd(lambda x: (x[:, 0] + 3.0) ** 2 + (x[:, 1] - 1.0) ** 2, mg.measures.PointPosition("P"))
    longest = mg.DesignProblem(state, {"B.origin.x": (0.2, 5.0)}, far)
    assert isinstance(longest.evaluate().values, np.ndarray)
    assert "AssemblyError" in longest.evaluator().at(np.array([2.0])).failure
    for solver in ("auto", "slsqp", "trust-constr"):
        best = longest.solve(solver, max_iterations=60)
        assert best.value < best.start_value, best
        assert best.values["B.origin.x"] < 1.6 + 1e-9
        assert all("AssemblyError" in e.failure for e in best.failures)


def turning(crank: float) -> mg.GuidedMotion:
    """A four-bar whose crank goes round once, if crank + ground <= coupler + rocker, the crank being the shortest."""
    model = four_bar(crank, 3.0, 2.5, 3.5, 1.2, 0.8)
    angle = np.linspace(0.0, 2 * np.pi, 25)
    guess = mg.assemble(model, {"A": 0.0}, guess=[0.0, 1.0, -2.0]).q
    return mg.kinematic_motion(model, angle, {"A": mg.functions.Polynomial((0.0, 1.0))}, guess=guess)


def test_a_crank_that_must_go_round():
    """As long a crank as possible. What locks is a bad point with a reason; what must not lock is a limit (Grashof's),
    whose multiplier says what it costs."""
    wanted = mg.AtTime(0.0, lambda x: (x[:, 0] - 3.0) ** 2, mg.measures.PointPosition("end of crank"))
    motion = turning(1.0)
    crank = mg.Point("end of crank", "crank", (1.0, 0.0, 0.0))
    model = mg.Model("four-bar", motion.model.bodies, motion.model.joints, (*motion.model.points, crank))
    motion = mg.kinematic_motion(model, motion.t, motion.at, guess=motion.q[0])
    length = mg.DesignVariable("length", {"B.origin.x": 1.0, "end of crank.position.x": 1.0}, 1.0, (0.2, 4.0))
    free = mg.DesignProblem(motion, [length], wanted)
    locked = free.evaluator().at(np.array([2.5]))
    assert "AssemblyError" in locked.failure
    assert free.evaluator().at(np.array([1.9])).failure == ""
    round_it_goes = mg.design.Linear({"length": 1.0}, upper=3.0 + 2.5 - 3.5 - 0.05, name="Grashof")
    best = mg.DesignProblem(motion, [length], wanted, [round_it_goes]).solve()
    assert best.success, best
    assert best.values["length"] == pytest.approx(1.95, abs=1e-8)
    assert best.constraints[0].multiplier == pytest.approx(2 * (3.0 - 1.95), rel=1e-6)
    assert np.ptp(best.motion.q[:, 0]) == pytest.approx(2 * np.pi)
