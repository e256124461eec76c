"""Loops that are over-constrained, singular or many; forces that are stiff, wrong or the user's own."""

from __future__ import annotations

import hard_mechanisms as hard
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import mechgrad as mg
from mechgrad.dynamics.ali3p import ALI3P
from mechgrad.errors import InputError
from mechgrad.gallery.mechanisms import five_bar, five_bar_start
from mechgrad.kinematics.assembly import assemble
from mechgrad.simulation.simulate import simulate
from mechgrad.simulation.trajectory import StepFailed

TIGHT = hard.TIGHT


def sparse(formulation):
    """The same with sparse matrices, which small mechanisms do not take by themselves."""
    return f"{formulation}(matrices='sparse')"


LOOP_WAYS = [
    ("index1", "dop853", TIGHT, 1e-9),
    ("index1", "rk4", {"step": 1e-3}, 1e-6),
    ("index1", "trapezoidal", {"step": 5e-4}, 1e-4),
    ("penalty", "dop853", TIGHT, 1e-8),
    ("matrix-r", "rk4", {"step": 1e-3}, 1e-8),
    ("matrix-r", "trapezoidal", {"step": 5e-4}, 1e-5),
    ("ali3p", "trapezoidal", {"step": 5e-4}, 1e-5),
    ("ali3p", "generalized-alpha", {"step": 5e-4}, 1e-5),
    ("penalty", "trapezoidal", {"step": 5e-4}, 1e-4),
    (sparse("index1"), "dop853", TIGHT, 1e-9),
    (sparse("index1"), "rk4", {"step": 1e-3}, 1e-6),
    (sparse("index1"), "trapezoidal", {"step": 5e-4}, 1e-4),
    (sparse("ali3p"), "trapezoidal", {"step": 5e-4}, 1e-5),
    (sparse("ali3p"), "generalized-alpha", {"step": 5e-4}, 1e-5),
    (sparse("penalty"), "trapezoidal", {"step": 5e-4}, 1e-4),
]


# ---- over-constrained


@pytest.mark.parametrize("scale", [1e-4, 1e4])
@pytest.mark.parametrize(
    ("formulation", "scheme"),
    [("ali3p", "trapezoidal"), ("index1", "trapezoidal"), ("index1", "rk4"), (sparse("ali3p"), "trapezoidal")],
)
def test_a_common_factor_of_all_masses_changes_nothing(scale, formulation, scheme):
    """Grams or tons: what regularises constraints is hardly felt; ALI3-P measures it by masses."""
    model = five_bar(springs=False)
    numbers = [f"{body.name}.{name}" for body in model.bodies for name in ("mass", "inertia.yy", "inertia.zz")]
    heavy = model.with_values({path: scale * model.value(path) for path in numbers})
    plain, scaled = (
        simulate(
            x, five_bar_start(), duration=0.5, scheme=scheme, step=1e-3, samples=6, formulation=formulation
        )
        for x in (model, heavy)
    )  # fmt: skip
    np.testing.assert_allclose(scaled.q, plain.q, rtol=0, atol=1e-6)
    np.testing.assert_allclose(scaled.multipliers, scale * plain.multipliers, rtol=1e-4)


@pytest.mark.parametrize(("formulation", "scheme", "how", "tolerance"), LOOP_WAYS)
def test_bennett_moves_with_redundant_rows(formulation, scheme, how, tolerance):
    """Along the curve that its closed form says, and at the same pace for every formulation."""
    model, q = hard.bennett()
    start = assemble(model, {"1": q[0]}, {"1": 0.5}, guess=q)
    np.testing.assert_allclose(start.q, q, atol=1e-12)
    motion = simulate(model, start, duration=0.3, samples=7, formulation=formulation, scheme=scheme, **how)
    wanted = simulate(model, start, duration=0.3, samples=7, **TIGHT)
    assert abs(motion.q[-1, 0] - q[0]) > 0.5
    np.testing.assert_allclose(motion.q, wanted.q, rtol=0, atol=tolerance)
    exact = np.array([hard.bennett(start=angle)[1] for angle in motion.q[:, 0]])
    np.testing.assert_allclose(motion.q, exact, rtol=0, atol=1e-5 if formulation.startswith("penalty") else 1e-7)
    assert len(motion.system.redundant(motion.q[0])) == 3


