"""What inverse dynamics of mechanisms accepts, and what it says to what it does not."""

from __future__ import annotations

import numpy as np
import pytest
from torque_cases import CASES, sprung_pendulum

import mechgrad as mg
from mechgrad.errors import AssemblyError, UnknownNameError
from mechgrad.gallery import double_pendulum, five_bar_start, four_bars

CASE = CASES["five-bar"]()
MODEL = CASE.model
STATE = CASE.state()
WHOLE = {"driven": ["A", "1"]}
BOTH = pytest.mark.parametrize("verb", [mg.inverse_dynamics, mg.inverse_dynamics_derivatives])


@BOTH
@pytest.mark.parametrize(
    ("level", "text"),
    [
        (0, r"constraint 'B: point [xy]' of model 'five-bar': its value is .*mg\.assemble"),
        (1, r"constraint 'B: point [xy]'.*: its rate is .*mg\.kinematics\.solve_velocities"),
        (2, r"constraint 'B: point [xy]'.*: its second rate is .*mg\.kinematics\.solve_accelerations"),
    ],
)
def test_states_that_miss_constraints_are_named(verb, level, text):
    state = [x.copy() for x in STATE]
    state[level][1] += 1e-3
    with pytest.raises(AssemblyError, match=f"^the state does not meet {text}"):
        verb(MODEL, *state, **WHOLE)
    many = [np.stack([x, y]) for x, y in zip(STATE, state, strict=True)]
    with pytest.raises(AssemblyError, match=f"^state 1 does not meet {text}"):
        verb(MODEL, *many, **WHOLE)
    verb(MODEL, *state, **WHOLE, tolerance=0.1)


def test_how_much_is_missed_is_told():
    q = STATE[0] + [0, 1e-3, 0, 0]
    miss = np.abs(mg.terms.constraint_terms(MODEL, q).value).max()
    with pytest.raises(AssemblyError, match=f"its value is {miss:.3g}, which should be 0"):
        mg.inverse_dynamics(MODEL, q)


def test_velocities_left_out_are_zero_and_accelerations_have_to_fit():
    q, v, _ = STATE
    np.testing.assert_array_equal(mg.inverse_dynamics(MODEL, q), mg.inverse_dynamics(MODEL, q, 0 * v, 0 * v))
    with pytest.raises(AssemblyError, match="second rate"):
        mg.inverse_dynamics(MODEL, q, v)


@BOTH
@pytest.mark.parametrize("driven", [["A"], ["2"], []], ids=["first", "inner", "none"])
def test_freedoms_that_nothing_drives(verb, driven):
    with pytest.raises(mg.InputError) as caught:
        verb(MODEL, *STATE, driven=driven)
    text = str(caught.value)
    assert "model 'five-bar' has 2 independent coordinate(s)" in text
    assert f"({', '.join(driven) or 'none'}) act on {len(driven)} of them" in text
    # the direction by itself: allowed by the constraints, at rest where driven
    Gamma = mg.terms.constraint_terms(MODEL, STATE[0]).gamma
    held = np.eye(4)[[MODEL.v_names.index(name) for name in driven]]
    _, s, Vt = np.linalg.svd(np.vstack([Gamma, held]))
    idle = np.abs(Vt[int((s > 1e-9).sum()) :]).max(axis=0)
    named = text.partition("in which '")[2].partition("'")[0]
    if driven:  # one direction is left: it has a coordinate that moves most
        assert named == MODEL.v_names[int(np.argmax(idle))]
        assert np.sort(idle)[-1] > 1.01 * np.sort(idle)[-2]
    else:
        assert named in MODEL.v_names


def test_a_dead_point_is_told_with_its_state():
    """A parallelogram on one line could fold as well: one drive is too few there."""
    model, start = four_bars(1)
    crank = mg.Model("crank", model.bodies, model.joints, gravity=model.gravity, cut=model.cut)
    fine, dead = start(1.0, 0.0), start(0.0, 0.0)
    q = np.stack([fine[0], dead[0]])
    mg.inverse_dynamics(crank, q[0], driven=["A0"])
    with pytest.raises(mg.InputError, match="state 1 of model 'crank' has 2 independent"):
        mg.inverse_dynamics(crank, q, driven=["A0"])
    with pytest.raises(mg.InputError, match=r"state 1 .* has 2 independent .* state 0 has 1.*singular"):
        mg.inverse_dynamics_derivatives(crank, q, driven=["A0", "B1"])


def test_trees_are_driven_everywhere():
    for model in (double_pendulum(), sprung_pendulum()):
        with pytest.raises(mg.InputError, match=r"has 2 independent .*'elbow' moves most"):
            mg.inverse_dynamics(model, [0.1, 0.2], driven=["shoulder"])
        everywhere = mg.inverse_dynamics(model, [0.1, 0.2], driven=["elbow", "shoulder"])
        np.testing.assert_allclose(everywhere, mg.inverse_dynamics(model, [0.1, 0.2]), rtol=1e-15)


