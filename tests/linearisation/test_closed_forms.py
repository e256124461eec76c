"""Small motions with known answers: pendulums, springs, tops, turning frames, rolling, and what is neutral."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg

G, L, M, K = 9.81, 1.3, 2.0, 50.0
PLANE = (0.0, 1.0, 0.0)


def pendulum(**more) -> mg.Model:
    bob = mg.Body("bob", M, (0, 0, -L))
    return mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=PLANE)], gravity=(0, 0, -G), **more)


def damped(stiffness: float, damping: float) -> mg.Model:
    """A mass on a slider with spring and damper."""
    spring = mg.forces.JointSpring("spring", "slide", stiffness=stiffness, damping=damping)
    slide = mg.Prismatic("slide", "ground", "block", axis=(1, 0, 0))
    return mg.Model("block", [mg.Body("block", M)], [slide], gravity=(0, 0, 0), forces=[spring])


def test_pendulum_below_and_above() -> None:
    model = pendulum()
    below, above = (mg.linearise(model, mg.equilibrium(model, [q])) for q in (0.2, 3.1))
    omega = np.sqrt(G / L)
    np.testing.assert_allclose(below.eigenvalues, [1j * omega, -1j * omega], atol=1e-12)
    np.testing.assert_allclose(above.eigenvalues, [omega, -omega], atol=1e-12)
    np.testing.assert_allclose(below.mass, [[M * L**2]])
    np.testing.assert_allclose(below.stiffness, [[M * G * L]])
    (mode,) = below.modes
    assert mode.frequency == pytest.approx(omega / (2 * np.pi))
    assert mode.damping_ratio == pytest.approx(0.0, abs=1e-13)
    assert mode.participation == {"pin": pytest.approx(1.0)}
    assert below.about == "rest"


def test_derivatives_of_the_pendulum() -> None:
    D = mg.linearise(pendulum(), {"pin": 0.0}).derivatives(["bob.mass", "bob.com.z", "gravity.z"])
    omega = np.sqrt(G / L)
    np.testing.assert_allclose(D.by("bob.com.z"), [0.5j * omega / L, -0.5j * omega / L], atol=1e-13)
    np.testing.assert_allclose(D.by("gravity.z"), [-0.5j * omega / G, 0.5j * omega / G], atol=1e-13)
    assert np.abs(D.by("bob.mass")).max() < 1e-13
    np.testing.assert_allclose(D.mass[0], [[L**2]])
    np.testing.assert_allclose(D.stiffness[1], [[-M * G]])


def test_an_equilibrium_moves_with_its_parameters() -> None:
    """A pendulum under a constant torque hangs at sin(x) = tau / (m g l): omega^2 = g cos(x) / l."""
    tau = 12.0
    model = pendulum()
    lin = mg.linearise(model, mg.equilibrium(model, [0.3], tau=[tau]))
    s = tau / (M * G * L)
    omega = np.sqrt(G / L * np.sqrt(1 - s**2))
    np.testing.assert_allclose(lin.eigenvalues, [1j * omega, -1j * omega], atol=1e-11)
    D = lin.derivatives(["tau.pin", "bob.mass"])
    by_s = -0.5 * omega * s / (1 - s**2)
    np.testing.assert_allclose(D.by("tau.pin")[0], 1j * by_s * s / tau, atol=1e-11)
    np.testing.assert_allclose(D.by("bob.mass")[0], -1j * by_s * s / M, atol=1e-11)


def test_held_coordinates_go_on_under_the_force_that_held_them() -> None:
    model = pendulum()
    lin = mg.linearise(model, mg.equilibrium(model, at={"pin": 0.4}))
    assert lin.about == "rest"
    assert lin.A[1, 0] == pytest.approx(-G / L * np.cos(0.4))
    # the angle is held, the force that holds it follows: d(A)/d(angle) and d(A)/d(length)
    D = lin.derivatives(["start.position.pin", "bob.com.z"])
    assert D.A[0, 1, 0] == pytest.approx(G / L * np.sin(0.4))
    assert D.A[1, 1, 0] == pytest.approx(-G / L**2 * np.cos(0.4))


@pytest.mark.parametrize("damping", [3.0, 60.0])
def test_spring_and_damper(damping: float) -> None:
    lin = mg.linearise(damped(K, damping), outputs=mg.measures.JointCoordinate("slide"))
    root = np.sqrt(complex(damping**2 - 4 * K * M))
    wanted = np.array([(-damping + root) / (2 * M), (-damping - root) / (2 * M)])
    np.testing.assert_allclose(lin.eigenvalues, wanted, atol=1e-12)
    np.testing.assert_allclose(lin.damping, [[damping]])
    D = lin.derivatives(["spring.stiffness", "spring.damping", "block.mass"])
    for k, path in enumerate(("k", "c", "m")):
        # 2 m lam dlam + dm lam^2 + c dlam + dc lam + dk = 0
        change = {"k": 1.0 + 0 * wanted, "c": wanted, "m": wanted**2}[path]
        np.testing.assert_allclose(D.eigenvalues[k], -change / (2 * M * wanted + damping), atol=1e-12)
    if damping == 3.0:
        assert lin.modes[0].damping_ratio == pytest.approx(damping / (2 * np.sqrt(K * M)))
        assert lin.modes[0].damped_frequency == pytest.approx(abs(root) / (2 * M) / (2 * np.pi))
    else:
        assert [mode.frequency for mode in lin.modes] == [0.0, 0.0]
        assert lin.modes[0].time_constant == pytest.approx(-1 / wanted[0].real)


def test_critical_damping_has_no_derivative() -> None:
    lin = mg.linearise(damped(K, 2 * np.sqrt(K * M)))
    np.testing.assert_allclose(lin.eigenvalues, -np.sqrt(K / M) * np.ones(2), atol=1e-6)
    with pytest.raises(mg.InputError, match=r"eigenvalue -5.* shares its mode: it has no derivative"):
        _ = lin.derivatives("block.mass").eigenvalues
    assert lin.derivatives("spring.stiffness").A[0, 1, 0] == pytest.approx(-1 / M)  # A has one all the same


def test_double_pendulum() -> None:
    """Equal point masses and lengths: omega^2 = (2 -+ sqrt(2)) g / l, shapes 1 : +- sqrt(2)."""
    bodies = [mg.Body(name, M, (0, 0, -L)) for name in ("upper", "lower")]
    joints = [
        mg.Revolute("shoulder", "ground", "upper", axis=PLANE),
        mg.Revolute("elbow", "upper", "lower", (0, 0, -L), axis=PLANE),
    ]
    lin = mg.linearise(mg.Model("double", bodies, joints, gravity=(0, 0, -G)))
    wanted = np.sqrt((2 + np.array([1, -1]) * np.sqrt(2)) * G / L)
    np.testing.assert_allclose(sorted(lin.eigenvalues.imag), [-wanted[0], -wanted[1], wanted[1], wanted[0]])
    np.testing.assert_allclose(lin.mass, M * L**2 * np.array([[5, 2], [2, 1]]))
    np.testing.assert_allclose(lin.stiffness, M * G * L * np.array([[3, 1], [1, 1]]))
    fast, slow = lin.modes
    for mode, ratio in ((fast, -np.sqrt(2)), (slow, np.sqrt(2))):
        shoulder, elbow = mode.displacement.real
        assert (shoulder + elbow) / shoulder == pytest.approx(ratio)
        np.testing.assert_allclose(mode.displacement.imag, 0.0, atol=1e-12)
    q = slow.motion(np.linspace(0.0, 2 * np.pi / wanted[1], 5), 0.1)
    np.testing.assert_allclose(np.abs(q).max(), 0.1)
    np.testing.assert_allclose(q[[0, 1]], [-q[2], -q[3]], atol=1e-12)


@pytest.mark.parametrize("spin", [30.0, 90.0])
def test_sleeping_top(spin: float) -> None:
    """Upright on its tip, w = theta_x + i theta_y:  I w'' - i C spin w' - m g l w = 0, in axes that stay."""
    across, along = 0.05, 0.02
    top = mg.Body("top", M, (0, 0, 0.2), (across, across, along))
    model = mg.Model("top", [top], [mg.Spherical("tip", "ground", "top")], gravity=(0, 0, -G))
    q = model.integrate(model.neutral(), [0.0, 0.0, 0.7])  # whatever the turn
    lin = mg.linearise(model, mg.state(model, q, [0.0, 0.0, spin]))
    inertia = across + M * 0.2**2
    roots = np.roots([inertia, -1j * along * spin, -M * G * 0.2])
    own = lin.eigenvalues
    order, wanted = np.lexsort((own.real.round(9), own.imag)), np.r_[roots, roots.conj()]
    wanted = wanted[np.lexsort((wanted.real.round(9), wanted.imag))]
    np.testing.assert_allclose(own[order], wanted, atol=1e-11)
    assert lin.neutral == ("tip.wz", "rate of tip.wz")
    assert lin.about == "a steady motion"
    # by the spin: (2 I lam - i C spin) dlam = i C lam
    D = lin.derivatives(["start.velocity.tip.wz", "top.inertia.zz"])
    for value, slope, by_inertia in zip(lin.eigenvalues, *D.eigenvalues, strict=True):
        own = roots[np.argmin(np.abs(roots - value))]
        s = 1.0 if abs(own - value) < 1e-9 else -1.0  # the root, or one of the conjugate equation
        wanted = s * 1j * along * value / (2 * inertia * value - s * 1j * along * spin)
        assert slope == pytest.approx(wanted, abs=1e-11)
        assert by_inertia == pytest.approx(wanted * spin / along, abs=1e-9)