def test_bennett_for_longer():
    """Two swings through the flat configuration: ALI3-P against index-1, and its energy."""
    model, q = hard.bennett()
    start = assemble(model, {"1": q[0]}, {"1": 0.5}, guess=q)
    wanted = simulate(model, start, duration=2.0, samples=11, **TIGHT)
    motion = simulate(model, start, duration=2.0, samples=11, step=5e-4)
    np.testing.assert_allclose(motion.q, wanted.q, rtol=0, atol=2e-4)
    assert np.ptp(wanted.energy()) < 1e-6
    assert np.ptp(motion.energy()) < 1e-3
    # what redundant rows share stays small
    assert np.abs(motion.multipliers).max() < 5 * np.abs(wanted.multipliers).max()


# ---- change points and many loops


@pytest.mark.parametrize("n", [5, 10])
@pytest.mark.parametrize(
    "formulation", ["ali3p", "penalty", "index1", "matrix-r", *map(sparse, ("ali3p", "penalty", "index1"))]
)
def test_many_loops(n, formulation):
    """Swinging below the ground line, clear of the change points, against the pendulum that they are."""
    model, state = hard.four_bars(n)
    q, v = state(-1.0, 0.5)
    motion = simulate(
        model, mg.state(model, q, v), 2.0, formulation=formulation, scheme="trapezoidal", step=2e-3, samples=11
    )
    exact = hard.four_bars_angle(n, -1.0, 0.5, motion.t)
    assert np.ptp(exact) > 0.5
    np.testing.assert_allclose(motion.q[:, : n + 1], np.tile(exact[:, None], (1, n + 1)), rtol=0, atol=1e-4)


TURNING = [("trapezoidal", 1.0), ("generalized-alpha", 1.2), ("hht", 1.5)]


def through_change_points(n, speed, duration=10.0, **how):
    """Largest error of the common angle, and of the energy per bar [J], of parallelograms that turn over and over."""
    model, state = hard.four_bars(n)
    q, v = state(np.pi / 2, speed)
    motion = simulate(model, mg.state(model, q, v), duration, samples=101, **how)
    np.testing.assert_allclose(motion.q[:, 1 : n + 1], motion.q[:, :1].repeat(n, axis=1), rtol=0, atol=1e-4)
    exact = hard.four_bars_angle(n, np.pi / 2, speed, motion.t)
    assert exact[-1] > 2 * np.pi * duration / 3  # a turn takes less than three seconds: two change points in each
    return np.abs(motion.q[:, 0] - exact).max(), np.ptp(motion.energy()) / (2 * n + 1)


@pytest.mark.parametrize(("scheme", "constant"), TURNING)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_second_order_through_change_points(n, scheme, constant):
    """From 2 ms to 0.1 ms, wherever steps fall: errors are h^2 times a number, and never more than a few times that."""
    steps = np.array([2e-3, 1e-3, 5e-4, 2e-4, 1e-4])
    found = np.array([through_change_points(n, 1.0, step=h, scheme=scheme) for h in steps])
    assert np.all(found[:, 0] < constant * 40.0 * steps**2), found[:, 0]
    assert np.all(found[:, 1] < constant * 150.0 * steps**2), found[:, 1]


@pytest.mark.parametrize("n", [15, 40])
def test_many_parallelograms_through_change_points(n):
    error, energy = through_change_points(n, 1.0, 2.0 if n == 40 else 5.0, step=1e-3)
    assert error < 4e-5
    assert energy < 1.5e-4


@pytest.mark.parametrize("speed", np.linspace(1.0, 6.0, 20))
def test_every_start_speed_passes_change_points(speed):
    """The step that meets a change point ends somewhere else in each of these."""
    error, energy = through_change_points(2, float(speed), step=1e-3)
    assert error < 1e-4
    assert energy < 5e-4