def test_names():
    crank = CASES["slider-crank"]()
    q, v, a = crank.state()
    ball = mg.inverse_dynamics(crank.model, q, v, a, driven=["B"])  # all three of a ball
    np.testing.assert_array_equal(ball, mg.inverse_dynamics(crank.model, q, v, a, driven=["B.wx", "B.wy", "B.wz"]))
    assert np.abs(ball[1:4]).min() > 1e-4
    with pytest.raises(UnknownNameError, match="quantity 'C'"):
        mg.inverse_dynamics(MODEL, *STATE, driven=["A", "C"])
    with pytest.raises(mg.MechgradError, match=r"B.*cut"):
        mg.inverse_dynamics(MODEL, *STATE, driven=["A", "B"])
    with pytest.raises(mg.InputError, match="driven names 'A' twice"):
        mg.inverse_dynamics(MODEL, *STATE, driven=["A", "1", "A"])
    with pytest.raises(mg.InputError, match="give a list of names"):
        mg.inverse_dynamics(MODEL, *STATE, driven="A")
    with pytest.raises(mg.InputError, match=r"'P2\.x' is no coordinate"):
        mg.inverse_dynamics(MODEL, *STATE, driven=["A", "P2.x"])


def test_shapes_and_options():
    q, v, a = STATE
    with pytest.raises(mg.InputError, match=r"v has shape \(3,\)"):
        mg.inverse_dynamics(MODEL, q, v[:3], a)
    with pytest.raises(mg.InputError, match=r"t has shape \(2,\); give one finite instant, or 1"):
        mg.inverse_dynamics(MODEL, q, v, a, t=[0.0, 1.0])
    with pytest.raises(mg.InputError, match=r"a is nan"):
        mg.inverse_dynamics(MODEL, q, v, a * [1, 1, np.nan, 1])
    assert mg.inverse_dynamics(MODEL, np.zeros((0, 4))).shape == (0, 4)
    with pytest.raises(mg.InputError, match="q holds no states"):
        mg.inverse_dynamics_derivatives(MODEL, np.zeros((0, 4)))
    with pytest.raises(mg.InputError, match="more than a tree"):
        mg.inverse_dynamics(MODEL, q, v, a, method="lagrange")
    with pytest.raises(mg.InputError, match="method 'lagrange' knows no driven"):
        mg.inverse_dynamics(double_pendulum(), [0.1, 0.2], driven=["shoulder", "elbow"], method="lagrange")
    with pytest.raises(mg.InputError, match="guess is for coordinates by name"):
        mg.inverse_dynamics(MODEL, q, v, a, guess=q)
    with pytest.raises(mg.InputError, match="out has shape"):
        mg.inverse_dynamics(MODEL, q, v, a, out=np.empty(3))
    with pytest.raises(mg.InputError, match="out serves trees"):
        mg.inverse_dynamics_derivatives(MODEL, q, v, a, out=object())
    with pytest.raises(mg.InputError, match="complex numbers are not defined"):
        mg.inverse_dynamics_derivatives(MODEL, q + 0j, v, a)
    with pytest.raises(mg.InputError, match="all of its coordinates are independent"):
        mg.inverse_dynamics_derivatives(sprung_pendulum(), [0.1, 0.2], independent=["elbow"])


def test_independent_coordinates_that_cannot_be():
    with pytest.raises(mg.InputError, match=r"independent names 1 coordinate\(s\): A; model 'five-bar' has 2"):
        mg.inverse_dynamics_derivatives(MODEL, *STATE, independent=["A"])
    # bars 23 and 3B in line: with A and 1 at rest, the hinge between them can still start across
    stretched = mg.assemble(MODEL, {"A": -2.3, "3": 0.0}, guess=five_bar_start()).q
    with pytest.raises(mg.InputError, match="A, 1 do not decide the others at state 0"):
        mg.inverse_dynamics_derivatives(MODEL, stretched, independent=["A", "1"])
    D = mg.inverse_dynamics_derivatives(MODEL, stretched)  # a choice of its own avoids them
    assert set(D.independent) != {"A", "1"}
    assert np.abs(D.dz).max() < 1e4


def test_coordinates_are_chosen_for_all_states():
    """Of the choices for each state by itself, the one whose worst state is best."""
    states = np.array(
        [mg.assemble(MODEL, at, guess=five_bar_start()).q for at in ({"A": -2.3, "3": 0.0}, {"A": -2.3, "2": 0.0})]
    )
    freedoms = [np.linalg.svd(mg.terms.constraint_terms(MODEL, q).gamma)[2][2:].T for q in states]

    def worst(names):
        rows = [MODEL.v_names.index(name) for name in names]
        return min(np.linalg.svd(N[rows])[1][-1] for N in freedoms)

    alone = [worst(mg.inverse_dynamics_derivatives(MODEL, q).independent) for q in states]
    together = worst(mg.inverse_dynamics_derivatives(MODEL, states).independent)
    assert max(alone) > 1.1 * min(alone)
    assert together == pytest.approx(max(alone), rel=1e-9)


# ---- coordinates by name


