"""The five-bar, the slider-crank and the chain in Exudyn: its rigid bodies, joints and solvers, without output.

Data come from the references beside this file; Exudyn's equations, joints and integrators are its own. Exudyn is loaded
in its variant without range checks, since its speed is compared as well.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import atan2
from typing import Any, Literal

import numpy as np
from scipy.spatial.transform import Rotation

from support.chain_reference import chain_data
from support.five_bar_reference import DATA, FiveBar, closure
from support.slider_crank_reference import BENCHMARK, SliderCrank

sys.exudynFast = True  # type: ignore[attr-defined]  # read by Exudyn when it is first imported

import exudyn as exu  # noqa: E402
import exudyn.itemInterface as items  # noqa: E402

Array = np.ndarray
MOTION = ("Position", "Velocity", "Acceleration")
SCHEMES = {"trapezoidal": "TrapezoidalIndex2", "generalized alpha": "GeneralizedAlpha", "rk4": "RK44"}
ABOUT = {  # frames whose z axis is x or y: Exudyn's hinges turn about z
    "x": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
}
LINEAR = {"dense": "EigenDense", "exu": "EXUdense", "sparse": "EigenSparse"}


@dataclass(frozen=True, slots=True)
class Solver:
    """Exudyn's integrator, whether Newton keeps its matrix over steps (its recommendation), and who factorizes.

    The planar five-bar is the exception: there a fresh matrix costs less than the iterations that an old one adds.
    """

    scheme: Literal["trapezoidal", "generalized alpha", "rk4"] = "trapezoidal"
    modified_newton: bool = True
    linear: Literal["dense", "exu", "sparse"] = "dense"


@dataclass(frozen=True, slots=True)
class Run:
    """The point of interest at the recorded instants (rows), and the time of the solver's call alone: on the wall, and
    of its thread."""

    t: Array
    position: Array
    velocity: Array
    acceleration: Array
    seconds: float
    steps: int
    thread_seconds: float = 0.0

    @property
    def microseconds_per_step(self) -> float:
        """Wall time of a step."""
        return 1e6 * self.seconds / self.steps


SOLVER = Solver()
SPARSE = Solver(linear="sparse")


def five_bar(
    step: float, duration: float = 5.0, records: int = 0, solver: Solver = SOLVER, data: FiveBar = DATA
) -> Run:
    """Point 2 of the linkage of planar rigid bodies; `records` equal intervals are recorded, none for timing."""
    e1, e2 = (np.array([np.cos(p), np.sin(p)]) for p in np.cumsum(data.angles))
    r1 = data.a1.length * e1
    r2 = r1 + data.b12.length * e2
    p3, _ = closure(data, *r2)
    r3 = r2 + data.b23.length * np.array([np.cos(p3), np.sin(p3)])
    origin, far = np.zeros(2), np.array([data.ground, 0.0])

    mbs = _system()
    ground = mbs.AddObject(items.ObjectGround())
    a, b = _point(mbs, ground, origin), _point(mbs, ground, far)
    ends, bars = [a], []
    places = [(origin, r1, data.a1), (r1, r2, data.b12), (r2, r3, data.b23), (far, r3, data.b3)]
    for first, last, bar in places:
        direction = (last - first) / bar.length
        normal = np.array([-direction[1], direction[0]])
        pose = [*(first + bar.com * direction + bar.offset * normal), atan2(direction[1], direction[0])]
        node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=pose))
        body = mbs.AddObject(items.ObjectRigidBody2D(mass=bar.mass, inertia=bar.inertia, nodeNumber=node))
        centre = _point(mbs, body, origin)
        mbs.AddLoad(items.Force(markerNumber=centre, loadVector=[0.0, -bar.mass * data.gravity, 0.0]))
        ends += [_point(mbs, body, (x - bar.com, -bar.offset)) for x in (0.0, bar.length)]
        bars.append(body)
    ends[7:] = [ends[8], ends[7], b]  # the last bar is written from B to 3
    for k in range(0, 10, 2):
        mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=ends[k : k + 2]))
    for end, stiffness, rest in zip((ends[2], ends[4]), data.stiffness, data.natural_length, strict=True):
        mbs.AddObject(
            items.ObjectConnectorSpringDamper(markerNumbers=[b, end], stiffness=stiffness, referenceLength=rest)
        )
    watch = _watch(mbs, bars[1], (data.b12.length - data.b12.com, -data.b12.offset, 0.0), records)
    return _solve(mbs, watch, step, duration, records, solver)


def slider_crank(
    step: float, duration: float = 5.0, records: int = 0, solver: Solver = SOLVER, data: SliderCrank = BENCHMARK
) -> Run:
    """Point D of the slider; rigid bodies with Euler parameters, hinge, ball joint, Cardan joint and slide."""
    (a, b), r, h, w = data.pivot, data.crank, data.angle, data.speed
    A = np.array([0.0, a, b])
    B = A + r * np.array([0.0, -np.sin(h), np.cos(h)])
    C = np.array([np.sqrt(data.rod**2 - B @ B), 0.0, 0.0])
    ex = np.array([1.0, 0.0, 0.0])
    u = (C - B) / data.rod
    pin_axis = np.cross(ex, u) / np.linalg.norm(np.cross(ex, u))  # of the Cardan joint, on the rod
    vB = w * np.cross(ex, B - A)
    vC = (u @ vB) / u[0] * ex  # both ends of a rod move equally fast along it
    du = (vC - vB) / data.rod
    across = np.cross(u, du)
    spin = across + u[0] * across[0] / (u[1] ** 2 + u[2] ** 2) * u
    tensor = data.rod_transverse * np.eye(3) + (data.rod_axial - data.rod_transverse) * np.outer(u, u)

    mbs = _system()
    ground = mbs.AddObject(items.ObjectGround())
    D = C + data.offset * ex
    gravity = (0.0, 0.0, -data.gravity)
    m_crank, m_rod, m_slider = data.masses
    isotropic = data.crank_inertia * np.eye(3)
    crank = _rigid(mbs, m_crank, isotropic, (A + B) / 2, gravity, velocity=vB / 2, spin=w * ex)
    rod = _rigid(mbs, m_rod, tensor, (B + C) / 2, gravity, velocity=(vB + vC) / 2, spin=spin)
    slider = _rigid(mbs, m_slider, isotropic, D, gravity, velocity=vC)  # it never turns: any inertia serves
    hinge = [_frame(mbs, ground, A, ABOUT["x"]), _frame(mbs, crank, (A - B) / 2, ABOUT["x"])]
    mbs.AddObject(items.ObjectJointRevoluteZ(markerNumbers=hinge))
    ball = [_frame(mbs, crank, (B - A) / 2), _frame(mbs, rod, (B - C) / 2)]
    mbs.AddObject(items.ObjectJointSpherical(markerNumbers=ball))
    cross = np.column_stack([u, pin_axis, np.cross(u, pin_axis)])
    cardan = [_frame(mbs, slider, C - D), _frame(mbs, rod, (C - B) / 2, cross)]
    # the sixth equation: x of the first frame is perpendicular to y of the second
    mbs.AddObject(items.ObjectJointGeneric(markerNumbers=cardan, constrainedAxes=[1, 1, 1, 0, 0, 1]))
    slide = [_frame(mbs, ground, (0.0, 0.0, 0.0)), _frame(mbs, slider, (0.0, 0.0, 0.0))]
    mbs.AddObject(items.ObjectJointPrismaticX(markerNumbers=slide))
    if data.stiffness or data.damping:
        mbs.AddObject(
            items.ObjectConnectorSpringDamper(
                markerNumbers=slide,
                stiffness=data.stiffness,
                damping=data.damping,
                referenceLength=data.natural_length,
            )
        )
    watch = _watch(mbs, slider, (0.0, 0.0, 0.0), records)
    return _solve(mbs, watch, step, duration, records, solver)


def chain(n: int = 43, step: float = 1e-3, duration: float = 1.0, records: int = 0, solver: Solver = SPARSE) -> Run:
    """Free end of the chain of rigid bodies and hinges (redundant coordinates, sparse matrices)."""
    data = chain_data(n)
    mbs = _system()
    upper, at = mbs.AddObject(items.ObjectGround()), np.zeros(3)
    turn, place, com, tip = Rotation.identity(), np.zeros(3), np.array(data["com"]), np.array(data["tip"])
    for axis, angle in zip(data["axes"], data["angles"], strict=True):
        turn = turn * Rotation.from_euler(axis, angle)
        body = _rigid(mbs, data["mass"], np.diag(data["inertia"]), place + turn.apply(com), data["gravity"], turn=turn)
        hinge = [_frame(mbs, upper, at, ABOUT[axis]), _frame(mbs, body, -com, ABOUT[axis])]
        mbs.AddObject(items.ObjectJointRevoluteZ(markerNumbers=hinge))
        upper, at, place = body, tip - com, place + turn.apply(tip)
    watch = _watch(mbs, upper, tip - com, records)
    return _solve(mbs, watch, step, duration, records, solver)


def chain_tree(
    n: int = 43, step: float = 1e-3, duration: float = 1.0, records: int = 0, solver: Solver = SOLVER
) -> Run:
    """Free end of the chain as Exudyn's kinematic tree: n joint angles, no constraints, dense matrices."""
    data = chain_data(n)
    mbs = _system()
    node = mbs.AddNode(
        items.NodeGenericODE2(
            referenceCoordinates=[0.0] * n,
            initialCoordinates=data["angles"],
            initialCoordinates_t=[0.0] * n,
            numberOfODE2Coordinates=n,
        )
    )
    kinds = {"x": exu.JointType.RevoluteX, "y": exu.JointType.RevoluteY}
    tree = mbs.AddObject(
        items.ObjectKinematicTree(
            nodeNumber=node,
            gravity=list(data["gravity"]),
            jointTypes=[kinds[axis] for axis in data["axes"]],
            linkParents=list(range(-1, n - 1)),
            jointHTs=[exu.HT()] + [exu.HT(translation=list(data["tip"]))] * (n - 1),
            linkInertiasCOM=exu.Matrix3DList([np.diag(data["inertia"])] * n),
            linkCOMs=exu.Vector3DList([list(data["com"])] * n),
            linkMasses=[data["mass"]] * n,
        )
    )
    watch = [
        mbs.AddSensor(
            items.SensorKinematicTree(
                objectNumber=tree,
                linkNumber=n - 1,
                localPosition=list(data["tip"]),
                outputVariableType=getattr(exu.OutputVariableType, name),
                storeInternal=True,
                writeToFile=False,
            )
        )
        for name in (MOTION if records else ())
    ]
    return _solve(mbs, watch, step, duration, records, solver)


