"""One step of the walker, as a motion problem: the gait prediction of the literature with published data.

The task is that of Barman (2020) after Xiang et al. (2009): a symmetric step of 0.6 m at 1.2 m/s, found as the motion
of least dynamic effort under nine kinds of constraints. The source prints neither its model of 55 coordinates nor its
limits; here the `walker` of 33 coordinates stands for it, with the limits of `walker_limits`.

Time of the step, xi = t / T, T = 0.5 s, from the strike of the right heel to that of the left:

    0   - 0.2   both feet: right heel, left toes          0.7 - 1   right toes: the heel has left the ground
    0.2 - 0.7   right foot flat                           0.2 - 1   the left leg swings

The right foot stands where it is put; symmetry puts the left one. Equations that symmetry implies (the left toes at
xi = 0, the left heel at xi = 1) are not stated twice: the program's Jacobian has full rank, but at special postures
such as q = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mechgrad.errors import InputError
from mechgrad.gallery.walker import walker, walker_limits, walker_mirror
from mechgrad.kinematics.marker_motions import marker_motion
from mechgrad.model import Model
from mechgrad.optimization.motion import (
    Contact,
    DistanceLimits,
    GroundFriction,
    JerkSquares,
    JointLimits,
    MotionProblem,
    MotionSolution,
    Periodic,
    PointLimits,
    Splines,
    Stance,
    SwingTogether,
    TorqueLimits,
    TorqueSquares,
    ZeroMomentPoint,
)
from mechgrad.optimization.motion.ground_constraints import hull_edges
from mechgrad.optimization.motion.measures.ground import JUST_BEFORE

__all__ = ["Gait", "GaitCheck", "gait"]

# Times of the step
TOE_OFF, HEEL_OFF, MID_SWING = 0.2, 0.7, 0.6
# Points of the sole before the ankle, and half widths of heel, ball and toes [m]
HEEL, BALL, TOE = -0.04, 0.12, 0.18
HALF_WIDTH = 0.04
MARGIN = 0.01  # [m] kept by the zero-moment point where it is limited, for the instants between
PELVIS = np.deg2rad(((-15, 15), (-8, 8), (-10, 15)))  # yaw, roll, pitch: how far the pelvis may turn
EFFORT = 20.0  # weight of the effort, which makes the cost about one
# Toes and forearms weigh so little that effort alone lets them shake in the air; the source's six control points could
# not follow that, ten segments can. This share of jerk in the cost is about a sixth of that of effort.
SMOOTHNESS = 2e-8


@dataclass(frozen=True)
class GaitCheck:
    """Numbers of a predicted step.

    Attributes
    ----------
    variables, constraints, active : sizes of the program, and constraints at their bounds (equations included)
    violation : largest violation of a constraint, scaled
    torque_use : largest |tau| / limit at any time
    slip, sink : how far standing points move along and across the ground between knots [m]
    zmp_margin : least distance of the zero-moment point to the edges of its polygon [m], negative outside
    asymmetry : largest difference of the step's end and its mirrored start [m, rad, per second]
    mid_stance_force : least and greatest vertical force in the middle of stance, in body weights
    mean_force : vertical force over the step on average, in body weights
    """

    variables: int
    constraints: int
    active: int
    violation: float
    torque_use: float
    slip: float
    sink: float
    zmp_margin: float
    asymmetry: float
    mid_stance_force: tuple[float, float]
    mean_force: float


@dataclass(frozen=True, eq=False)
class Gait:
    """A step to be predicted: the problem, the stances that carry the ground's forces, and its data."""

    problem: MotionProblem
    ground: tuple[Stance, ...]
    actuated: tuple[str, ...]
    torque_limits: np.ndarray
    length: float
    tracks: tuple[float, float]
    supports: tuple[tuple[tuple[float, float], np.ndarray], ...]

    @property
    def model(self) -> Model:
        """The walker."""
        return self.problem.model

    def solve(self, progress: bool = False) -> tuple[MotionSolution, MotionSolution]:
        """A feasible step from q = 0, and the step of least effort found from it: the two phases of the source.

        Ipopt starts the second phase with a small barrier parameter, since its start is feasible, and lowers it
        eagerly; optimality to 1e-3 as in the source.
        """
        first = self.problem.feasible(progress=progress)
        if first.result is None or not first.result.success:
            return first, first
        options = {"mu_init": 1e-3, "barrier_tol_factor": 50.0}
        return first, self.problem.solve(first, tolerance=1e-3, options=options, progress=progress)

    def check(self, solution: MotionSolution, samples: int = 201) -> GaitCheck:
        """What the step is like, measured between the instants where it was constrained, too."""
        model, L = self.model, self.length
        xi = np.linspace(0, 1, samples)
        _, q, v, _ = solution.motion(samples)
        ground = solution.ground_reactions(self.ground, samples)
        weight = model.total_mass * float(np.linalg.norm(model.gravity))
        tau = solution.torques(samples, ground=self.ground)
        rows = [model.v_names.index(name) for name in self.actuated]
        slip, sink = 0.0, 0.0
        for contact in _contacts(L, *self.tracks, 1.0 / solution.splines.segments):
            here = (xi >= contact.start - 1e-9) & (xi <= contact.end + 1e-9)
            x = marker_motion(model, [contact.marker], q[here]).position[:, 0] - np.asarray(contact.place, float)
            for axis in contact.axes:
                moved = float(np.max(np.abs(x[:, "xyz".index(axis)])))
                slip, sink = (slip, max(sink, moved)) if axis == "z" else (max(slip, moved), sink)
        margin = min(
            float(np.min(ground.zmp[here][:, :2] @ n.T - c))
            for (start, end), polygon in self.supports
            for n, c in [hull_edges(polygon)]
            for here in [(xi >= start - 1e-9) & (xi <= end + 1e-9)]
        )
        partner, sign = walker_mirror(model)
        offset = np.where(np.array(model.v_names) == "pelvis_x", L, 0.0)
        uneven = np.max(np.abs([sign * q[-1][partner] - q[0] - offset, sign * v[-1][partner] - v[0]]))
        stance = (xi >= 0.45) & (xi <= 0.75)  # the middle of the right foot's stance, from heel strike to toe-off
        result = solution.result
        assert result is not None
        t = self.problem.transcription()
        lower, upper = t.bounds
        values = t.values(result.x)
        close = 1e-4 * t.scales
        active = (values - lower < close) | (upper - values < close)
        return GaitCheck(
            variables=t.n,
            constraints=t.m,
            active=int(np.sum(active)),
            violation=float(np.max(np.maximum(np.maximum(lower - values, values - upper), 0) / t.scales)),
            torque_use=float(np.max(np.abs(tau[:, rows]) / self.torque_limits)),
            slip=slip,
            sink=sink,
            zmp_margin=margin,
            asymmetry=float(uneven),
            mid_stance_force=(
                float(np.min(ground.force[stance, 2])) / weight,
                float(np.max(ground.force[stance, 2])) / weight,
            ),
            mean_force=float(np.trapezoid(ground.force[:, 2], ground.t) / solution.duration / weight),
        )


