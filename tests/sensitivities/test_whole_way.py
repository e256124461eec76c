"""Loads, laws of users, integrals over all steps, columns asked for twice: all that lies before the objective."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from test_starts import TIP, arm, compared, differences

import mechgrad as mg
from mechgrad.errors import InputError, ShapeError, UnknownNameError, ValueRangeError
from mechgrad.gallery import double_pendulum

HOW = {"duration": 0.2, "step": 5e-3}
PUSH = mg.Load("l", force=(3.0, 0, 1.0), torque=(0, 0.2, 0), point="tip", name="push")


# ---- loads of simulate


@pytest.mark.parametrize("axes", ["world", "body"])
@pytest.mark.parametrize("how", [{}, {"scheme": "trapezoidal"}, {"scheme": "dop853", "step": None, "samples": 21}])
def test_loads_and_the_points_they_act_on_are_in_the_derivative(axes, how):
    load = mg.Load("l", PUSH.force, PUSH.torque, "tip", axes, "push")
    wrt = ["tip.position.x", "tip.position.z", "push.force.x", "push.force.z", "push.torque.y", "push.point.z", "tau.e"]

    def value(x):
        model = arm().with_values({"tip.position.x": x})
        return mg.simulate(model, [0.3, 0.4], loads=[load], tau=[0.1, 0.2], **HOW).markers(["tip"]).position[-1, 0]

    motion = mg.simulate(arm(), [0.3, 0.4], loads=[load], tau=[0.1, 0.2], **(HOW | how))
    compared(motion, TIP, wrt, None if how else value, 0.4)


def test_frames_of_loaded_bodies():
    """A load follows the frame of its body: child_origin, orientation, Denavit-Hartenberg lengths."""
    rows = [[0.0, 0.1, 0.5, 0.3], [0.2, 0.0, 0.4, -0.2]]
    bodies = [mg.Body(f"b{k}", 1.0, (-0.2, 0.05, 0.1), (0.1, 0.2, 0.3)) for k in range(2)]
    joints = [
        mg.drawing.DenavitHartenberg(
            "j0", "ground", "b0", theta=rows[0][0], d=rows[0][1], a=rows[0][2], alpha=rows[0][3]
        ),
        mg.drawing.DenavitHartenberg("j1", "b0", "b1", theta=rows[1][0], d=rows[1][1], a=rows[1][2], alpha=rows[1][3]),
    ]
    dh = mg.Model("dh", bodies, joints, [mg.Point("tip", "b1", (0.1, 0.2, 0.3))])
    load = mg.Load("b1", force=(2.0, -1.0, 0.5), point=(0.2, 0.1, 0.0), name="push")
    motion = mg.simulate(dh, [0.3, 0.4], loads=[load], **HOW)
    compared(motion, TIP, ["j1.a", "j0.a", "j1.alpha", "j0.d", "push.point.x"])
    hinge = mg.Revolute("h", "ground", "b", (0.1, 0, 0.2), (0.9, 0.1, 0.2, 0.3), (0.1, 0.2, 0.05), axis=(0.2, 1, 0.1))
    one = mg.Model(
        "one", [mg.Body("b", 1.0, (0.2, 0, 0.1), (0.1, 0.2, 0.3))], [hinge], [mg.Point("tip", "b", (0.3, 0.1, 0.2))]
    )
    load = mg.Load("b", force=(2.0, -1.0, 0.5), point="b.com", name="push")
    motion = mg.simulate(one, [0.3], loads=[load], **HOW)
    compared(motion, TIP, ["h.child_origin.x", "h.child_origin.z", "h.orientation.y", "b.com.x", "h.axis.x"])


def test_reactions_feel_tau_and_loads():
    motion = mg.simulate(arm(), [0.3, 0.4], loads=[PUSH], tau=[0.1, 0.2], **HOW)
    goal = mg.Integral(lambda w: (w * w).sum(-1), mg.measures.JointReaction("s"))
    compared(motion, goal, ["push.force.x", "push.force.z", "tau.e", "tip.position.x", "u.mass"])


# ---- laws of users


def sprung(partials=None, law=None):
    law = law or (lambda t, g, gd, k, c: k * g**3 + c * gd * np.cos(t))
    force = mg.forces.UserForce("law", [mg.measures.JointCoordinate("e")], law, partials, {"k": 3.0, "c": 0.4})
    return arm(forces=[force])


@pytest.mark.parametrize("how", [{}, {"scheme": "trapezoidal"}, {"formulation": "semi-recursive", "scheme": "hht"}])
def test_numbers_of_users_laws_are_parameters(how):
    model = sprung()
    assert [p.path for p in model.parameters("law.*")] == ["law.numbers.k", "law.numbers.c"]
    motion = mg.simulate(model, mg.state(model, [0.3, 0.9], [1.0, -2.0]), t0=0.4, **(HOW | how))
    wrt = ["law.numbers.k", "law.numbers.c", "u.mass"]

    def value(k):
        changed = model.with_values({"law.numbers.k": k})
        return (
            mg.simulate(changed, mg.state(changed, [0.3, 0.9], [1.0, -2.0]), t0=0.4, **(HOW | how))
            .markers(["tip"])
            .position[-1, 0]
        )

    tolerance = 1e-7 if how else 1e-9  # complex steps go through Newton's iteration, which ends at 1e-10
    compared(motion, TIP, wrt, value, 3.0, tolerance)
    compared(motion, mg.AtEnd(mg.measures.Effort("law")), wrt, tolerance=tolerance)


def test_given_partials_of_laws_that_take_no_complex_numbers():
    def law(t, g, gd, k, c):
        assert not np.iscomplexobj(g)
        return k * np.abs(g) ** 3 * np.sign(g) + c * gd * np.cos(t)

    def partials(t, g, gd, k, c):
        return 3 * k * np.diag(g**2), np.diag(np.full(1, c * np.cos(t))), {"k": g**3, "c": gd * np.cos(t)}

    how = HOW | {"scheme": "trapezoidal"}
    given, plain = (
        mg.simulate(m, mg.state(m, [0.3, 0.9], [1.0, -2.0]), t0=0.4, **how) for m in (sprung(partials, law), sprung())
    )
    wrt = ["law.numbers.k", "law.numbers.c", "u.mass", "start.position.e"]
    exact = mg.gradient(plain, TIP, wrt).array
    for method in ("direct", "adjoint", "complex"):
        np.testing.assert_allclose(mg.gradient(given, TIP, wrt, method=method).array, exact, rtol=1e-7, atol=1e-9)
    wrong = sprung(lambda *x, **more: (*partials(*x, **more)[:2], {"k": x[1] ** 3, "c": 2.0 * x[2]}), law)
    motion = mg.simulate(wrong, mg.state(wrong, [0.3, 0.9], [1.0, -2.0]), t0=0.4, **how)
    certificate = mg.gradient(motion, TIP, wrt).certify()
    assert certificate.outcome == "failed"  # by the real difference: the complex step believes the given partials, too
    assert certificate.direction.outcome == "contradicts"


def test_bad_numbers_of_laws_are_refused():
    for numbers, error in (({"t": 1.0}, ValueRangeError), ({"a b": 1.0}, ValueRangeError), ([1.0], ShapeError)):
        with pytest.raises(error, match="force 'law'"):
            mg.forces.UserForce("law", [mg.measures.JointCoordinate("e")], lambda t, g, gd: g, numbers=numbers)
    model = sprung(lambda t, g, gd, k, c: (np.zeros((1, 1)), np.zeros((1, 1)), {"k": g**3}))
    motion = mg.simulate(model, [0.3, 0.9], **(HOW | {"scheme": "trapezoidal"}))
    for method in ("direct", "adjoint", "complex"):
        with pytest.raises(InputError, match=r"nothing for its number 'c'"):
            mg.gradient(motion, TIP, ["law.numbers.c"], method=method)


# ---- integrals


def swing(**how):
    return mg.simulate(double_pendulum(), mg.state(double_pendulum(), [0.4, -0.3], [0.5, 1.0]), duration=1.0, **how)


SPEED = mg.Integral(lambda v: (v * v).sum(-1), mg.measures.PointVelocity("tip"))


@pytest.mark.parametrize("how", [{"step": 0.01}, {"step": 0.01, "scheme": "trapezoidal"}])
def test_integrals_see_every_step_whatever_is_stored(how):
    wrt = ["upper.mass", "elbow.origin.z", "start.position.elbow"]
    for method in ("direct", "adjoint", "complex"):
        whole, few = (mg.gradient(swing(**how, **more), SPEED, wrt, method=method) for more in ({}, {"samples": 6}))
        np.testing.assert_allclose(few.values, whole.values, rtol=1e-12)
        np.testing.assert_allclose(few.array, whole.array, rtol=1e-9)
    assert few.certify().passed


def test_integrals_of_controlled_steps_do_not_depend_on_samples():
    fine, few = (mg.gradient(swing(samples=n), SPEED, ["upper.mass", "elbow.origin.z"]) for n in (801, 6))
    np.testing.assert_allclose(few.values, fine.values, rtol=1e-6)
    np.testing.assert_allclose(few.array, fine.array, rtol=1e-6)


def test_data_at_the_reported_instants_are_taken_there_and_said_so():
    motion = swing(step=0.01, samples=6)
    data = np.linspace(0.4, 0.1, 6)
    g = mg.gradient(
        motion, mg.Integral(lambda x: (x - data) ** 2, mg.measures.JointCoordinate("shoulder")), ["upper.mass"]
    )
    assert "6 reported instants only" in str(g)
    assert g.certify().passed
    goal = mg.Integral(lambda x: (x - data) ** 2, mg.measures.JointCoordinate("shoulder"))
    assert mg.gradient(motion, goal, ["upper.mass"], method="continuous-adjoint").shape == (1, 1)
    with pytest.raises(ValueError, match="broadcast"):
        mg.gradient(
            motion, mg.Integral(lambda x: x - np.zeros(7), mg.measures.JointCoordinate("shoulder")), ["upper.mass"]
        )


@pytest.mark.parametrize("how", [{"step": 2e-3, "samples": 3}, {}])
def test_continuous_adjoints_are_integrated_over_steps(how):
    motion, wrt = swing(**how), ["upper.mass", "elbow.origin.z", "start.position.elbow"]
    exact = mg.gradient(swing(rtol=1e-12, atol=1e-12, samples=2001), SPEED, wrt, method="direct").array
    found = mg.gradient(motion, SPEED, wrt, method="continuous-adjoint").array
    np.testing.assert_allclose(found, exact, rtol=3e-3)


# ---- what is asked for


def test_columns_that_are_asked_for_twice_stay_two():
    motion = swing(step=0.01)
    g = mg.gradient(motion, mg.AtEnd(mg.measures.PointPosition("tip")), ["upper.mass", "elbow.origin.z", "upper.mass"])
    assert g.parameters == ("upper.mass", "elbow.origin.z", "upper.mass")
    np.testing.assert_array_equal(g.array[:, 0], g.array[:, 2])
    assert np.abs(g.array[:, 0]).max() > 1e-3
    assert g.certify().passed


@pytest.mark.parametrize("wrt", [None, 3, ["upper.mass", None], []])
def test_what_is_no_list_of_names_is_refused(wrt):
    with pytest.raises(InputError, match="wrt"):
        mg.gradient(swing(step=0.01), SPEED, wrt)


@pytest.mark.parametrize(
    "objective", [mg.measures.JointCoordinate("elbow"), [mg.measures.JointCoordinate("elbow")], 3.0, [], {}]
)
def test_what_is_no_objective_is_refused(objective):
    with pytest.raises(InputError, match=r"objective|AtEnd"):
        mg.gradient(swing(step=0.01), objective, ["upper.mass"])


def test_unknown_forces_are_refused_with_those_that_are_known():
    motion = mg.simulate(arm(), [0.3, 0.4], loads=[PUSH], **HOW)
    for name, known in (("tau.elbow", r"tau\.e"), ("push.forces.x", r"push\.force\.x"), ("pull.force.x", "unknown")):
        with pytest.raises(UnknownNameError, match=known):
            mg.gradient(motion, TIP, [name])


def test_differences_of_the_whole_way_agree_with_every_method():
    """The red numbers that began this file: a pendulum pushed at its tip."""
    rod = mg.Body("rod", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))

    def pendulum(x):
        pin = mg.Revolute("pin", "ground", "rod", axis=(0, 1, 0))
        return mg.Model("pendulum", [rod], [pin], [mg.Point("tip", "rod", (x, 0, -1.0))])

    def end(x):
        load = mg.Load("rod", force=(0, 0, -5.0), point="tip")
        return mg.simulate(pendulum(x), [0.3], loads=[load], duration=0.5, step=5e-3)

    g = mg.gradient(end(0.1), mg.AtEnd(mg.measures.JointCoordinate("pin")), ["tip.position.x"])
    assert abs(g.array[0, 0]) > 0.1
    np.testing.assert_allclose(g.array[0, 0], differences(lambda x: end(x).q[-1, 0], 0.1), rtol=1e-8)
