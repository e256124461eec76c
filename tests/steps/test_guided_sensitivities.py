"""Sensitivities of motions that drivers decide, against complex steps through the whole kinematic motion."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.dynamics.states import States
from mechgrad.errors import AssemblyError, InputError, UnknownNameError
from mechgrad.gallery import five_bar, five_bar_start, slider_crank
from mechgrad.measures.base import StateSamples
from mechgrad.sensitivities.guided_subject import GuidedSubject
from mechgrad.steps.base import Sweeps
from mechgrad.steps.guided.adjoint import GuidedAdjoint
from mechgrad.steps.guided.pieces import GuidedSteps
from mechgrad.steps.guided.tangent import GuidedTangent

STEP = 1e-30
TIMES = np.linspace(0.0, 0.5, 6)


def squares(x):
    return np.sum(x * x, axis=-1)


def driven_five_bar():
    model, (first, second) = five_bar(), five_bar_start()[:2]
    drivers = [
        mg.constraints.Driver(
            "motor A", "A", mg.functions.Spline(np.linspace(0, 1, 6), first + 0.2 * np.sin(np.arange(6)))
        ),
        mg.constraints.Driver("motor 1", "1", mg.functions.Harmonic(0.2, frequency=1.0, offset=float(second))),
    ]
    motors = [f"motor A.function.values.{k}" for k in range(5)]
    motors += [f"motor 1.function.{name}" for name in ("amplitude", "frequency", "phase", "offset")]
    driven = mg.Model("driven", model.bodies, model.joints, model.points, constraints=drivers)
    return driven, None, ["1.origin.x", "B.child_origin.x", "B.origin.y", *motors], five_bar_start(), ("P1", "P3")


def guided_point():
    """A point of a bar is carried along a curve: a constraint of the model."""
    model = five_bar()
    x, y = (
        mg.functions.Polynomial((0.5, 0.3, 0.1)),
        mg.functions.Spline(np.linspace(0, 1, 4), (-2.0, -1.9, -1.85, -1.95)),
    )
    carried = mg.Model(
        "carried",
        model.bodies,
        model.joints,
        model.points,
        constraints=[mg.constraints.GuidedPoint("hand", "P2", x=x, y=y)],
    )
    wrt = ["hand.x.coefficients.1", "hand.y.values.1", "P2.position.y", "1.origin.x"]
    return carried, None, wrt, five_bar_start(), ("P1", "P3")


def held_point():
    """Natural coordinates are driven: their rows depend on geometry themselves."""
    at = {"P2.x": mg.functions.Polynomial((0.5, 0.3, 0.1)), "P2.y": mg.functions.Polynomial((-2.0, 0.2))}
    return (
        five_bar(),
        at,
        ["1.origin.x", "B.child_origin.x", "P2.position.x", "P2.position.y"],
        five_bar_start(),
        ("P1", "P3"),
    )


def held_vector():
    """A component of a vector is driven, and a coordinate."""
    model = five_bar()
    along = [mg.Vector("along", "12", (0.6, 0.8, 0.0))]
    turned = mg.Model("turned", model.bodies, model.joints, model.points, along)
    at = {
        "along.x": mg.functions.Polynomial((0.9, -0.3)),
        "A": mg.functions.Polynomial((float(five_bar_start()[0]), 0.2)),
    }
    return turned, at, ["1.origin.x", "along.direction.x", "along.direction.y"], five_bar_start(), ("P1", "P3")


def crank():
    at = {"crank axis": mg.functions.Polynomial((0.3, 1.0, 2.0))}
    return (
        slider_crank(),
        at,
        ["crank axis.origin.z", "B.origin.z", "C.child_origin.x", "slide.axis.y"],
        None,
        ("D", "crank.com"),
    )


def crank_with_ball():
    at = {"crank axis": mg.functions.Polynomial((0.3, 1.0, 2.0))}
    wrt = ["crank axis.origin.z", "B.origin.z", "C.child_origin.x", "slide.axis.y"]
    return slider_crank(cut="slide"), at, wrt, None, ("D", "crank.com")


CASES = [driven_five_bar, guided_point, held_point, held_vector, crank, crank_with_ball]


@pytest.mark.parametrize("case", CASES)
def test_states_follow_parameters_as_complex_steps_do(case):
    model, at, wrt, guess, _ = case()
    motion = mg.kinematic_motion(model, TIMES, at, guess=guess)
    parameters = GuidedSubject(motion).parameters(wrt)
    still = np.zeros((len(parameters), model.n_v))
    found = Sweeps(GuidedSteps(motion.record), GuidedTangent, GuidedAdjoint).direct(parameters, still, still)
    layout = model.layout
    for k, name in enumerate(parameters.names):
        moved = mg.kinematic_motion(parameters.moved(k), TIMES, at, guess=guess)
        pairs = [
            (found.q[:, k][:, layout.plain_v], moved.q.imag[:, layout.plain_q] / STEP),
            (found.v[:, k], moved.v.imag / STEP),
            (found.a[:, k], moved.a.imag / STEP),
        ]
        for level, (here, there) in enumerate(pairs):
            size = np.abs(there).max()
            assert size > 1e-2, (name, level)
            assert np.abs(here - there).max() < 1e-10 * size, (name, level)


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_of_complex_steps(case):
    model, at, wrt, guess, points = case()
    motion = mg.kinematic_motion(model, TIMES, at, guess=guess)
    objectives = [
        objective
        for point in points
        for objective in (
            mg.Integral(squares, mg.measures.PointPosition(point)),
            mg.Integral(squares, mg.measures.PointVelocity(point)),
            mg.Integral(squares, mg.measures.PointAcceleration(point)),
            2.0 * mg.AtEnd(squares, mg.measures.PointAcceleration(point))
            + mg.AtTime(0.2, squares, mg.measures.PointVelocity(point)),
        )
    ]
    direct, adjoint = (mg.gradient(motion, objectives, wrt, method=method) for method in ("direct", "adjoint"))
    values, parameters = direct.values, GuidedSubject(motion).parameters(wrt)
    direct, adjoint = direct.array, adjoint.array
    scale = np.abs(direct).max(axis=1, keepdims=True) + 1e-3
    assert (np.abs(adjoint - direct) / scale).max() < 1e-11
    for k in range(len(parameters)):
        again = mg.kinematic_motion(parameters.moved(k), TIMES, at, guess=guess)
        states = States(again.q, again.v, again.a, np.zeros((len(TIMES), 0)), TIMES)
        moved = StateSamples(again.model, states, np.zeros(model.n_v), (), (), "trapezoid")
        column = np.concatenate([x.values(moved) for x in objectives])
        np.testing.assert_allclose(column.real, values, rtol=1e-9)
        assert np.abs(column.imag).max() / STEP > 1e-3
        assert (np.abs(column.imag / STEP - direct[:, k]) / scale[:, 0]).max() < 1e-9


def with_redundant_rows():
    model = five_bar()
    end = mg.Point("end", "3B", model.joint("B").child_origin)
    return mg.Model(
        "redundant",
        model.bodies,
        model.joints,
        [*model.points, end],
        constraints=[mg.constraints.SamePoint("again", "end", "PB")],
    )


def test_redundant_rows_are_followed_or_refused():
    redundant, at = (
        with_redundant_rows(),
        {"A": mg.functions.Polynomial((-2.3, 0.3)), "1": mg.functions.Polynomial((1.7, -0.2))},
    )
    objective = [mg.Integral(squares, mg.measures.PointAcceleration("P2"))]
    arrays = [
        mg.gradient(mg.kinematic_motion(model, TIMES, at, guess=five_bar_start()), objective, ["1.origin.x"]).array
        for model in (five_bar(), redundant)
    ]
    np.testing.assert_allclose(arrays[1], arrays[0], rtol=1e-9)
    motion = mg.kinematic_motion(redundant, TIMES, at, guess=five_bar_start())
    for method in ("direct", "adjoint"):
        with pytest.raises(AssemblyError, match=r"'end\.position\.x' tears a loop of model 'redundant' apart"):
            mg.gradient(motion, objective, ["end.position.x"], method=method)


def test_errors_say_what_to_do():
    motion = mg.kinematic_motion(driven_five_bar()[0], TIMES, guess=five_bar_start())
    end = [mg.AtEnd(mg.measures.PointPosition("P2"))]
    with pytest.raises(InputError, match=r"'start\.position\.A': a motion that drivers decide has no start values"):
        mg.gradient(motion, end, ["start.position.A"])
    with pytest.raises(UnknownNameError, match=r"unknown method 'guess'.*direct, adjoint"):
        mg.gradient(motion, end, ["1.origin.x"], method="guess")
    for measure in (mg.measures.Multiplier("B: point x"), mg.measures.JointReaction("A")):
        with pytest.raises(InputError, match=f"{type(measure).__name__} belongs to motions that forces decide"):
            mg.gradient(motion, [2.0 * mg.AtEnd(measure)], ["1.origin.x"])
