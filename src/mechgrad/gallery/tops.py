"""Bodies that spin, with motions in closed form: a free one near its separatrix, a heavy top, a gyroscope."""

from __future__ import annotations

import numpy as np
from scipy.special import ellipj, ellipkm1

from mechgrad.errors import InputError
from mechgrad.gallery.solids import rod
from mechgrad.kinematics.state import State, state
from mechgrad.model.body import Body
from mechgrad.model.joints import Floating, Revolute, Spherical
from mechgrad.model.markers import Point
from mechgrad.model.model import Model
from mechgrad.typing import ArrayLike, FloatArray

MOMENTS = np.array([0.2, 0.3, 0.4])  # of the free top [kg m^2]
SPIN, NUDGE = 10.0, 0.01  # about its middle axis and about its first [rad/s]
TURNED = np.array([0.8, -0.4, 0.4, 0.2])  # Euler parameters at the start
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(20)

# the heavy top: mass [kg], from tip to centre of mass [m], moments about the latter [kg m^2], rates [rad/s]
MASS, LENGTH, TRANSVERSE, AXIAL = 15.0, 1.0, 0.234375, 0.46875
RATES = np.array([0.0, 150.0, -4.61538])
G = 9.81


def free_top() -> tuple[Model, FloatArray, FloatArray]:
    """A free body that spins about its middle axis, with q and v at the start: it turns over again and again.

    Principal moments 0.2, 0.3, 0.4 kg m^2, 1 kg, no gravity; 10 rad/s about the second axis and 0.01 rad/s about the
    first. Every 4.6 s it tips over; while it waits, differences grow by exp(3.5 t), a thousandfold from one tipping to
    the next. So errors of a method near the start are what is seen at the end.
    `free_top_motion` has the motion in closed form.

    >>> model, q, v = free_top()
    >>> model.v_names
    ('free.vx', 'free.vy', 'free.vz', 'free.wx', 'free.wy', 'free.wz')
    >>> round(float(np.linalg.norm(v)), 6)
    10.000005
    """
    model = Model(
        "free top", [Body("top", 1.0, inertia=MOMENTS)], [Floating("free", "ground", "top")], gravity=(0, 0, 0)
    )
    turned = _rotation(TURNED)
    return model, np.r_[np.zeros(3), TURNED], np.r_[np.zeros(3), turned @ [NUDGE, SPIN, 0.0]]


