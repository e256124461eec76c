"""Holes planted between the numbers and the objective: the certificate alone finds each of them.

Some are in the derivative only, and the complex step sees them. Others are in what the complex step uses as well: then
both agree on a wrong number, and the real difference along a random direction objects.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gradient_mechanisms as mechanisms
from test_starts import arm, at_rest, reached

import mechgrad as mg
from mechgrad.dynamics import equilibrium as equilibria
from mechgrad.model.functions import Spline
from mechgrad.sensitivities import cases, motion_parameters, objectives
from mechgrad.simulation.starts.assembled import AssembledStart
from mechgrad.simulation.starts.base import Rates
from mechgrad.simulation.starts.rest import StaticEquations
from mechgrad.steps.newmark import pieces as implicit
from mechgrad.steps.runge_kutta import held_steps as explicit

TIP = mg.AtEnd(mg.measures.PointPosition("tip"))


def assembled_arm():
    model = arm()
    return mg.simulate(model, reached(model), duration=0.2, step=5e-3), TIP, ["e.origin.x", "u.mass", "tip.position.x"]


def resting_arm():
    model = arm()
    return mg.simulate(model, at_rest(model), duration=0.2, step=5e-3), TIP, ["u.mass", "k1.stiffness", "e.origin.x"]


def pushed_arm():
    push = mg.Load("l", force=(3.0, 0, 1.0), point="tip", name="push")
    motion = mg.simulate(arm(), [0.3, 0.4], duration=0.2, step=5e-3, loads=[push])
    return motion, TIP, ["tip.position.x", "u.mass", "push.force.x"]


def five_bar():
    model, start = mechanisms.driven_five_bar()
    motion = mg.simulate(model, start, duration=0.1, step=2e-3)
    goal = mg.Integral(lambda x: (x * x).sum(-1), mg.measures.PointVelocity("P2"))
    return motion, goal, ["A1.mass", "L_A1", "S1.stiffness", "motor.torque.values.1", "motor.torque.values.3"]


def stored_few():
    """A motion that keeps every fifth of its steps; integrals see them all."""
    motion = mg.simulate(arm(), mg.state(arm(), [0.3, 0.4], [1.0, -2.0]), duration=0.2, step=5e-3, samples=9)
    return (
        motion,
        mg.Integral(lambda x: (x * x).sum(-1), mg.measures.PointVelocity("tip")),
        ["u.mass", "e.origin.x", "k1.stiffness"],
    )


def bouncing():
    """A ball that touches the ground and leaves it again, with error control."""
    floor = mg.forces.SphereContact("floor", "centre", 0.1, "plane", "up", 2e3, 0.2, 1.5)
    model = mg.Model(
        "ball", [mg.Body("ball", 1.0)], [mg.Prismatic("z", "ground", "ball", axis=(0, 0, 1))],
        [mg.Point("centre", "ball"), mg.Point("plane", "ground"), mg.Point("tip", "ball")],
        [mg.Vector("up", "ground", (0, 0, 1))], forces=[floor],
    )  # fmt: skip
    motion = mg.simulate(model, mg.state(model, [0.2], [-1.0]), duration=0.4, samples=11, rtol=1e-8, atol=1e-8)
    assert len(motion.events) >= 2
    return (
        motion,
        mg.Integral(lambda v: v**2, mg.measures.JointVelocity("z")),
        ["floor.stiffness", "floor.damping", "ball.mass", "start.position.z"],
    )


def no_slopes(self, given):
    nothing = np.zeros((len(given), self.model.n_v))
    return nothing, nothing.copy()


def start_is_dropped(patch):
    patch.setattr(AssembledStart, "slopes", no_slopes)


def velocities_are_dropped(patch):
    patch.setattr(Rates, "slope", lambda self, moved, name, dq: np.zeros_like(dq))


def displacement_is_dropped_in_velocities(patch):
    whole = Rates.slope
    patch.setattr(Rates, "slope", lambda self, moved, name, dq: whole(self, moved, name, 0.0 * dq))


def rest_is_dropped(patch):
    whole = StaticEquations.direct
    patch.setattr(StaticEquations, "direct", lambda self, p: tuple(0.0 * x for x in whole(self, p)))


def rest_is_dropped_by_the_complex_step_too(patch):
    rest_is_dropped(patch)
    patch.setattr(equilibria._Search, "with_imaginary_parts", lambda self, q, y, K, G: (q, y))


def assembly_is_dropped_by_the_complex_step_too(patch):
    start_is_dropped(patch)
    again = AssembledStart.again

    def real_start(self, model, numbers, forces):
        found = again(self, model, numbers, forces)
        return mg.state(model, self.q + 0j, self.v + 0j) if np.iscomplexobj(found.q) else found

    patch.setattr(AssembledStart, "again", real_start)


def projections_lose(*fields: str) -> Callable[[pytest.MonkeyPatch], None]:
    def plant(patch):
        whole = implicit.NewmarkSteps._blocks

        def blocks(self, *arguments):
            found, stages = whole(self, *arguments)
            return found._replace(**{name: np.zeros_like(getattr(found, name)) for name in fields}), stages

        patch.setattr(implicit.NewmarkSteps, "_blocks", blocks)

    return plant


def projections_forget_parameters(patch):
    whole = implicit.NewmarkSteps._parameter_terms

    def terms(self, given, stages, count):
        found = whole(self, given, stages, count)
        return [*found[:3], 0.0 * found[3], *found[4:]]

    patch.setattr(implicit.NewmarkSteps, "_parameter_terms", terms)


def knots_are_shifted(patch):
    whole = Spline.pulled_back
    patch.setattr(Spline, "pulled_back", lambda self, x: np.roll(whole(self, x), 1, axis=-1))


def a_table_is_lost(patch):
    whole = motion_parameters.Parameters.tables

    def tables(self, k):
        return {name: x for name, x in whole(self, k).items() if name != "markers_f"}

    patch.setattr(motion_parameters.Parameters, "tables", tables)


def loads_stay_behind(patch):
    whole = motion_parameters.Parameters.record_of

    def record_of(self, system, k, role="motion"):
        loads = np.asarray(system.T.loads_f, complex)
        loads.setflags(write=False)
        return whole(self, system, k, role)._replace(loads_f=loads)

    patch.setattr(motion_parameters.Parameters, "record_of", record_of)


def quadrature_of_gradients_forgets_an_end(patch):
    whole = objectives.Term.gradients_at

    def gradients_at(self, at, given, w):
        return whole(self, at, given, np.concatenate([[0.0], w[1:]]))

    patch.setattr(objectives.Term, "gradients_at", gradients_at)


def gradients_see_reported_instants_only(patch):
    whole = cases.MotionCase.gradient

    def gradient(self, *arguments):
        blind = cases.MotionCase(self.motion)
        blind._seen = self.motion
        return whole(blind, *arguments)

    patch.setattr(cases.MotionCase, "gradient", gradient)


def steps_behind_switches_have_other_lengths(patch):
    """Derivatives of longer steps behind a switch than those that were taken there."""
    whole = explicit.held_steps

    def taken(motion):
        path = np.array(whole(motion))
        across = int(np.argmin(path[:, 1]))
        path[across + 1 : across + 12, 1] *= 1.5
        return path

    patch.setattr(explicit, "held_steps", taken)


def reports_within_steps_are_shifted(patch):
    whole = explicit.report_weights
    patch.setattr(explicit, "report_weights", lambda shares: whole(0.9 * shares))


HOLES = [
    (assembled_arm, "direct", start_is_dropped),
    (assembled_arm, "adjoint", velocities_are_dropped),
    (assembled_arm, "adjoint", displacement_is_dropped_in_velocities),
    (assembled_arm, "adjoint", assembly_is_dropped_by_the_complex_step_too),
    (resting_arm, "direct", rest_is_dropped),
    (resting_arm, "adjoint", rest_is_dropped_by_the_complex_step_too),
    (pushed_arm, "direct", loads_stay_behind),
    (pushed_arm, "adjoint", loads_stay_behind),
    (five_bar, "direct", projections_lose("K2")),
    (five_bar, "adjoint", projections_lose("rate_q")),
    (five_bar, "direct", projections_forget_parameters),
    (five_bar, "adjoint", knots_are_shifted),
    (five_bar, "adjoint", a_table_is_lost),
    (five_bar, "adjoint", quadrature_of_gradients_forgets_an_end),
    (stored_few, "direct", gradients_see_reported_instants_only),
    (bouncing, "adjoint", steps_behind_switches_have_other_lengths),
    (bouncing, "direct", reports_within_steps_are_shifted),
]


@pytest.mark.parametrize("made", [assembled_arm, resting_arm, pushed_arm, five_bar, stored_few, bouncing])
def test_without_holes_it_passes(made):
    motion, objective, wrt = made()
    for method in ("direct", "adjoint"):
        certificate = mg.gradient(motion, objective, wrt, method=method).certify()
        assert certificate.passed, str(certificate)
        assert certificate.direction.outcome == "agrees"


@pytest.mark.parametrize(("made", "method", "plant"), HOLES)
def test_holes_are_found(made, method, plant, monkeypatch):
    motion, objective, wrt = made()
    right = mg.gradient(motion, objective, wrt, method=method).array
    plant(monkeypatch)
    holed = mg.gradient(motion, objective, wrt, method=method)
    assert np.abs(holed.array - right).max() > 1e-6 * np.abs(right).max(), "the hole changes nothing"
    certificate = holed.certify()
    assert certificate.outcome == "failed", str(certificate)
    if "too" in getattr(plant, "__name__", ""):
        agreed = np.abs(holed.array - certificate.complex_step).max() <= 1e-9 * np.abs(right).max()
        assert agreed, "this hole is one that the complex step shares"
        assert certificate.direction.outcome == "contradicts"