@pytest.mark.parametrize("scheme", ["trapezoidal", "generalized-alpha", "hht"])
@pytest.mark.parametrize("n", [1, 5])
def test_second_order_through_change_points_with_sparse_matrices(n, scheme):
    """To the digits that dense ones give: steps of either kind leave the same to the motion."""
    for h in (2e-3, 5e-4):
        dense, found = (
            through_change_points(n, 1.0, 5.0, step=h, scheme=scheme, formulation=ALI3P(matrices=kind))
            for kind in ("dense", "sparse")
        )
        np.testing.assert_allclose(found, dense, rtol=1e-2, atol=1e-8)


@pytest.mark.parametrize(
    "options", [{"tangent": "approximate"}, {"reuse": True}, {"reuse": True, "matrices": "sparse"}]
)
def test_options_of_ali3p_pass_change_points(options):
    error, energy = through_change_points(5, 1.0, 5.0, step=1e-3, formulation=ALI3P(**options))
    assert error < 4e-5
    assert energy < 1.5e-4


@pytest.mark.parametrize("matrices", ["dense", "sparse"])
@pytest.mark.parametrize("penalty", [1e6, 1e8, 1e10, 1e12])
def test_the_penalty_of_ali3p_is_of_no_consequence(penalty, matrices):
    formulation = ALI3P(penalty=penalty, matrices=matrices)
    error, _ = through_change_points(3, 1.0, 5.0, step=1e-3, formulation=formulation)
    assert error < 4e-5


@pytest.mark.parametrize("matrices", ["dense", "sparse"])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6])
def test_error_control_keeps_its_tolerance_through_change_points(tolerance, matrices):
    how = {"scheme": "trapezoidal", "rtol": tolerance, "atol": tolerance, "formulation": ALI3P(matrices=matrices)}
    error, energy = through_change_points(2, 1.0, 5.0, **how)
    assert error < 30 * tolerance
    assert energy < 30 * tolerance


@pytest.mark.parametrize("speed", [0.5, 0.5 + 5.5 / 19, 0.5 + 11.0 / 19])
def test_outputs_within_long_steps_across_change_points_are_as_good_as_their_ends(speed):
    """Of the second of these speeds one step of 0.25 s met a change point with a stage of its interpolant alone."""
    _, energy = through_change_points(2, speed, rtol=1e-6, atol=1e-6)
    assert energy < 1e-4


@pytest.mark.parametrize(
    ("formulation", "scheme"),
    [(f, s) for f in ("index1", "penalty", "matrix-r", sparse("index1")) for s in ("trapezoidal", "rk4", "dop853")]
    + [(sparse("penalty"), "trapezoidal")],
)
def test_a_change_point_ends_in_a_clear_message_at_worst(formulation, scheme):
    """Until then, and where it is passed also beyond, the motion is right."""
    model, state = hard.four_bars(2)
    q, v = state(np.pi / 2, 1.0)
    how = {"rtol": 1e-8, "atol": 1e-8} if scheme == "dop853" else {"step": 2e-3}
    said = ""
    try:
        motion = simulate(model, mg.state(model, q, v), 5.0, formulation=formulation, scheme=scheme, samples=51, **how)
    except StepFailed as error:
        motion, said = error.trajectory, str(error)
    if formulation.startswith("index1") and scheme != "trapezoidal":
        assert motion.ended == "duration"
    elif scheme != "dop853" or formulation == "penalty":
        assert motion.ended != "duration"
    if said:
        # at 0.714 s; between reports RK4 tells the next one
        assert "ends at t = 0.7" in said or "ends at t = 0.8" in said
        assert "lose their rank there (a change point" in said
        assert "ALI3P()" in said
        assert 0.55 < motion.t[-1] < 0.75
    assert motion.q.shape[0] == motion.t.size == motion.norms.shape[0]
    exact = hard.four_bars_angle(2, np.pi / 2, 1.0, np.linspace(0, 5, 51))[: len(motion.t)]
    np.testing.assert_allclose(motion.q[:, 0], exact, atol=1e-4)


