"""What users meet: choices, errors, certificates, plots, measures, awkward configurations."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import gradient_mechanisms as mechanisms

import mechgrad as mg
from mechgrad.errors import AssemblyError, CertificateError, InputError, UnknownNameError
from mechgrad.gallery import double_pendulum
from mechgrad.simulation.quadrature import weights


def swing(**options):
    options = {"duration": 0.2, "step": 0.01, "scheme": "trapezoidal"} | options
    return mg.simulate(double_pendulum(), mg.state(double_pendulum(), [0.4, -0.3], [0.5, 1.0]), **options)


TIP = mg.AtEnd(mg.measures.PointPosition("tip"))
WRT = ["upper.mass", "lower.com.z", "elbow.origin.z", "start.position.shoulder"]


def test_auto_counts_and_says_so():
    few = mg.gradient(swing(), TIP, WRT[:2])
    many = mg.gradient(swing(), mg.AtEnd(mg.measures.JointCoordinate("elbow")), WRT)
    assert (few.method, many.method) == ("direct", "adjoint")
    assert "2" in few.choice
    assert "4" in many.choice
    assert str(few.choice) in str(few)


def test_certificate_passes_and_fails():
    g = mg.gradient(swing(), TIP, WRT)
    assert g.certify().passed
    wrong = g.array.copy()
    wrong[0, 1] *= 1.01
    bad = type(g)(g.values, wrong, *(getattr(g, name) for name in list(g.__dataclass_fields__)[2:]))
    with pytest.raises(CertificateError, match=r"lower\.com\.z"):
        bad.certify().raise_if_failed()


def test_differences_agree():
    motion = swing(duration=0.05)
    exact, by_steps = (mg.gradient(motion, TIP, WRT, method=m) for m in ("adjoint", "fd"))
    np.testing.assert_allclose(by_steps.array, exact.array, rtol=1e-6, atol=1e-9)


def test_relative_sensitivities_have_no_units():
    g = mg.gradient(swing(), {"x": mg.AtEnd(lambda x: x[:, 0], mg.measures.PointPosition("tip"))}, WRT)
    np.testing.assert_allclose(g.relative(), g.array * g.parameter_values / g.values[:, None])
    assert g.of("upper.mass").shape == (1,)
    with pytest.raises(UnknownNameError, match=r"upper\.mass"):
        g.of("upper mass")


def test_sums_and_factors():
    a, b = mg.Integral(mg.measures.JointCoordinate("elbow")), mg.AtEnd(mg.measures.JointVelocity("elbow"))
    motion = swing()
    both = mg.gradient(motion, 2.0 * a + b, WRT)
    alone = [mg.gradient(motion, x, WRT) for x in (a, b)]
    np.testing.assert_allclose(both.array, 2.0 * alone[0].array + alone[1].array, rtol=1e-12)


def test_time_in_the_integrand():
    motion = swing()
    weighted = mg.Integral(lambda x, t: x * t, mg.measures.JointCoordinate("elbow"))
    g = mg.gradient(motion, weighted, WRT)
    assert g.certify().passed
    np.testing.assert_allclose(g.values, weights(motion.t, "trapezoid") @ (motion.q[:, 1] * motion.t))


def loop_motion():
    model, start = mechanisms.driven_five_bar()
    return mg.simulate(
        model, start, duration=0.03, step=1e-3, formulation=mg.formulations.Index1(tolerance=1e-13), scheme="newmark"
    )


MEASURES = {
    "multiplier": mg.measures.Multiplier("B: point y"),
    "reaction": mg.measures.JointReaction("B"),
    "effort": mg.measures.Effort("S1"),
    "motor": mg.measures.Effort("motor"),
    "distance": mg.measures.Distance("P1", "P3"),
    "kinetic": mg.measures.KineticEnergy(),
    "potential": mg.measures.PotentialEnergy(),
    "acceleration": mg.measures.JointAcceleration("2"),
}


@pytest.mark.parametrize("name", MEASURES)
def test_measures_of_loops(name):
    motion = loop_motion()
    wrt = ["S1.stiffness", "A1.mass", "L_A1", "B.origin.x", "motor.torque.values.1", "start.velocity.A", "gravity.y"]
    goals = mg.Integral(lambda x: np.sum(x.reshape(len(x), -1) ** 2, axis=1), MEASURES[name])
    exact = mg.gradient(motion, goals, wrt, method="complex")
    assert np.abs(exact.array).max() > 0
    for method in ("direct", "adjoint"):
        found = mg.gradient(motion, goals, wrt, method=method)
        np.testing.assert_allclose(found.array, exact.array, rtol=1e-8, atol=1e-8 * np.abs(exact.array).max())


def test_angle_of_a_turning_vector():
    vectors = [
        mg.Vector("up", "ground", (0, 0, 1)),
        mg.Vector("mast", "b", (0.1, 0, 1)),
        mg.Vector("n", "ground", (0, 2, 0)),
    ]
    body = mg.Body("b", 1.0, com=(0.2, 0, 0.4), inertia=(0.1, 0.1, 0.1))
    model = mg.Model("mast", [body], [mg.Revolute("pin", "ground", "b", axis=(0, 1, 0))], vectors=vectors)
    motion = mg.simulate(model, [0.3], duration=0.1, step=0.01, scheme="trapezoidal")
    angle = mg.gradient(motion, mg.AtEnd(mg.measures.Angle("up", "mast", axis="n")), ["b.com.x", "mast.direction.x"])
    np.testing.assert_allclose(angle.values, motion.q[-1, 0] + np.arctan(0.1), rtol=1e-12)
    assert angle.certify().passed
    assert np.abs(angle.array).min() > 1e-3


def test_histories():
    s = mg.motion_sensitivities(swing(), WRT)
    assert s.q.shape == (21, 2, 4)
    np.testing.assert_allclose(s.q[0, :, 3], [1.0, 0.0])
    goal = mg.gradient(swing(), mg.AtEnd(mg.measures.JointCoordinate("elbow")), WRT, method="adjoint")
    np.testing.assert_allclose(s.q[-1, 1], goal.array[0], rtol=1e-10)
    assert len(s.plot().axes) == 4
    assert len(mg.gradient(swing(), TIP, WRT).plot().axes) == 3


def test_zero_velocity_and_identity_rotation():
    """A floating body at rest in its neutral pose: nothing is singular there."""
    body = mg.Body("b", 2.0, com=(0.1, 0.2, 0.0), inertia=(0.3, 0.4, 0.5))
    model = mg.Model("free", [body], [mg.Floating("root", "ground", "b")], points=[mg.Point("P", "b", (1, 0, 0))])
    motion = mg.simulate(model, model.neutral(), duration=0.1, step=0.01, scheme="trapezoidal", tau=[0.1] * 6)
    wrt = ["b.mass", "b.inertia.xx", "b.com.y", "start.position.*", "start.velocity.*"]
    g = mg.gradient(motion, mg.AtEnd(mg.measures.PointPosition("P")), wrt)
    assert np.all(np.isfinite(g.array))
    assert g.certify(tolerance=1e-8).passed


def test_contact_that_opens_and_closes():
    """The force begins smoothly (exponent 1.5): the motion is differentiable through touch-down and lift-off."""
    up = mg.Vector("up", "ground", (0, 0, 1))
    floor = mg.forces.SphereContact("floor", "ball.origin", 0.2, "ground.origin", "up", 2e4, 0.3, 1.5)
    ball = mg.Body("ball", 1.0, inertia=(0.02, 0.02, 0.02))
    joint = mg.Prismatic("z", "ground", "ball", axis=(0, 0, 1))
    model = mg.Model("drop", [ball], [joint], vectors=[up], forces=[floor])
    how = {"formulation": mg.formulations.SemiRecursive(tolerance=1e-13), "scheme": "trapezoidal"}
    motion = mg.simulate(model, mg.state(model, [0.25], [-0.2]), duration=0.3, step=1e-3, **how)
    assert motion.q.min() < 0.2 < motion.q[-1, 0]
    wrt = ["floor.stiffness", "floor.damping", "ball.mass", "start.position.z", "start.velocity.z"]
    assert mg.gradient(motion, mg.AtEnd(mg.measures.JointCoordinate("z")), wrt).certify(tolerance=1e-7).passed


def test_errors_name_what_is_wrong():
    motion = swing()
    with pytest.raises(UnknownNameError, match="direct"):
        mg.gradient(motion, TIP, WRT, method="adjointed")
    with pytest.raises(UnknownNameError, match=r"start\.position\.shoulder"):
        mg.gradient(motion, TIP, ["start.position.sholder"])
    with pytest.raises(InputError, match="no parameter"):
        mg.gradient(motion, TIP, [])
    with pytest.raises(InputError, match="Integral"):
        mg.gradient(motion, [], WRT)
    with pytest.raises(InputError, match="not within the motion"):
        mg.gradient(motion, mg.AtTime(5.0537, mg.measures.JointCoordinate("elbow")), WRT)
    with pytest.raises(UnknownNameError, match="elbow"):
        mg.gradient(motion, mg.AtEnd(mg.measures.JointCoordinate("elbo")), WRT)
    with pytest.raises(InputError, match=r"\(21,\)"):
        mg.gradient(motion, mg.Integral(lambda x: x.sum(), mg.measures.PointPosition("tip")), WRT)
    with pytest.raises(InputError, match="measures"):
        mg.Integral(lambda x: x)
    stopped = swing(stop=lambda t, q, v: q[:, 0] - 0.405)
    with pytest.raises(InputError, match="its last instant moves"):
        mg.motion_sensitivities(stopped, WRT)


def test_a_start_that_cannot_follow_is_refused():
    model = mechanisms.linked_five_bar()
    loose = mechanisms.held_five_bar(model).q
    motion = mg.simulate(model, loose, duration=0.01, step=1e-3)
    goal = mg.AtEnd(mg.measures.PointVelocity("P2"))
    assert mg.gradient(motion, goal, ["A1.mass", "S1.stiffness"]).certify().passed
    with pytest.raises(InputError, match="assemble"):
        mg.gradient(motion, goal, ["L_A1"])


def test_a_parameter_that_tears_a_loop_apart_is_refused():
    model, start = mechanisms.redundant_five_bar()
    motion = mg.simulate(model, start, duration=0.01, step=1e-3)
    with pytest.raises(AssemblyError, match="tears"):
        mg.gradient(motion, mg.AtEnd(mg.measures.PointVelocity("P2")), ["B.origin.x"])


def test_quadrature():
    t = np.linspace(0.0, 2.0, 41)
    for rule, order in (("trapezoid", 1), ("gregory", 5)):
        for k in range(order + 1):
            assert abs(weights(t, rule) @ t**k - 2.0 ** (k + 1) / (k + 1)) < 1e-12 * 2**k
    with pytest.raises(InputError, match="gregory"):
        weights(t[:5], "gregory")
    with pytest.raises(UnknownNameError, match="trapezoid"):
        weights(t, "simpson")


def test_guided_motion():
    """A motion that drivers decide has the same entry."""
    model = mechanisms.linked_five_bar()
    start = mechanisms.held_five_bar(model)
    t = np.linspace(0, 0.3, 7)
    motion = mg.kinematic_motion(model, t, {"A": start.q[0] + 0.3 * t, "1": start.q[1] - 0.2 * t}, guess=start.q)
    g = mg.gradient(
        motion, mg.Integral(lambda x: (x * x).sum(-1), mg.measures.PointAcceleration("P2")), ["L_A1", "P2.position.x"]
    )
    assert np.abs(g.array).min() > 1e-6
    exact = mg.gradient(motion, g.terms, g.parameters, method="complex")
    np.testing.assert_allclose(g.array, exact.array, rtol=1e-9)
    assert "held: A, 1 as driven" in str(g)
    assert g.certify().passed


def test_knots_of_splines_at_once():
    """The gradient by all knots of a function, taken together, is that by each."""
    model, start = mechanisms.driven_five_bar()
    motion = mg.simulate(model, start, duration=0.06, step=1e-3, formulation=mg.formulations.ALI3P(tolerance=1e-13))
    goal = mg.AtEnd(mg.measures.PointVelocity("P2"))
    wrt = ["motor.torque.values.*", "rub.viscous"]
    g = mg.gradient(motion, goal, wrt, method="adjoint")
    np.testing.assert_allclose(g.array, mg.gradient(motion, goal, wrt, method="complex").array, rtol=1e-8, atol=1e-12)
    assert np.abs(g.array[:2]).min() > 0