# ---------------------------------------------------------------------------------------------------- pieces
def _system() -> Any:
    return exu.SystemContainer().AddSystem()


def _point(mbs: Any, body: int, place: Sequence[float] | Array) -> int:
    return int(mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[*place, 0.0])))


def _frame(mbs: Any, body: int, place: Sequence[float] | Array, axes: Array | None = None) -> int:
    pose = exu.HT(rotation=np.eye(3) if axes is None else axes, translation=list(place))
    return int(mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=body, localHT=pose)))


def _rigid(
    mbs: Any,
    mass: float,
    inertia: Array,
    place: Array,
    gravity: Sequence[float],
    turn: Rotation | None = None,
    velocity: Array | None = None,
    spin: Array | None = None,
) -> int:
    """A rigid body with its frame in the centre of mass; spin is for bodies in world axes at the start."""
    parameters = (Rotation.identity() if turn is None else turn).as_quat(scalar_first=True)
    rates = np.concatenate([np.zeros(3) if velocity is None else velocity, np.zeros(4)])
    if spin is not None:
        rates[4:] = spin / 2  # e' = (0, w / 2) at e = (1, 0, 0, 0)
    node = mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=[*place, *parameters], initialVelocities=list(rates)))
    J = inertia
    body = mbs.AddObject(
        items.ObjectRigidBody(
            mass=mass,
            inertia=[J[0, 0], J[1, 1], J[2, 2], J[1, 2], J[0, 2], J[0, 1]],
            nodeNumber=node,
        )
    )
    heavy = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
    mbs.AddLoad(items.LoadMassProportional(markerNumber=heavy, loadVector=list(gravity)))
    return int(body)