# ---- small steps and units


@pytest.mark.parametrize("matrices", ["dense", "sparse"])
def test_ali3p_converges_down_to_the_smallest_steps_on_an_overconstrained_loop(matrices):
    model, q = hard.bennett()
    start = assemble(model, {"1": q[0]}, {"1": 0.5}, guess=q)
    wanted = simulate(model, start, duration=0.2, samples=3, **TIGHT)
    form = ALI3P(matrices=matrices)
    errors = [np.abs(simulate(model, start, duration=0.2, samples=3, step=h, formulation=form).q - wanted.q).max()
              for h in (4e-4, 2e-4, 1e-4, 5e-5)]  # fmt: skip
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2.0, atol=0.15)


# ---- contact


@pytest.mark.parametrize("kind", hard.CONTACTS)
@pytest.mark.parametrize("scheme", ["trapezoidal", "generalized-alpha", "hht"])
def test_a_drop_bounces_and_rests_at_its_static_depth(kind, scheme):
    model, depth = hard.dropped(kind)
    q = model.neutral()
    q[2] = 0.25
    motion = simulate(model, q, duration=3.0, formulation="semi-recursive", scheme=scheme, step=2e-4, samples=3001)
    height = motion.q[:, 2]
    assert height.min() < 0.2 - 2 * depth  # it dives
    assert np.sum(np.diff(np.sign(motion.v[:, 2])) < 0) >= 2  # and leaves the floor again
    assert height[-1] == pytest.approx(0.2 - depth, abs=1e-3 * depth)
    np.testing.assert_allclose(motion.v[-1], 0.0, atol=1e-3)
    energy = motion.energy()
    assert energy[-1] < energy[0]


def test_friction_stops_what_slides():
    """m v' = -F tanh(v / s) has sinh(v / s) = sinh(v0 / s) exp(-F t / (m s))."""
    model = hard.slider(2.0, [mg.forces.JointFriction("rail", "x", coulomb=3.0, speed=0.05)])
    motion = simulate(
        model, mg.state(model, [0.0], [1.0]), 1.0, formulation="semi-recursive", scheme="trapezoidal", step=5e-4
    )
    exact = 0.05 * np.arcsinh(np.sinh(1.0 / 0.05) * np.exp(-3.0 * motion.t / (2.0 * 0.05)))
    np.testing.assert_allclose(motion.v[:, 0], exact, atol=1e-5)
    assert abs(motion.v[-1, 0]) < 1e-2


@pytest.mark.parametrize("kind", ["sphere", "wheel"])
def test_friction_of_a_contact_turns_sliding_into_rolling(kind):
    """Set down with a speed and no spin: moment of momentum about the contact stays, v = v0 / (1 + J / (m r^2))."""
    model, depth = hard.dropped(kind)
    force = model.force("floor")
    with_friction = type(force)(
        "floor", *(("ball.origin", 0.2) if kind == "sphere" else ("ball.origin", "axle", 0.2)), "ground.origin", "up",
        1e6, 2.0, 1.5, 0.4, 0.01,
    )  # fmt: skip
    model = mg.Model("slide", model.bodies, model.joints, vectors=model.vectors, forces=[with_friction])
    q, v = model.neutral(), np.zeros(6)
    q[2], v[0] = 0.2 - depth, 1.0
    motion = simulate(
        model,
        mg.state(model, q, v),
        1.5,
        formulation="semi-recursive",
        scheme="generalized-alpha",
        step=5e-4,
        samples=31,
    )
    share = 3.0 * 0.2**2 / 0.05
    assert motion.v[-1, 0] == pytest.approx(share / (1 + share), rel=2e-3)
    assert motion.v[-1, 4] == pytest.approx(motion.v[-1, 0] / 0.2, rel=2e-3)


# ---- laws of the user


def spring_law(t, g, gd):
    return 100.0 * (g - np.sqrt(5.0))


