"""Numbers of mechanisms from histories that Exudyn made, with seeded noise: what the intervals hold, and what data do
not tell.

Whether an interval holds the true value is a coin that falls well in 95 of 100 cases. Of ten repeats fewer than seven
do so with a probability of 0.1 %, and the mean square of standardised errors of 50 numbers (five parameters, ten
repeats) leaves [0.4, 1.9] less often still, were the errors independent: intervals that are too narrow break the first
bound, those that are too wide the second.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

import mechgrad as mg

NEEDS_EXUDYN = pytest.mark.skipif(importlib.util.find_spec("exudyn") is None, reason="Exudyn is not installed")
Z = (0.0, 0.0, 1.0)
ANGLE, PLACE = 2e-3, 1e-3  # standard deviations of the noise [rad, m]
DURATION, RECORDS = 2.0, 40


@dataclass(frozen=True)
class Study:
    """What was measured, by whom, and what is looked for."""

    t: np.ndarray
    history: np.ndarray  # (n, k), without noise
    error: float  # of the integration that made it
    sigma: np.ndarray  # (k,)
    true: dict[str, float]
    bounds: dict[str, tuple[float, float]]
    guess: mg.Trajectory
    exact: np.ndarray  # the history by the true model, ours
    measured: Callable[[np.ndarray], list[mg.design.Measured]]  # of noisy values

    def found(self, seed: int, **options) -> mg.design.Optimum:
        noise = self.sigma * np.random.default_rng(seed).normal(size=self.history.shape)
        goal = mg.design.LeastSquares(self.measured(self.history + noise))
        return mg.DesignProblem(self.guess, self.bounds, goal).solve(**options)


def exudyn_histories():
    from support import exudyn_histories  # loading Exudyn takes a second, and it may not be there

    return exudyn_histories


def body(name, bar) -> mg.Body:
    return mg.Body(name, bar.mass, (bar.com, 0, 0), (bar.inertia / 2, bar.inertia / 2, bar.inertia))


def pendulum_model(data) -> mg.Model:
    return mg.Model(
        "double pendulum",
        [body("upper", data.upper), body("lower", data.lower)],
        [
            mg.Revolute("shoulder", "ground", "upper", axis=Z),
            mg.Revolute("elbow", "upper", "lower", (data.upper.length, 0, 0), axis=Z),
        ],
        gravity=(0, -data.gravity, 0),
        forces=[mg.forces.JointSpring("S", "shoulder", data.stiffness, data.damping, -np.pi / 2)],
    )


def four_bar_model(data) -> mg.Model:
    return mg.Model(
        "four-bar",
        [body("crank", data.crank), body("coupler", data.coupler), body("rocker", data.rocker)],
        [
            mg.Revolute("A", "ground", "crank", axis=Z),
            mg.Revolute("B", "crank", "coupler", (data.crank.length, 0, 0), axis=Z),
            mg.Revolute("D", "ground", "rocker", (data.ground, 0, 0), axis=Z),
            mg.Revolute(
                "C", "coupler", "rocker", (data.coupler.length, 0, 0), child_origin=(data.rocker.length, 0, 0), axis=Z
            ),
        ],
        [mg.Point("anchor", "ground", (*data.anchor, 0)), mg.Point("pin", "coupler", (data.coupler.length, 0, 0))],
        gravity=(0, -data.gravity, 0),
        cut=["C"],
        forces=[mg.forces.SpringDamper("S", "anchor", "pin", data.stiffness, data.damping, data.free_length)],
    )


ABOVE = [1.2, -0.7, 1.5]  # how the four-bar is put together


@cache
def double_pendulum() -> Study:
    """Mass and centre of the lower bar, length of the upper one, spring and damper, from both angles."""
    exudyn = exudyn_histories()
    data = exudyn.DoublePendulum()
    made = exudyn.double_pendulum(DURATION, RECORDS, data)
    true = {"lower.mass": 0.7, "lower.com.x": 0.25, "elbow.origin.x": 0.8, "S.stiffness": 8.0, "S.damping": 0.4}
    guessed = {"lower.mass": 0.6, "lower.com.x": 0.3, "elbow.origin.x": 0.75, "S.stiffness": 6.0, "S.damping": 0.3}
    bounds = [(0.2, 2.0), (0.05, 0.6), (0.5, 1.2), (1.0, 30.0), (0.0, 2.0)]
    start = [data.angles[0] - np.pi / 2, data.angles[1]]
    model = pendulum_model(data)
    assert {name: model.value(name) for name in true} == true
    shoulder, elbow = mg.measures.JointCoordinate("shoulder"), mg.measures.JointCoordinate("elbow")

    def measured(y):
        return [
            mg.design.Measured(shoulder, made.t, y[:, 0] - np.pi / 2, ANGLE),
            mg.design.Measured(elbow, made.t, y[:, 1], ANGLE),
        ]

    exact = mg.simulate(model, start, DURATION).at(made.t).q + np.array([np.pi / 2, 0.0])
    guess = mg.simulate(model.with_values(guessed), start, DURATION)
    return Study(
        made.t, made.values, made.error, np.array([ANGLE, ANGLE]), true, dict(zip(true, bounds, strict=True)), guess,
        exact, measured,
    )  # fmt: skip


@cache
def four_bar() -> Study:
    """Spring, damper, a mass, a length and the start, from the angle of the crank and the place of a pin."""
    exudyn = exudyn_histories()
    data = exudyn.FourBar()
    made = exudyn.four_bar(DURATION, RECORDS, data)
    true = {
        "S.stiffness": 60.0, "S.free_length": 0.5, "S.damping": 3.0, "coupler.mass": 1.5, "C.child_origin.x": 0.8,
    }  # fmt: skip
    guessed = dict(zip(true, (50.0, 0.45, 2.0, 1.3, 0.82), strict=True))
    bounds = dict(zip(true, ((20.0, 200.0), (0.1, 1.0), (0.0, 10.0), (0.5, 3.0), (0.7, 0.9)), strict=True))
    model = four_bar_model(data)
    assert {name: model.value(name) for name in true} == true
    crank, pin = mg.measures.JointCoordinate("A"), mg.measures.PointPosition("pin")

    def measured(y):
        return [
            mg.design.Measured(crank, made.t, y[:, 0], ANGLE),
            mg.design.Measured(pin, made.t, np.column_stack([y[:, 1:], np.zeros(len(y))]), PLACE),
        ]

    def motion(model, angle):
        return mg.simulate(model, mg.assemble(model, {"A": angle}, guess=ABOVE), DURATION)

    at = motion(model, data.angle).at(made.t)
    pins = mg.kinematics.marker_motion(model, ["pin"], at.q).position[:, 0]
    return Study(
        made.t, made.values, made.error, np.array([ANGLE, PLACE, PLACE]), true | {"start.position.A": data.angle},
        bounds | {"start.position.A": (1.0, 1.4)}, motion(model.with_values(guessed), 1.15),
        np.column_stack([at.q[:, 0], pins[:, :2]]), measured,
    )  # fmt: skip


STUDIES = {"double pendulum": double_pendulum, "four-bar with a spring": four_bar}


@NEEDS_EXUDYN
@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_exudyn_errs_far_less_than_the_noise(study):
    """Its error by halving its step, and by our motion of the same numbers at tolerances of 1e-10: they agree."""
    case = study()
    assert case.error < 1e-3 * case.sigma.min()
    assert np.abs(case.exact - case.history).max() == pytest.approx(case.error, rel=0.1)
    assert (np.ptp(case.history, axis=0) > 50.0 * case.sigma).all()


def repeated(case: Study, seeds: range) -> tuple[dict[str, int], np.ndarray]:
    """In how many repeats the interval of each number holds it, and the standardised errors (seeds, n)."""
    counts, errors = dict.fromkeys(case.true, 0), []
    for seed in seeds:
        best = case.found(seed)
        assert best.success, best
        assert best.result.solver == "least-squares"
        known = best.identification()
        assert known.names == tuple(case.true)
        assert known.undetermined == ()
        assert known.noise == 1.0
        true = np.array(list(case.true.values()))
        for name, (low, high), x in zip(known.names, known.intervals, true, strict=True):
            counts[name] += int(low <= x <= high)
        errors.append((known.values - true) / known.standard_errors)
    return counts, np.array(errors)


@NEEDS_EXUDYN
@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_intervals_hold_the_true_values(study):
    counts, errors = repeated(study(), range(10))
    assert min(counts.values()) >= 7, counts
    assert 0.4 < np.mean(errors**2) < 1.9


@pytest.mark.slow
@NEEDS_EXUDYN
@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_intervals_hold_the_true_values_in_a_hundred_repeats(study):
    """At least 90 of 100 for every number; the mean square of each standardised error is chi-squared with 100
    degrees of freedom over 100, within [0.6, 1.5] but for 0.1 %."""
    counts, errors = repeated(study(), range(100))
    print(counts, np.mean(errors**2, axis=0).round(3))
    assert min(counts.values()) >= 90, counts
    assert np.all((np.mean(errors**2, axis=0) > 0.6) & (np.mean(errors**2, axis=0) < 1.5))


@NEEDS_EXUDYN
@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_gradients_at_the_optimum_are_certified(study):
    certificates = study().found(0).certify()
    assert all(c.passed for c in certificates.values()), certificates


@NEEDS_EXUDYN
def test_a_mistake_of_the_model_is_seen():
    """A rocker of another length than that of Exudyn's: intervals do not hold the truth, residuals exceed the noise."""
    case = four_bar()
    wrong = replace(case, bounds={k: v for k, v in case.bounds.items() if k != "C.child_origin.x"})  # it stays at 0.82
    best = wrong.found(0)
    known = best.identification()
    assert not known.contains({name: case.true[name] for name in known.names})
    assert 2.0 * best.value > 2.0 * len(best.program.residuals(best.x))  # twice what noise alone leaves