def _watch(mbs: Any, body: int, place: Sequence[float] | Array, records: int) -> list[int]:
    return [
        mbs.AddSensor(
            items.SensorBody(
                bodyNumber=body,
                localPosition=list(place),
                outputVariableType=getattr(exu.OutputVariableType, name),
                storeInternal=True,
                writeToFile=False,
            )
        )
        for name in (MOTION if records else ())
    ]


def _solve(mbs: Any, watch: list[int], step: float, duration: float, records: int, solver: Solver) -> Run:
    mbs.Assemble()
    settings = exu.SimulationSettings()
    time_settings = settings.timeIntegration
    steps = round(duration / step)
    time_settings.numberOfSteps, time_settings.endTime, time_settings.verboseMode = steps, duration, 0
    time_settings.newton.useModifiedNewton = solver.modified_newton
    settings.solution.file.write = False
    settings.solution.sensors.active = records > 0
    settings.solution.sensors.writePeriod = duration / max(records, 1)
    settings.linearSolver.solverType = getattr(exu.LinearSolverType, LINEAR[solver.linear])
    settings.linearSolver.reuseAnalyzedPattern = solver.linear == "sparse"
    kind = getattr(exu.DynamicSolverType, SCHEMES[solver.scheme])
    begin, busy = time.perf_counter(), time.thread_time()
    success = mbs.SolveDynamic(settings, solverType=kind)
    seconds, busy = time.perf_counter() - begin, time.thread_time() - busy
    if not success:
        raise RuntimeError(f"Exudyn stopped: {solver} with steps of {step:g} s over {duration:g} s")
    if not records:
        empty = np.empty((0, 3))
        return Run(np.empty(0), empty, empty, empty, seconds, steps, busy)
    rows = [mbs.GetSensorStoredData(sensor) for sensor in watch]
    return Run(rows[0][:, 0], *(row[:, 1:] for row in rows), seconds, steps, busy)