def with_user_force(law):
    model = five_bar()
    force = mg.forces.UserForce("own", [mg.measures.Distance("P1", "PB")], law)
    return mg.Model(
        "own", model.bodies, model.joints, model.points, gravity=model.gravity, forces=[force, model.force("S2")]
    )


@pytest.mark.parametrize("how", [{"step": 2e-3}, TIGHT], ids=["ali3p", "dop853"])
def test_a_python_law_is_as_good_as_the_built_in_spring(how):
    own, built_in = (
        simulate(model, five_bar_start(), duration=0.2, samples=5, **how)
        for model in (with_user_force(spring_law), five_bar())
    )
    np.testing.assert_allclose(own.q, built_in.q, rtol=0, atol=1e-10)


def test_an_exception_in_a_law_is_what_surfaces():
    def careless(t, g, gd):
        if t > 0.05:
            raise ZeroDivisionError("my own mistake")
        return spring_law(t, g, gd)

    for how in ({"step": 1e-2}, {}):
        with pytest.raises(ZeroDivisionError, match="my own mistake"):
            simulate(with_user_force(careless), five_bar_start(), duration=0.2, samples=5, **how)


def test_a_law_that_returns_nan_ends_the_motion():
    def fading(t, g, gd):
        return spring_law(t, g, gd) * (np.nan if t > 0.1 else 1.0)

    with pytest.raises(StepFailed, match=r"ends at t = 0\.1.*not finite") as caught:
        simulate(with_user_force(fading), five_bar_start(), duration=0.2, step=1e-2)
    kept = caught.value.trajectory
    assert len(kept.t) == 11
    assert np.all(np.isfinite(kept.q))


# ---- functions of time


def test_a_motor_by_spline_against_scipy():
    times, values = (0.0, 0.3, 0.7, 1.2, 2.0), (0.0, 2.0, -1.0, 3.0, 0.5)
    model = hard.slider(2.0, [mg.forces.Motor("drive", "x", mg.functions.Spline(times, values))])
    push = CubicSpline(times, values, bc_type="natural")
    for how, tolerance in ((TIGHT, 1e-10), ({"step": 1e-3, "scheme": "trapezoidal"}, 1e-5)):
        motion = simulate(model, mg.state(model, [0.1], [0.2]), 2.0, samples=21, **how)
        np.testing.assert_allclose(motion.v[:, 0], 0.2 + push.antiderivative()(motion.t) / 2.0, atol=tolerance)
        np.testing.assert_allclose(
            motion.q[:, 0], 0.1 + 0.2 * motion.t + push.antiderivative(2)(motion.t) / 2.0, atol=tolerance
        )


@pytest.mark.parametrize("formulation", ["ali3p", "index1", "penalty", "matrix-r"])
def test_a_driver_is_followed(formulation):
    """One of the two freedoms of the five-bar follows a harmonic; the other one is free, and time starts at 0.3 s."""
    bar = five_bar()
    away = float(five_bar_start()[0])
    drive = mg.functions.Harmonic(0.2, 1.0, phase=-2 * np.pi * 0.3, offset=away)
    model = mg.Model("driven", bar.bodies, bar.joints, bar.points, gravity=bar.gravity, forces=bar.forces,
                     constraints=[mg.constraints.Driver("drive", "A", drive)])  # fmt: skip
    start = assemble(model, {"1": float(five_bar_start()[1])}, guess=five_bar_start(), t=0.3)
    motion = simulate(
        model, start, duration=1.0, t0=0.3, formulation=formulation, scheme="trapezoidal", step=1e-3, samples=11
    )
    np.testing.assert_allclose(motion.q[:, 0], drive(motion.t), rtol=0, atol=1e-6)
    np.testing.assert_allclose(motion.v[:, 0], drive.rate(motion.t), rtol=0, atol=1e-5)
    wanted = simulate(model, start, duration=1.0, t0=0.3, samples=11, **TIGHT)
    np.testing.assert_allclose(wanted.q[:, 0], drive(wanted.t), rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion.q, wanted.q, rtol=0, atol=2e-4)