@NEEDS_EXUDYN
def test_noise_that_is_not_known_is_estimated_from_what_is_left():
    """Without sigma; z of a planar mechanism, met exactly by every design, is no datum."""
    case = four_bar()
    y = case.history + PLACE * np.random.default_rng(3).normal(size=case.history.shape)
    pin = mg.measures.PointPosition("pin")
    data = mg.design.Measured(pin, case.t, np.column_stack([y[:, 1:], np.zeros(len(y))]))
    names = ("S.stiffness", "S.free_length", "S.damping", "start.position.A", "C.child_origin.x")
    best = mg.DesignProblem(case.guess, {name: case.bounds[name] for name in names} | {"coupler.mass": (0.5, 3.0)},
                            mg.design.LeastSquares(data)).solve()  # fmt: skip
    known = best.identification()
    r = best.program.residuals(best.x)
    assert known.noise == pytest.approx(np.sqrt(r @ r / (2 * RECORDS - 6)), rel=1e-12)
    assert known.noise == pytest.approx(PLACE, rel=0.3)  # chi-squared with 74 degrees of freedom: 8 %


# ---- what data do not tell


def words(motion, names, coordinates):
    """What an identification from noise-free angles says it cannot tell."""
    t = np.linspace(0.05, DURATION, RECORDS)
    model = motion.model
    data = [
        mg.design.Measured(mg.measures.JointCoordinate(x), t, motion.at(t).q[:, model.q_names.index(x)], ANGLE)
        for x in coordinates
    ]
    around = {name: (0.2 * model.value(name), 5.0 * model.value(name)) for name in names}
    return mg.DesignProblem(motion, around, mg.design.LeastSquares(data)).solve().identification()