def test_foucault_in_a_turning_frame() -> None:
    """A mass on two springs on a table that a driver turns: eigenvalues +- i (sqrt(k/m) +- Omega)."""
    turn = 1.7
    bodies = [mg.Body("table", 5.0, inertia=(1, 1, 1)), mg.Body("slide", 0.0), mg.Body("bob", M)]
    joints = [
        mg.Revolute("axis", "ground", "table", axis=(0, 0, 1)),
        mg.Prismatic("x", "table", "slide", axis=(1, 0, 0)),
        mg.Prismatic("y", "slide", "bob", axis=(0, 1, 0)),
    ]
    springs = [mg.forces.JointSpring(f"spring {k}", k, stiffness=K) for k in "xy"]
    driver = mg.constraints.Driver("drive", "axis", mg.functions.Polynomial((0.2, turn)))
    model = mg.Model("table", bodies, joints, gravity=(0, 0, 0), constraints=[driver], forces=springs)
    lin = mg.linearise(model, mg.assemble(model, {"x": 0.0, "y": 0.0}, t=0.4), t=0.4)
    assert lin.states == ("x", "y", "rate of x", "rate of y")
    omega = np.sqrt(K / M)
    wanted = [omega + turn, omega - turn]
    np.testing.assert_allclose(lin.eigenvalues[lin.eigenvalues.imag > 0].imag, wanted, rtol=1e-12)
    np.testing.assert_allclose(lin.eigenvalues.real, 0.0, atol=1e-12)
    np.testing.assert_allclose(lin.damping, 2 * M * turn * np.array([[0, -1], [1, 0]]), atol=1e-13)
    np.testing.assert_allclose(lin.stiffness, (K - M * turn**2) * np.eye(2), atol=1e-12)
    slopes = lin.derivatives(["drive.function.coefficients.1"]).eigenvalues[0][lin.eigenvalues.imag > 0]
    np.testing.assert_allclose(slopes, [1j, -1j], atol=1e-12)