def test_named_coordinates_stay_in_the_way_the_mechanism_is_put_together():
    """Far apart, and with two ways to go on at each instant: the same as a motion in small steps."""
    far, near = np.linspace(0.0, 0.9, 3), np.linspace(0.0, 0.9, 47)

    def along(x):
        return {"A": five_bar_start()[0] + x, "1": five_bar_start()[1] - 0.8 * x}

    tau, wanted = (mg.inverse_dynamics(MODEL, along(x), guess=five_bar_start(), **WHOLE) for x in (far, near))
    assert np.ptp(wanted, axis=0).max() > 10.0
    np.testing.assert_allclose(tau, wanted[[0, 23, 46]], atol=1e-9)
    one = mg.inverse_dynamics(MODEL, along(0.0), guess=five_bar_start(), **WHOLE)
    np.testing.assert_allclose(one, tau[0], atol=1e-12)
    assert one.shape == (4,)


def test_a_long_way_does_not_change_branches():
    """One step of Newton's method would fold the linkage the other way; and where the straight line between two
    instants leaves the reach of the linkage, it does not jump to the other side."""
    start = five_bar_start()

    def along(x, A, one):
        return {"A": start[0] + A * x, "1": start[1] + one * x}

    far, near = np.linspace(0.0, 1.0, 2), np.linspace(0.0, 1.0, 101)
    tau, wanted = (mg.inverse_dynamics(MODEL, along(x, -0.085, 1.168), guess=start) for x in (far, near))
    np.testing.assert_allclose(tau, wanted[[0, 100]], atol=1e-8)
    with pytest.raises(AssemblyError, match="cannot follow its named coordinates from instant 0 to 1"):
        mg.inverse_dynamics(MODEL, along(far, -2.94, -0.405), guess=start)
    mg.inverse_dynamics(MODEL, along(far[1], -2.94, -0.405), guess=start)  # there is a configuration, but no way to it


def test_a_dead_point_of_named_coordinates():
    start = five_bar_start()
    stretched = mg.assemble(MODEL, {"A": -2.3, "3": 0.0}, guess=start).q
    with pytest.raises(AssemblyError, match="leave velocities of model 'five-bar' open at instant 1"):
        mg.inverse_dynamics(MODEL, {"A": [start[0], -2.3], "1": [start[1], stretched[1]]}, guess=start)


def test_the_guess_decides_between_two_ways():
    q = five_bar_start()
    at = {"A": q[0], "1": q[1]}
    other = mg.assemble(MODEL, at, guess=[q[0], q[1], -q[2], -q[3]]).q
    assert abs(other[2] - q[2]) > 0.5
    first, second = (mg.inverse_dynamics(MODEL, at, guess=guess, **WHOLE) for guess in (q, other))
    np.testing.assert_allclose(first, mg.inverse_dynamics(MODEL, q, **WHOLE), atol=1e-9)
    np.testing.assert_allclose(second, mg.inverse_dynamics(MODEL, other, **WHOLE), atol=1e-9)
    assert np.abs(first - second).max() > 1.0


def test_points_may_be_named():
    q, v, a = STATE
    motion = mg.kinematics.marker_motion(MODEL, ["P2"], q, v, a)
    z, zd, zdd = (
        {f"P2.{axis}": float(getattr(motion, level)[0, k]) for k, axis in enumerate("xy")}
        for level in ("position", "velocity", "acceleration")
    )
    tau = mg.inverse_dynamics(MODEL, z, zd, zdd, guess=q, **WHOLE)
    np.testing.assert_allclose(tau, mg.inverse_dynamics(MODEL, q, v, a, **WHOLE), atol=1e-9)


def test_what_named_coordinates_cannot_be():
    q, v, _ = STATE
    with pytest.raises(AssemblyError, match=r"q names A, which leaves 1 coordinate\(s\).*Name others"):
        mg.inverse_dynamics(MODEL, {"A": q[0]}, guess=q)
    with pytest.raises(mg.InputError, match="v is an array"):
        mg.inverse_dynamics(MODEL, {"A": q[0], "1": q[1]}, v, guess=q)
    with pytest.raises(mg.InputError, match="v names coordinates and q is an array"):
        mg.inverse_dynamics(MODEL, q, {"A": 1.0})
    with pytest.raises(mg.InputError, match=r"v\['A'\] has shape \(2,\) and q\['A'\] has \(3,\)"):
        mg.inverse_dynamics(MODEL, {"A": q[0] + np.zeros(3), "1": q[1]}, {"A": np.zeros(2)}, guess=q)
    with pytest.raises(mg.InputError, match="no finite number"):
        mg.inverse_dynamics(MODEL, {"A": [q[0], np.nan], "1": q[1]}, guess=q)
    with pytest.raises(AssemblyError, match="cannot follow its named coordinates from instant 0 to 1"):
        mg.inverse_dynamics(MODEL, {"A": q[0], "1": [q[1], 0.0]}, guess=q)  # out of reach
    with pytest.raises(UnknownNameError, match="'crank'"):
        mg.inverse_dynamics(MODEL, {"crank": 0.1})
    wheel = CASES["wheel"]()
    with pytest.raises(mg.InputError, match=r"a names 'plane\.x', whose rate is not given"):
        mg.inverse_dynamics(wheel.model, wheel.z, wheel.zd, {"plane.x": 1.0})