def free_top_motion(t: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Rotation matrices (nt, 3, 3) and angular velocities (nt, 3) [rad/s, ground axes] of `free_top` at times t [s].

    In body axes rates are elliptic functions (Euler): with 2 T = sum J w^2, L^2 = sum J^2 w^2 and L^2 < 2 T J_2

        w_3 = c_3 cn,   w_2 = c_2 sn,   w_1 = c_1 dn   of   s = K + p t
        c_3^2 = (L^2 - 2 T J_1) / (J_3 (J_3 - J_1)),   c_2^2 = (L^2 - 2 T J_1) / (J_2 (J_2 - J_1))
        c_1^2 = (2 T J_3 - L^2) / (J_1 (J_3 - J_1)),   p^2 = (J_2 - J_1) (2 T J_3 - L^2) / (J_1 J_2 J_3)

    The angular momentum stays where it is: two angles of the body follow from its direction n in body axes, the third,
    about it, from the integral of (w_2 n_2 + w_3 n_3) / (n_2^2 + n_3^2), by Gauss' rule. Good to 1e-9 over 10 s.

    >>> R, w = free_top_motion([0.0, 2.0])
    >>> bool(np.allclose(w[0], free_top()[2][3:], rtol=0, atol=1e-12))
    True
    """
    instants = np.asarray(t, float)
    J1, J2, J3 = MOMENTS
    # about the third axis the body does not turn at the start
    energy = J1 * NUDGE**2 + J2 * SPIN**2  # twice the kinetic one
    square = (J1 * NUDGE) ** 2 + (J2 * SPIN) ** 2
    low = J2 * (J2 - J1) * SPIN**2  # L^2 - 2 T J_1
    high = J1 * (J3 - J1) * NUDGE**2 + J2 * (J3 - J2) * SPIN**2  # 2 T J_3 - L^2
    assert square < energy * J2
    sizes = np.sqrt([high / (J1 * (J3 - J1)), low / (J2 * (J2 - J1)), low / (J3 * (J3 - J1))])
    rest = J1 * (J3 - J1) * NUDGE**2 / high  # 1 - k^2, without cancellation
    pace, quarter = np.sqrt((J2 - J1) * high / (J1 * J2 * J3)), ellipkm1(rest)

    def rates(at: FloatArray) -> FloatArray:
        sn, cn, dn, _ = ellipj(quarter + pace * at, 1.0 - rest)
        return np.stack([sizes[0] * dn, sizes[1] * sn, sizes[2] * cn], axis=-1)

    def around(at: FloatArray) -> FloatArray:
        w = rates(at)
        n = MOMENTS * w / np.sqrt(square)
        return np.asarray((w[..., 1] * n[..., 1] + w[..., 2] * n[..., 2]) / (n[..., 1] ** 2 + n[..., 2] ** 2))

    ends = np.unique(np.r_[0.0, instants, np.arange(0.0, float(instants.max()), 0.02)])
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    turns = np.r_[0.0, np.cumsum(half * (around(middle[:, None] + half[:, None] * _POINTS) @ _WEIGHTS))]
    angle = turns[np.searchsorted(ends, instants)]
    w = rates(instants)
    frames = _about_momentum(MOMENTS * w / np.sqrt(square), angle)
    start = _about_momentum(MOMENTS * rates(np.zeros(1)) / np.sqrt(square), np.zeros(1))[0]
    R = (_rotation(TURNED) @ start.T) @ frames
    return R, np.einsum("tij,tj->ti", R, w)


def heavy_top() -> tuple[Model, FloatArray, FloatArray]:
    """A heavy symmetric top on its tip, spinning fast, with q and v at the start.

    15 kg, its centre of mass 1 m from the tip along y, moments 0.234375, 0.46875, 0.234375 kg m^2 about it, gravity
    9.81 m/s^2 along -z; rates (0, 150, -4.61538) rad/s, axis level. The usual test of integrators on the rotation
    group, over 2 s. `heavy_top_height` has what is known in closed form.

    >>> model, q, v = heavy_top()
    >>> model.q_names
    ('tip.e0', 'tip.e1', 'tip.e2', 'tip.e3')
    """
    body = Body("top", MASS, (0, LENGTH, 0), (TRANSVERSE, AXIAL, TRANSVERSE))
    points = [Point("centre", "top", (0, LENGTH, 0))]
    model = Model("heavy top", [body], [Spherical("tip", "ground", "top")], points, gravity=(0, 0, -G))
    return model, np.array([1.0, 0.0, 0.0, 0.0]), RATES.copy()


def heavy_top_height(t: ArrayLike) -> FloatArray:
    """Height [m] of the centre of mass of `heavy_top` over its tip at times t [s].

    With A, C the moments about the tip, across and along, and spin w_y, the cosine u of the axis against the vertical
    moves between two roots u_1 < u_2 of a cubic with the third root u_3 (Lagrange):

        A^2 u'^2 = 2 A (E - m g l u) (1 - u^2) - (L_z - C w_y u)^2
        u = u_1 + (u_2 - u_1) sn^2(s),   s = s_0 + sqrt(m g l (u_3 - u_1) / (2 A)) t,   k^2 = (u_2 - u_1) / (u_3 - u_1)

    >>> heavy_top_height([0.0])
    array([0.])
    """
    instants = np.asarray(t, float)
    across, weight = TRANSVERSE + MASS * LENGTH**2, MASS * G * LENGTH
    spin, vertical = AXIAL * RATES[1], across * RATES[2]
    # level at the start, u' = 0: 0 is a root, and these are the coefficients without it
    cubic = [2 * across * weight, -(vertical**2) - spin**2, 2 * (spin * vertical - across * weight)]
    roots = np.roots(cubic)
    low, middle, high = np.sort(np.r_[roots.real, 0.0])
    modulus = (middle - low) / (high - low)
    pace = np.sqrt(weight * (high - low) / (2 * across))
    first = 0.0 if low == 0.0 else float(ellipkm1(1.0 - modulus))
    sn = ellipj(first + pace * instants, modulus)[0]
    return np.asarray(LENGTH * (low + (middle - low) * sn**2))


def gyroscope() -> Model:
    """A gyroscope on a post: its weight does not pull it down, but sends it round.

    A yoke turns about the post (`yaw`, about z), carries an arm (`tilt`, 0 when it points up), and on the arm turns the
    rotor (`spin`, about the arm): a disc of 0.5 kg and 8 cm radius, 12 cm from the yoke on a rod of 0.1 kg and 15 cm;
    the yoke has 2e-4 kg m^2 about the post. Gravity 9.81 m/s^2 along -z. All numbers are this project's choice.

    It goes round steadily at a rate W if

        (A - C - C_a) cos(tilt) W^2 - C spin' W + m g l = 0,       level: W = m g l / (C spin')

    with moments of inertia about the yoke, A of rotor and arm across, C of the rotor and C_a of the arm along, and m g
    l of both; `gyroscope_start` has the slower one of the two.

    >>> gyroscope().q_names
    ('yaw', 'tilt', 'spin')
    """
    mass, radius, place, along = 0.5, 0.08, 0.12, (0.0, 0.0, 1.0)
    across, axial = mass * radius**2 / 4, mass * radius**2 / 2
    bodies = [
        Body("yoke", 0.1, inertia=(2e-4, 2e-4, 2e-4)),
        rod("arm", 0.1, (0.0, 0.0, 0.15), 0.004),
        Body("rotor", mass, (0.0, 0.0, place), (across, across, axial)),
    ]
    joints = [
        Revolute("yaw", "ground", "yoke", axis=along),
        Revolute("tilt", "yoke", "arm", axis=(0, 1, 0)),
        Revolute("spin", "arm", "rotor", axis=along),
    ]
    return Model("gyroscope", bodies, joints, gravity=(0, 0, -G))


def gyroscope_start(model: Model, tilt: float = 1.2, spin: float = 150.0) -> State:
    """The gyroscope as it goes round steadily, its arm tilted from upright by an angle [rad], at a spin [rad/s].

    >>> start = gyroscope_start(gyroscope(), tilt=np.pi / 2)
    >>> [round(float(rate), 3) for rate in start.v]
    [2.759, 0.0, 150.0]
    """
    if not np.isfinite([tilt, spin]).all():
        raise InputError(f"tilt is {tilt} rad, spin {spin} rad/s; give finite numbers.")

    def number(path: str) -> float:
        return float(np.real(model.value(path)))

    across = along = weight = 0.0
    for body in ("arm", "rotor"):
        mass, place = number(f"{body}.mass"), number(f"{body}.com.z")
        across += number(f"{body}.inertia.xx") + mass * place**2
        along += number(f"{body}.inertia.zz")
        weight -= mass * place * number("gravity.z")
    momentum = number("rotor.inertia.zz") * spin
    inner = momentum**2 - 4 * (across - along) * np.cos(tilt) * weight
    both = momentum + np.copysign(np.sqrt(max(inner, 0.0)), momentum)
    if inner < 0.0 or both == 0.0:
        least = np.sqrt(max(inner, momentum**2) - inner) / number("rotor.inertia.zz")
        raise InputError(
            f"spin is {spin:g} rad/s: too slow to go round steadily at a tilt of {tilt:g} rad; give more than "
            f"{least:.4g} rad/s, or tilt the arm below level."
        )
    return state(model, [0.0, tilt, 0.0], [2 * weight / both, 0.0, spin])


def _rotation(e: FloatArray) -> FloatArray:
    """R(e) of Euler parameters of length one."""
    w, x = e[0], e[1:]
    cross = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
    return np.asarray((w * w - x @ x) * np.eye(3) + 2 * np.outer(x, x) + 2 * w * cross)


def _about_momentum(n: FloatArray, angle: FloatArray) -> FloatArray:
    """Rotations (nt, 3, 3) with the rows n x e_1 (of length one), n x that, and n, turned by an angle about n."""
    side = np.cross(n, [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side, axis=1)[:, None]
    other = np.cross(n, side)
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    return np.stack([c * side - s * other, s * side + c * other, n], axis=1)
