"""Initial positions, velocities and accelerations of mechanisms with loops."""

import numpy as np
import pytest
from kinematic_loops import (
    CRANK,
    FRAME,
    ROCKER,
    circles,
    five_bar,
    five_bar_angles,
    four_bar,
    four_bar_angles,
    slider,
    spatial_slider_crank,
)

import mechgrad as mg
from mechgrad.errors import AssemblyError, InputError, ModelError, UnknownNameError
from mechgrad.kinematics.assembly import assemble, solve_accelerations, solve_velocities

STEP = 1e-30


@pytest.mark.parametrize(("first", "second"), [(0.1, -0.2), (-0.3, 0.4), (0.25, 0.3)])
def test_five_bar_from_two_angles(first, second):
    state = assemble(five_bar(), {"A": first, "1": second})
    third, fourth, _ = five_bar_angles(first, second)
    np.testing.assert_allclose(state.q, [first, second, third, fourth], atol=1e-12)
    assert state.q[0] == first
    assert state.held == {"A": first, "1": second}
    assert state.position_error < 1e-14


def test_five_bar_from_the_coordinates_of_a_point():
    first, second = 0.2, -0.1
    third, fourth, p2 = five_bar_angles(first, second)
    state = assemble(five_bar(), {"P2.x": p2[0], ("P2", "y"): p2[1]}, {"P2.x": 0.3, "P2.y": -0.2})
    np.testing.assert_allclose(state.q, [first, second, third, fourth], atol=1e-12)
    motion = mg.kinematics.marker_motion(state.model, ["P2"], state.q, state.v)
    np.testing.assert_allclose(motion.velocity[0], [0.3, -0.2, 0.0], atol=1e-12)


def test_velocities_are_derivatives_of_the_closed_form():
    first, second, h = 0.1, -0.2, 1e-5
    state = assemble(five_bar(), {"A": first, "1": second}, {"A": 1.5, "1": -0.5})
    ahead = np.array(five_bar_angles(first + 1.5 * h, second - 0.5 * h)[:2])
    behind = np.array(five_bar_angles(first - 1.5 * h, second + 0.5 * h)[:2])
    # central differences: h^2 times third derivatives, and rounding over h
    np.testing.assert_allclose(state.v[2:], (ahead - behind) / (2 * h), atol=1e-9)
    assert np.abs(state.v[2:]).min() > 0.01
    at_rest = assemble(five_bar(), {"A": first, "1": second}, {"A": 1.5})
    assert at_rest.v[1] == pytest.approx(0.0, abs=1e-15)
    assert at_rest.held_rates == {"A": 1.5, "1": 0.0}


def test_accelerations_of_the_five_bar():
    q = assemble(five_bar(), {"A": 0.1, "1": -0.2}).q
    model, h = five_bar(), 1e-4
    rates, seconds = {"A": 1.5, "1": -0.5}, {"A": -2.0, "1": 0.7}
    v = solve_velocities(model, q, rates)
    a = solve_accelerations(model, q, v, seconds)

    def angles(t):
        return np.array(five_bar_angles(0.1 + 1.5 * t - t * t, -0.2 - 0.5 * t + 0.35 * t * t)[:2])

    np.testing.assert_allclose(a[:2], [-2.0, 0.7], atol=1e-12)
    np.testing.assert_allclose(a[2:], (angles(h) - 2 * angles(0.0) + angles(-h)) / h**2, atol=1e-6)


def test_accelerations_of_a_held_point_contain_the_part_of_velocities():
    model = five_bar()
    q = assemble(model, {"A": 0.1, "1": -0.2}).q
    v = solve_velocities(model, q, {"A": 1.5, "1": -0.5})
    a = solve_accelerations(model, q, v, {"P2.x": 0.4, "P2.y": 1.1})
    np.testing.assert_allclose(
        mg.kinematics.marker_motion(model, ["P2"], q, v, a).acceleration[0], [0.4, 1.1, 0.0], atol=1e-12
    )


@pytest.mark.parametrize("th", [0.3, 2.0, -1.2])
@pytest.mark.parametrize("cut", ["ball", "cardan", "slide"])
def test_spatial_slider_crank(th, cut):
    model = spatial_slider_crank(cut)
    state = assemble(model, {"crank": th}, {"crank": 3.0}, guess=_towards_x(model))
    np.testing.assert_allclose(
        mg.kinematics.marker_motion(model, ["C"], state.q).position[0], [slider(th), 0, 0], atol=1e-12
    )
    velocity = mg.kinematics.marker_motion(model, ["C"], state.q, state.v).velocity[0]
    np.testing.assert_allclose(velocity, [3.0 * slider(th + 1j * STEP).imag / STEP, 0, 0], atol=1e-12)
    assert abs(velocity[0]) > 0.01