def gait(
    speed: float = 1.2, length: float = 0.6, segments: int = 10, per_segment: int = 2, width: float = 0.14
) -> Gait:
    """One symmetric step of the walker as a motion problem.

    Parameters
    ----------
    speed, length : float
        Walking speed [m/s] and step length [m]; the step takes length / speed.
    segments : int
        Spline segments per coordinate, a multiple of ten: the phases end on knots.
    per_segment : int
        Instants per segment at which torques and the zero-moment point are limited.
    width : float
        Distance of the feet across the direction of walking [m].

    >>> step = gait()
    >>> len(step.actuated), step.problem.clock.duration(step.problem.clock.start)
    (27, 0.5)
    """
    if not isinstance(segments, int) or segments % 10 or segments <= 0:
        raise InputError(f"segments is {segments}; the phases of the step need a multiple of 10.")
    if not speed > 0 or not length > 0 or not width > 0:
        raise InputError(f"speed is {speed} m/s, length {length} m, width {width} m; all must be positive.")
    model = walker()
    limits = walker_limits(model)
    actuated = tuple(limits)
    lower, upper, torque = np.array(list(limits.values())).T
    right, left = -width / 2, width / 2
    knot = 1.0 / segments

    ground = (
        Stance("toes_left", (-length + (BALL + TOE) / 2, left, 0), 0.0, TOE_OFF),
        Stance("foot_right", (HEEL, right, 0), 0.0, TOE_OFF),
        Stance("foot_right", ((HEEL + BALL) / 2, right, 0), TOE_OFF, HEEL_OFF),
        Stance("toes_right", ((BALL + TOE) / 2, right, 0), HEEL_OFF, 1.0),
    )
    supports = _supports(length, left, right)
    problem = MotionProblem(model, Splines(segments), length / speed)
    problem.minimize(TorqueSquares(EFFORT, torque, list(actuated), per_segment=per_segment, ground=ground))
    problem.minimize(JerkSquares(SMOOTHNESS))
    # 1 joint limits, 2 torque limits
    problem.subject_to(JointLimits(lower, upper, list(actuated)))
    problem.subject_to(JointLimits(PELVIS[:, 0], PELVIS[:, 1], ["pelvis_yaw", "pelvis_roll", "pelvis_pitch"]))
    problem.subject_to(TorqueLimits(-torque, torque, list(actuated), per_segment=per_segment, ground=ground))
    # 3 ground contact
    problem.subject_to(*_contacts(length, left, right, knot), *_above(knot))
    # 4 balance
    for during, polygon in supports:
        problem.subject_to(ZeroMomentPoint(polygon, ground, MARGIN, per_segment=per_segment, during=during))
    problem.subject_to(GroundFriction(ground, 0.8, 0.1, per_segment=per_segment))
    _swing(problem, length)
    return Gait(problem, ground, actuated, torque, length, (left, right), supports)