def test_two_equal_pendulums_split_as_their_derivatives_say() -> None:
    bodies = [mg.Body(name, M, (0, 0, -L)) for name in ("left", "right")]
    joints = [mg.Revolute(f"pin {b.name}", "ground", b.name, (k, 0, 0), axis=PLANE) for k, b in enumerate(bodies)]
    lin = mg.linearise(mg.Model("two", bodies, joints, gravity=(0, 0, -G)))
    omega = np.sqrt(G / L)
    np.testing.assert_allclose(sorted(lin.eigenvalues.imag), [-omega, -omega, omega, omega])
    by_left = lin.derivatives("left.com.z").eigenvalues[0]
    np.testing.assert_allclose(sorted(by_left.imag), [-0.5 * omega / L, 0, 0, 0.5 * omega / L], atol=1e-12)


def test_masses_that_travel_together_are_neutral() -> None:
    """Two masses on a spring: zero twice, with one mode; and the vibration."""
    bodies = [mg.Body("a", M), mg.Body("b", 3.0)]
    joints = [mg.Prismatic(f"slide {k}", "ground", k, axis=(1, 0, 0)) for k in "ab"]
    points = [mg.Point("A", "a"), mg.Point("B", "b", (1, 0, 0))]
    spring = mg.forces.SpringDamper("spring", "A", "B", K, 0.5, 1.0)
    model = mg.Model("pair", bodies, joints, points, gravity=(0, 0, 0), forces=[spring])
    lin = mg.linearise(model)
    m = M * 3.0 / (M + 3.0)
    wanted = np.roots([m, 0.5, K])
    np.testing.assert_allclose(np.sort_complex(lin.eigenvalues), np.sort_complex(wanted), atol=1e-11)
    assert len(lin.neutral) == 2
    (mode,) = lin.modes
    assert mode.displacement[0] / mode.displacement[1] == pytest.approx(-3.0 / M)
    slope = lin.derivatives("spring.stiffness").eigenvalues[0][0]
    assert slope == pytest.approx(-1 / (2 * m * lin.eigenvalues[0] + 0.5), abs=1e-12)