def test_slider_crank_held_by_its_slider():
    model = spatial_slider_crank()
    th = 0.8
    state = assemble(model, {"C.x": slider(th)}, guess=assemble(model, {"crank": 0.6}, guess=_towards_x(model)).q)
    assert state.q[0] == pytest.approx(th, abs=1e-11)


def _towards_x(model):
    q = model.neutral()
    if "slide" in model.q_names:
        q[model.q_slice("slide")] = 0.25
    return q


def test_derivatives_travel_through():
    """dq/d(length) and dv/d(length) of the four-bar by complex step, against the closed form."""
    th, h = 0.7, 1e-20
    model = four_bar()
    state = assemble(model, {"crank": th}, {"crank": 2.0}, guess=[th, 1.5, 0.0])
    moved = model.with_values({"rocker.origin.x": FRAME + 1j * h})
    # from a rough guess, and from one whose real parts are right
    stepped = assemble(moved, {"crank": th}, {"crank": 2.0}, guess=[th, 1.5, 0.0])
    again = assemble(moved, {"crank": th}, {"crank": 2.0}, guess=state.q)
    np.testing.assert_allclose(stepped.q.real, state.q, atol=1e-14)
    np.testing.assert_allclose(again.q.imag / h, stepped.q.imag / h, atol=1e-12)

    def rocker_angle(frame, angle):
        tip = CRANK * np.array([np.cos(angle), np.sin(angle)])
        pin = circles(tip, 1.1, np.array([frame, 0.0]), ROCKER, 1)
        return np.arctan2(pin[1], pin[0] - frame)

    d = 1e-5
    expected = (rocker_angle(FRAME + d, th) - rocker_angle(FRAME - d, th)) / (2 * d)
    assert stepped.q[1].imag / h == pytest.approx(expected, abs=1e-9)

    def rocker_rate(frame):
        return 2.0 * (rocker_angle(frame, th + d) - rocker_angle(frame, th - d)) / (2 * d)

    # a mixed difference: rounding over d^2
    expected = (rocker_rate(FRAME + 1e-3) - rocker_rate(FRAME - 1e-3)) / 2e-3
    assert stepped.v[1].imag / h == pytest.approx(expected, abs=1e-5)
    assert abs(expected) > 0.1


def test_held_values_may_be_complex():
    th, h = 0.7, 1e-20
    state = assemble(four_bar(), {"crank": th + 1j * h}, guess=[th, 1.5, 0.0])
    d = 1e-6
    expected = (four_bar_angles(th + d)[0] - four_bar_angles(th - d)[0]) / (2 * d)
    assert state.q[1].imag / h == pytest.approx(expected, abs=1e-8)


def test_driver_and_time():
    model = four_bar(constraints=[mg.constraints.Driver("motor", "crank", mg.functions.Polynomial((0.2, 3.0)))])
    state = assemble(model, guess=[0.5, 1.5, 0.0], t=0.1)
    assert state.q[0] == pytest.approx(0.5, abs=1e-14)
    assert state.q[1] == pytest.approx(four_bar_angles(0.5)[0], abs=1e-12)
    assert state.v[0] == pytest.approx(3.0, abs=1e-13)


def test_free_directions_stay_near_the_guess():
    """One coordinate of a point is asked of a long chain: the shortest step is the minimum-norm one."""
    slides = [mg.Prismatic("x", "ground", "a", axis=(1, 0, 0)), mg.Prismatic("y", "a", "b", axis=(0.6, 0.8, 0))]
    model = mg.Model("slides", [mg.Body("a"), mg.Body("b")], slides)
    q = assemble(model, {"b.origin.x": 1.36}).q
    np.testing.assert_allclose(q, [1.0, 0.6], atol=1e-14)


def test_a_singular_guess_is_left():
    """All bars in line, no small step lengthens them: other starts are tried, the same ones every time."""
    state = assemble(four_bar(), {"crank": 0.0})
    assert abs(state.q[1]) == pytest.approx(four_bar_angles(0.0)[0], abs=1e-12)
    np.testing.assert_array_equal(state.q, assemble(four_bar(), {"crank": 0.0}).q)


