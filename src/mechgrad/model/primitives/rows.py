"""Rows and laws: the few primitives that every closure, constraint and force element is made of.

A *row* is a scalar measure of the mechanism, with a rate:

    value(q, t) = g(markers, q) - constant - f(t)          rate(q, v, t) = Gamma(q) v - f'(t)

for holonomic rows Gamma = dg/dq; the velocity-level rows (SLIP and below) have a Gamma but no g. x are points [m],
u body-fixed directions of unit length. V_A(c), V_B(c): velocity at c of the material points of the bodies that carry
the first and the second marker.

    POINT         direction . (x0 - x1), direction in world axes
    DOT           u0 . u1
    PLANE         u0 . (x1 - x2)
    DISTANCE      |x0 - x1|
    LINEAR        sum factor q over plain coordinates (hinges and sliders)
    ANGLE         signed angle from u0 to u1 about u2; its difference to constant + f is taken modulo a full turn
    SKEW          (u0 . u1 - u2 . u3) / 2
    CIRCLE        u2 . (x0 - x1) - radius sqrt(1 - (u2 . u3)^2): height of a circle of axis u3 above a plane
    PROFILE       u0 . (x2 - x3) - p(u1 . (x2 - x3)): height of a point above a curve, p its function of the way along
    SLIP          u2 . (V_A(c) - V_B(c)), c = x0 - radius u1
    ROLL_ALONG    e . (V_A(c) - V_B(c)), e = u2 x u1 / |..|, c = x0 - radius (u1 - (u1.u2) u2) / |..|
    ROLL_ACROSS   (u1 x e) . (V_A(c) - V_B(c))
    ADVANCE       e . (V_A(x0) - V_B(x0))

A constraint asks value = 0 (rate = 0 at velocity level). A *law* gives forces F on rows from their values and rates;
the generalized force on the mechanism is Q = -sum Gamma^T F.

    SPRING        F = k (g - g0) + c g'                               numbers (k, c, g0)
    CURVE         F = f0(g - g0) + f1(g')                             numbers (g0,), functions (f0, f1), None is zero
    MOTOR         F = -f0(t)                                          functions (f0,)
    FRICTION      F = coulomb tanh(g' / speed) + viscous g'           numbers (coulomb, viscous, speed)
    CONTACT       N = K d^n (1 + D d') for d = -g > 0 and N > 0, else 0;   F = -N    numbers (K, D, n, mu, speed, ..)
                  and on two more rows, if given, with rates s: F = mu N s / sqrt(s.s + speed^2)
    TYRE          rows CIRCLE, ROLL_ALONG (s), ROLL_ACROSS (r), ADVANCE (u): N as in CONTACT, then
                  F_s = mu_x N tanh(s / (kappa U)),   F_r = mu_y N tanh(r / (alpha U)),   U = sqrt(u^2 + speed^2)
                                                                  numbers (K, D, n, mu_x, mu_y, kappa, alpha, speed, ..)
                  both end with D_c, D_r, onset, change of Kelvin-Voigt damping, as below
    USER          a function of time, values and rates of its rows (`UserForce`)

The laws GROUND_.. are of a surface z = h(x, y) with axes e1, e2, e3 on the body of x1. Their rows say where the body
of x0 is and how it moves, relative to the surface, and their forces are a force f at x0 and a moment m:

    POINT or PLANE      e_i . (x0 - x1) = p_i, rates v_i; that of e3 may have a function of time, for a plane that moves
    SLIP, three times   at x0 + e1 along e2: s1 = v2 + spin_3;  at x0 + e3 along e2: s2 = v2 - spin_1;
                        at x0 + e3 along e1: s3 = v1 + spin_2
    DOT, for wheels     e_i . w, the axis of the wheel; no force on these
    F = (m2 - f1, m3 - m1 - f2, -f3, -m3, m1, -m2, 0, 0, 0),   so that the power -F . rates is f . v + m . spin

`dynamics.kernels.contact_forces` has f and m, `mechgrad.forces` their formulas. All begin with the numbers
(K, D, n, D_c, D_r, onset, change, radius):  N = K d^n (1 + D d') + D_pm(d') d' s(d / onset)

    GROUND_SPHERE, GROUND_WHEEL    mu, speed
    GROUND_TYRE, GROUND_TANH       mu_x, mu_y, kappa, alpha, speed
    GROUND_MAGIC                   mu_x, mu_y, k_x, k_y, C_x, C_y, E_x, E_y, camber, trail, load, by load, k_y by load,
                                   speed
    CAPSULES                       mu, speed, radius about x1, half the lengths about x0 and x1; no surface: e3 is the
                                   axis of the capsule about x1

A first row, POINT or PLANE, can guard its law (`guards`): while its points are further apart than its reach, none of
the law's rows is evaluated, and the first has the value FAR (`dynamics.kernels.near_laws`). So it does
where a sphere is beside a hull, a little grown, of which the SLIP rows have the numbers (`row_states`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from mechgrad.model.primitives.named_parts import NamedParts
from mechgrad.typing import Array

if TYPE_CHECKING:
    from mechgrad.model.functions import Function

# kinds of rows
POINT, DOT, PLANE, DISTANCE, LINEAR, ANGLE, SKEW, CIRCLE, PROFILE, SLIP, ROLL_ALONG, ROLL_ACROSS, ADVANCE = range(13)
FIRST_RATE_KIND = SLIP
# kinds of laws
SPRING, CURVE, MOTOR, FRICTION, CONTACT, TYRE, USER = range(7)
GROUND_SPHERE, GROUND_WHEEL, GROUND_TYRE, GROUND_MAGIC, GROUND_TANH, CAPSULES = range(7, 13)
FIRST_GROUND = GROUND_SPHERE
GROUND = (GROUND_SPHERE, GROUND_WHEEL, GROUND_TYRE, GROUND_MAGIC, GROUND_TANH, CAPSULES)
FAR = 1e100  # value of the first row of bodies that are out of reach of each other
# kinds of surfaces
PLANE_SURFACE, STEP, BUMP, HEIGHT_MAP, HULL = range(5)


class Place(NamedTuple):
    """A point (is_point) or a direction of a body, in body axes; complex while a complex step travels through."""

    body: str
    is_point: bool
    local: Any


class Row(NamedTuple):
    """One scalar measure; see the module's text."""

    kind: int
    places: tuple[Place, ...] = ()
    constant: Any = 0.0
    direction: Any = (0.0, 0.0, 0.0)
    radius: Any = 0.0
    coordinates: tuple[tuple[str, Any], ...] = ()  # (name of a coordinate, factor)
    function: Function | None = None
    label: str = ""  # what messages call it, e.g. "point x" or "axis 1"
    profile: Function | None = None  # of PROFILE
    guards: int = 0  # how many rows from this one on are left out beyond its reach, which is its `radius`