def _swing(problem: MotionProblem, length: float) -> None:
    """What arms and legs do between their contacts, and symmetry."""
    model = problem.model
    # 5 arms and legs, 6 the wrists keep away from the hips
    for one, other in (("left", "right"), ("right", "left")):
        arm, leg = (f"shoulder_{one}", f"wrist_{one}"), (f"hip_{other}", f"ankle_{other}")
        problem.subject_to(SwingTogether(arm, leg, (1, 0, 0)), DistanceLimits(f"wrist_{one}", f"hip_{one}", 0.12))
    # 7 symmetry
    partner, sign = walker_mirror(model)
    offset = np.zeros(model.n_v)
    offset[model.v_names.index("pelvis_x")] = length
    problem.subject_to(Periodic(partner, sign, offset, levels="qva"))
    # 8 clearance of the swinging foot; 9, the places of the feet, is in the contacts
    knee = np.deg2rad((55.0, 65.0))
    problem.subject_to(JointLimits(knee[0], knee[1], ["knee_flexion_left"], during=(MID_SWING, MID_SWING)))


def _contacts(length: float, left: float, right: float, knot: float) -> list[Contact]:
    """Points that stand, each with the equations that the others leave open."""
    heel, ball, toe = (HEEL, right, 0), (BALL, right, 0), (TOE, right, 0)
    rear = (BALL - length, left, 0), (TOE - length, left, 0)
    late = HEEL_OFF + knot  # at heel-off the flat foot still fixes what the toes fix from then on
    return [
        Contact("heel_right", heel, "xyz", 0.0, HEEL_OFF),
        Contact("ball_right", ball, "yz", TOE_OFF, 1.0),
        Contact("ball_lateral_right", ball, "z", TOE_OFF, 1.0),
        Contact("toe_right", toe, "z", TOE_OFF, 1.0),
        Contact("ball_right", ball, "x", late, 1.0, "end"),
        Contact("toe_right", toe, "y", late, 1.0, "end"),
        Contact("ball_left", rear[0], "xyz", knot, TOE_OFF, "end"),
        Contact("ball_lateral_left", rear[0], "z", knot, TOE_OFF, "end"),
        Contact("toe_left", rear[1], "yz", knot, TOE_OFF, "end"),
    ]


def _above(knot: float) -> list[PointLimits]:
    """Points that do not stand are not below the ground."""
    above, free = (-np.inf, -np.inf, 0.0), (np.inf, np.inf, np.inf)
    phases = [
        ("heel_left", (0.0, 1.0 - knot)),
        ("ball_left", (TOE_OFF + knot, 1.0)),
        ("toe_left", (TOE_OFF + knot, 1.0)),
        ("ball_right", (0.0, TOE_OFF - knot)),
        ("toe_right", (0.0, TOE_OFF - knot)),
        ("heel_right", (HEEL_OFF + knot, 1.0)),
    ]
    return [PointLimits(point, above, free, during=during) for point, during in phases]


def _supports(length: float, left: float, right: float) -> tuple[tuple[tuple[float, float], np.ndarray], ...]:
    """Support polygons and when they hold; a phase ends before the next begins."""

    def patch(x0: float, x1: float, y: float) -> np.ndarray:
        return np.array([(x, y + s * HALF_WIDTH) for x in (x0, x1) for s in (-1, 1)])

    both = np.vstack([patch(BALL - length, TOE - length, left), patch(HEEL, HEEL + 0.03, right)])
    flat, toes = patch(HEEL, TOE, right), patch(BALL, TOE, right)
    return (((0.0, TOE_OFF - JUST_BEFORE), both), ((TOE_OFF, HEEL_OFF - JUST_BEFORE), flat), ((HEEL_OFF, 1.0), toes))