def test_vectors_as_held_quantities():
    model = mg.Model(
        "ball", [mg.Body("b", 1.0)], [mg.Spherical("s", "ground", "b")], vectors=[mg.Vector("u", "b", (0, 0, 2))]
    )
    direction = np.array([0.48, 0.64, 0.6])
    state = assemble(model, {("u", axis): 2 * x for axis, x in zip("xyz", direction, strict=True)}, {"s.wz": 3.0})
    np.testing.assert_allclose(
        mg.kinematics.marker_motion(model, ["u"], state.q).position[0], 2 * direction, atol=1e-12
    )
    np.testing.assert_allclose(np.cross(state.v, direction), 0.0, atol=1e-12)
    assert state.v[2] == pytest.approx(3.0)


def rolling_disc():
    wheel = mg.constraints.Rolling(
        "track", "disc.origin", 0.5, "up", kind="wheel", axis="axle", contact=True, plane_point="ground.origin"
    )
    body, vectors = mg.Body("disc", 1.0), [mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "disc", (0, 1, 0))]
    return mg.Model("disc", [body], [mg.Floating("free", "ground", "disc")], vectors=vectors, constraints=[wheel])


def test_leaning_disc_stands_on_its_rim():
    lean = 0.3
    at = {"free.x": 0.2, "free.y": -0.1, "axle.x": 0.0, "axle.z": -np.sin(lean)}
    assert assemble(rolling_disc(), at).q[2] == pytest.approx(0.5 * np.cos(lean), abs=1e-12)


def test_rolling_disc_velocities():
    model = rolling_disc()
    state = assemble(model, {"free.x": 0.2, "free.y": -0.1, "axle.x": 0.0, "axle.z": 0.0})
    v = solve_velocities(model, state.q, {"free.wx": 0.0, "free.wy": 4.0, "free.wz": 1.5})
    np.testing.assert_allclose(v, [2.0, 0.0, 0.0, 0.0, 4.0, 1.5], atol=1e-12)
    # a steady turn about the vertical, w' = wz x w: the centre runs on a circle, v' = wz x v
    a = solve_accelerations(model, state.q, v, {"free.wx": -1.5 * 4.0, "free.wy": 0.0, "free.wz": 0.0})
    np.testing.assert_allclose(a[:3], [0.0, 1.5 * 2.0, 0.0], atol=1e-12)


# ---- what cannot be


def test_a_point_out_of_reach_is_named():
    with pytest.raises(AssemblyError, match=r"misses 'P2.y' by") as caught:
        assemble(five_bar(), {"P2.x": 0.5, "P2.y": -9.0})
    assert "cannot be put together" in str(caught.value)
    assert "out of reach" in str(caught.value)


def test_a_loop_that_cannot_close_is_named():
    with pytest.raises(AssemblyError, match=r"misses 'pin: point x' by -1\.3 \[m or 1\].*lengths of the bodies"):
        assemble(four_bar(crank=0.2, coupler=0.3, rocker=0.2, frame=2.0))


def test_contradictory_holds():
    with pytest.raises(AssemblyError, match=r"Held: A, 1, 2; the mechanism has 2 degree.* Hold fewer"):
        assemble(five_bar(), {"A": 0.1, "1": -0.2, "2": 0.6})


def test_consistent_extra_holds_are_accepted():
    third = five_bar_angles(0.1, -0.2)[0]
    assert assemble(five_bar(), {"A": 0.1, "1": -0.2, "2": third}).q[2] == pytest.approx(third)


def test_contradictory_rates():
    q = assemble(five_bar(), {"A": 0.1, "1": -0.2}).q
    with pytest.raises(AssemblyError, match=r"no velocities of model 'five-bar'.*miss .* by"):
        solve_velocities(five_bar(), q, {"A": 1.0, "1": 1.0, "2": 5.0})
    with pytest.raises(AssemblyError, match="no accelerations"):
        solve_accelerations(five_bar(), q, np.zeros(4), {"A": 1.0, "1": 1.0, "2": 5.0})


def test_names_are_checked():
    model = five_bar()
    with pytest.raises(UnknownNameError, match=r"Did you mean 'P2.x'"):
        assemble(model, {"P2x.x": 1.0})
    with pytest.raises(ModelError, match="is cut to open a loop"):
        assemble(mg.gallery.slider_crank(), {"B.e0": 1.0})
    with pytest.raises(ModelError, match="Euler parameter"):
        assemble(rolling_disc(), {"free.e1": 0.0})
    with pytest.raises(InputError, match="given twice"):
        assemble(model, {"P1.x": 0.0, ("P1", "x"): 0.0})
    with pytest.raises(InputError, match="finite number"):
        assemble(model, {"A": np.nan})
    with pytest.raises(InputError, match=r"guess has shape \(3,\)"):
        assemble(model, guess=[0.0, 0.0, 0.0])