@runtime_checkable
class RowMeasure(Protocol):
    """A measure that is one row: force laws read it and push against it, drivers move it, `assemble` holds it.

    `mechgrad.measures` has them: Distance, Angle, JointCoordinate, Height, Offset.
    """

    @property
    def label(self) -> str:
        """What messages, starts and reports call it."""

    def row(self, where: Callable[[str], Place]) -> Row:
        """The row that it is; `where` says where a marker is."""

    def check_model(self, model: NamedParts, what: str) -> None:
        """Raise unless the model has every marker and coordinate that is named here."""


@runtime_checkable
class DrawnMeasure(RowMeasure, Protocol):
    """A measure that is one row and a function of points and vectors alone."""

    @property
    def markers(self) -> tuple[str, ...]:
        """Their names."""

    def function(self, *x: Array) -> Array:
        """(nt,) of their positions, (nt, 3) each."""


MEASURE_TYPES: dict[str, type] = {}
"""Measures by name, for files: they enter themselves."""


class SurfaceTable(NamedTuple):
    """A surface as kernels read it: its kind, its numbers, and how many lines and columns a map has."""

    kind: int
    numbers: Any
    lines: int = 0
    columns: int = 0


class Law(NamedTuple):
    """Forces on rows; see the module's text."""

    kind: int
    rows: tuple[Row, ...]
    numbers: tuple[Any, ...] = ()
    functions: tuple[Function | None, ...] = ()
    surface: SurfaceTable | None = None


def point(body: str, local: Any) -> Place:
    """A point of a body."""
    return Place(body, True, local)


def vector(body: str, local: Any) -> Place:
    """A direction of a body; give it length one."""
    return Place(body, False, local)