@pytest.mark.parametrize("formulation", ["ali3p", "index1", "penalty", "matrix-r"])
def test_a_gear_adds_inertias(formulation):
    """q_a = r q_b: (J_b + r^2 J_a) q_b'' = tau_b + r tau_a."""
    bodies = [mg.Body("a", 1.0, inertia=(1, 1, 2.0)), mg.Body("b", 1.0, inertia=(1, 1, 0.5))]
    joints = [mg.Revolute("a turns", "ground", "a"), mg.Revolute("b turns", "ground", "b", (1, 0, 0))]
    gear = mg.constraints.Gear("gear", "a turns", "b turns", ratio=-0.4, offset=0.1)
    model = mg.Model("gears", bodies, joints, constraints=[gear])
    motion = simulate(
        model, [0.1, 0.0], tau=[1.0, 3.0], duration=1.0, formulation=formulation, scheme="trapezoidal", step=1e-2
    )
    rate = (3.0 - 0.4 * 1.0) / (0.5 + 0.16 * 2.0)
    np.testing.assert_allclose(motion.q[:, 1], 0.5 * rate * motion.t**2, rtol=0, atol=1e-6)
    np.testing.assert_allclose(motion.q[:, 0], 0.1 - 0.4 * motion.q[:, 1], rtol=0, atol=1e-7)


# ---- rolling


@pytest.mark.parametrize(
    ("formulation", "how", "tolerance"),
    [("index1", TIGHT, 1e-9), ("ali3p", {"step": 1e-3}, 1e-6), ("index1", {"step": 1e-3, "scheme": "rk4"}, 1e-8)],
)
def test_a_disc_rolls_down_a_slope(formulation, how, tolerance):
    model, acceleration = hard.rolling_disc(0.3)
    start = model.neutral()
    start[2] = 0.3
    motion = simulate(model, start, duration=1.0, samples=11, formulation=formulation, **how)
    np.testing.assert_allclose(motion.q[:, 0], 0.5 * acceleration * motion.t**2, rtol=0, atol=tolerance)
    np.testing.assert_allclose(motion.v[:, 4], acceleration * motion.t / 0.3, rtol=0, atol=10 * tolerance)
    assert motion.norms[:, 1].max() < 1e-11  # no slip
    np.testing.assert_allclose(motion.q[:, 2], 0.3, atol=1e-9)


def test_a_tilted_disc_rolls_without_slip_and_keeps_its_energy():
    """Leaning and turning, it wobbles along a curve; the point of contact never slips."""
    model, _ = hard.rolling_disc(0.0)
    lean, speed = 0.2, 4.0
    q = model.neutral()
    q[2], q[3:7] = 0.3 * np.cos(lean), (np.cos(lean / 2), np.sin(lean / 2), 0, 0)
    spin = np.array([0.0, np.cos(lean), np.sin(lean)]) * speed
    v = np.r_[np.cross(spin, [0, 0.3 * np.sin(-lean), 0.3 * np.cos(lean)]), spin]
    motion = simulate(model, mg.state(model, q, v), 2.0, samples=21, **TIGHT)
    assert np.ptp(motion.q[:, 1]) > 0.05
    axle = motion.markers(["axle"]).position[:, 0]
    down = np.array([0.0, 0.0, 1.0]) - axle[:, 2:] * axle
    arm = -0.3 * down / np.linalg.norm(down, axis=1, keepdims=True)
    np.testing.assert_allclose(motion.v[:, :3] + np.cross(motion.v[:, 3:], arm), 0.0, atol=1e-10)
    assert motion.norms[:, :2].max() < 1e-11
    assert np.ptp(motion.energy()) < 1e-7
    stepped = simulate(model, mg.state(model, q, v), 2.0, samples=21, step=1e-3)
    np.testing.assert_allclose(stepped.q, motion.q, rtol=0, atol=1e-3)
    with pytest.raises(InputError, match="Matrix R takes holonomic constraints only"):
        simulate(model, mg.state(model, q, v), 1.0, formulation="matrix-r", scheme="trapezoidal", step=1e-2)