@NEEDS_EXUDYN
def test_masses_are_known_up_to_a_factor():
    """Gravity pulls in proportion to masses: without a known spring, all that resists or pulls grows together."""
    data = exudyn_histories().DoublePendulum()
    motion = mg.simulate(pendulum_model(data), [data.angles[0] - np.pi / 2, data.angles[1]], DURATION)
    names = ["upper.mass", "upper.inertia.zz", "lower.mass", "lower.inertia.zz", "S.stiffness", "S.damping"]
    known = words(motion, names, ["shoulder", "elbow"])
    assert len(known.undetermined) == 1
    assert all(f"+100 % of {name}" in known.undetermined[0] for name in names), known
    assert np.isinf(known.standard_errors).all()
    # a spring that is known tells them apart
    assert words(motion, [x for x in names if x != "S.stiffness"], ["shoulder", "elbow"]).undetermined == ()


@NEEDS_EXUDYN
def test_combinations_are_named_one_by_one():
    """Without gravity a crank is felt through its moment of inertia about its hinge, I + m c^2, and a rocker likewise;
    and all masses are known up to a factor: three combinations, told apart."""
    data = replace(exudyn_histories().FourBar(), gravity=0.0)
    model = four_bar_model(data)
    motion = mg.simulate(model, mg.assemble(model, {"A": data.angle}, guess=ABOVE), DURATION)
    names = ["crank.mass", "crank.inertia.zz", "rocker.mass", "rocker.inertia.zz", "S.stiffness", "S.damping"]
    known = words(motion, [*names, "coupler.mass"], ["A"])
    assert np.isinf(known.standard_errors[:4]).all()
    pairs = [x for x in known.undetermined if x.count("% of") == 2]
    assert len(known.undetermined) == 3, known
    assert sorted(x.split(".")[0].rsplit(" ", 1)[1] for x in pairs) == ["crank", "rocker"], known
    for bar, name in ((data.crank, "crank"), (data.rocker, "rocker")):
        # 100 % of m c^2 by the mass is balanced by m c^2 / I of the inertia
        ratio = bar.inertia / (bar.mass * bar.com**2)
        text = next(x for x in pairs if f"{name}.mass" in x).removesuffix(" (such changes cancel)")
        shares = {
            part.split(" % of ")[1].split(" (")[0]: float(part.split(" % of ")[0]) for part in text.split(" with ")
        }
        assert shares[f"{name}.mass"] / shares[f"{name}.inertia.zz"] == pytest.approx(-ratio, rel=0.01)
    factor = next(x for x in known.undetermined if x not in pairs)
    assert "% of S.stiffness" in factor
    assert "% of S.damping" in factor