def test_a_free_body_has_nothing_but_neutral_states() -> None:
    model = mg.Model("free", [mg.Body("b", 1.0, inertia=(1, 2, 3))], [mg.Floating("root", "ground", "b")])
    lin = mg.linearise(model, mg.state(model, model.neutral(), np.zeros(6)))
    assert len(lin.neutral) == 12
    assert lin.eigenvalues.size == 0
    assert lin.modes == ()
    assert lin.about == "a passing state"  # it falls


def test_a_level_pendulum_does_not_move_steadily() -> None:
    """Its weight has no stiffness there, so that nothing depends on the angle, and yet it falls."""
    lin = mg.linearise(pendulum(), {"pin": np.pi / 2})
    assert lin.neutral == lin.states
    assert lin.about == "a passing state"
    assert lin.drift[1] == pytest.approx(-G / L)


def test_rolling_disc_in_a_straight_line() -> None:
    """A coin at speed v, A its moment across the axle, C along it: the yaw rate goes with the lean, A psi' = C (v/r) x,

        (A + m r^2) x'' = [m g r - (C + m r^2) C (v/r)^2 / A] x

    It may roll along circles of any size: zero is a multiple eigenvalue, and left out.
    """
    radius, mass, A, C = 0.3, 2.0, 0.04, 0.07
    coin = mg.Body("coin", mass, inertia=(A, C, A))
    model = mg.Model(
        "coin", [coin], [mg.Floating("root", "ground", "coin")], [mg.Point("centre", "coin")],
        [mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axle", "coin", PLANE)],
        constraints=[
            mg.constraints.Rolling(
                "wheel", "centre", radius, "up", kind="wheel", axis="axle", contact=True, plane_point="ground.origin"
            )
        ],
    )  # fmt: skip
    for v in (0.5, 2.0):
        q = model.integrate(model.neutral(), [0, 0, radius, 0, 0, 0])
        lin = mg.linearise(model, mg.state(model, q, [v, 0, 0, 0, v / radius, 0]))
        square = -(C * (C + mass * radius**2) * v**2 / (A * radius**2) - mass * G * radius) / (A + mass * radius**2)
        root = np.sqrt(complex(square))
        np.testing.assert_allclose(np.sort_complex(lin.eigenvalues), np.sort_complex([root, -root]), atol=1e-9)
        assert lin.steady
        assert len(lin.neutral) == 6
        lean = sum(mode.participation["root.wx"] for mode in lin.modes)
        assert lean > 0.1
