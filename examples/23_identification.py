"""What is in a double pendulum? Masses, lengths, spring and damper from noisy angles that another program computed."""

from __future__ import annotations

import argparse
from pathlib import Path

import exudyn as exu
import numpy as np
from exudyn import itemInterface as items
from matplotlib.figure import Figure

import mechgrad as mg

TRUE = {"lower.mass": 0.7, "lower.com.x": 0.25, "elbow.origin.x": 0.8, "spring.stiffness": 8.0, "spring.damping": 0.4}
FIRST, BETWEEN, NOISE = -np.pi / 2 + 0.6, 0.3, 2e-3  # angles at the start, of the noise the standard deviation [rad]


def measured() -> tuple[np.ndarray, np.ndarray]:
    """Both angles (40, 2) by Exudyn, which has absolute coordinates of planar bodies and joints between them."""
    mbs = exu.SystemContainer().AddSystem()
    upper_angle, lower_angle = FIRST, FIRST + BETWEEN
    along = lambda angle: np.array([np.cos(angle), np.sin(angle)])  # noqa: E731
    elbow = TRUE["elbow.origin.x"] * along(upper_angle)
    still = mbs.AddNode(items.NodePointGround())
    last, hinge, sensors = mbs.AddObject(items.ObjectGround()), [0.0, 0.0, 0.0], []
    for at, angle, mass, com, inertia, length in (
        (np.zeros(2), upper_angle, 1.2, 0.35, 0.06, TRUE["elbow.origin.x"]),
        (elbow, lower_angle, TRUE["lower.mass"], TRUE["lower.com.x"], 0.02, 0.6),
    ):
        node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=[*(at + com * along(angle)), angle]))
        body = mbs.AddObject(items.ObjectRigidBody2D(mass=mass, inertia=inertia, nodeNumber=node))
        points = [mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=b, localPosition=x)) for b, x in
                  ((last, hinge), (body, [-com, 0, 0]), (body, [0, 0, 0]))]  # fmt: skip
        mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=points[:2]))
        mbs.AddLoad(items.Force(markerNumber=points[2], loadVector=[0, -9.81 * mass, 0]))
        kind = exu.OutputVariableType.Coordinates
        sensors.append(mbs.AddSensor(items.SensorNode(nodeNumber=node, outputVariableType=kind, storeInternal=True,
                                                      writeToFile=False)))  # fmt: skip
        if not hinge[0]:  # the spring turns the first body back to where it hangs; Exudyn counts from the start
            turns = [mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=n, coordinate=k)) for n, k in
                     ((still, 0), (node, 2))]  # fmt: skip
            mbs.AddObject(items.ObjectConnectorCoordinateSpringDamper(
                markerNumbers=turns, stiffness=TRUE["spring.stiffness"], damping=TRUE["spring.damping"],
                offset=-np.pi / 2 - FIRST,
            ))  # fmt: skip
        last, hinge = body, [length - com, 0.0, 0.0]
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = 20_000, 2.0
    settings.timeIntegration.verboseMode, settings.solution.file.write = 0, False
    settings.solution.sensors.writePeriod = 0.05
    mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.TrapezoidalIndex2)
    rows = [mbs.GetSensorStoredData(sensor)[1:] for sensor in sensors]
    turned = [row[:, 3] for row in rows]
    angles = np.column_stack([FIRST + turned[0], BETWEEN + turned[1] - turned[0]])
    return rows[0][:, 0], angles + NOISE * np.random.default_rng(20).normal(size=angles.shape)


def guessed() -> mg.Trajectory:
    """The same mechanism with numbers as one would guess them."""
    upper = mg.Body("upper", 1.2, (0.35, 0, 0), (0.03, 0.03, 0.06))
    lower = mg.Body("lower", 0.6, (0.3, 0, 0), (0.01, 0.01, 0.02))
    hinges = [mg.Revolute("shoulder", "ground", "upper"), mg.Revolute("elbow", "upper", "lower", (0.75, 0, 0))]
    spring = mg.forces.JointSpring("spring", "shoulder", stiffness=6.0, damping=0.3, free_position=-np.pi / 2)
    model = mg.Model("double pendulum", [upper, lower], hinges, gravity=(0, -9.81, 0), forces=[spring])
    return mg.simulate(model, [FIRST, BETWEEN], 2.0)


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Measure, identify, draw."""
    (t, angles), guess = measured(), guessed()
    data = [mg.design.Measured(mg.measures.JointCoordinate(name), t, y, NOISE) for name, y in
            zip(("shoulder", "elbow"), angles.T, strict=True)]  # fmt: skip
    bounds = dict(zip(TRUE, ((0.2, 2.0), (0.05, 0.6), (0.5, 1.2), (1.0, 30.0), (0.0, 2.0)), strict=True))
    best = mg.DesignProblem(guess, bounds, mg.design.LeastSquares(data)).solve()
    known = best.identification(confidence=0.99)
    print(known)
    # angles alone cannot say how heavy it all is: masses, and what pulls at them, have a factor in common
    heavy = [f"{bar}.{number}" for bar in ("upper", "lower") for number in ("mass", "inertia.zz")]
    wide = {x: (0.2 * best.model.value(x), 5.0 * best.model.value(x)) for x in
            (*heavy, "spring.stiffness", "spring.damping")}  # fmt: skip
    too_much = mg.DesignProblem(best.motion, wide, mg.design.LeastSquares(data)).solve().identification()
    print(*too_much.undetermined, sep="\n")
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    for ax, name, y, k in zip(figure.subplots(1, 2), ("shoulder", "elbow"), angles.T, (0, 1), strict=True):
        ax.plot(guess.t, guess.q[:, k], color="0.7", label="guess")
        ax.plot(best.motion.t, best.motion.q[:, k], label="identified")
        ax.plot(t, y, ".", ms=4, color="k", label="measured")
        ax.set(title=f"{name} [rad]", xlabel="time [s]")
    ax.legend(frameon=False)
    figure.savefig(output / "identification.png", dpi=110)
    assert known.contains(TRUE)
    assert all(c.passed for c in best.certify().values())
    residuals = best.program.residuals(best.x)
    return {
        "standard errors off": float(np.abs((known.values - list(TRUE.values())) / known.standard_errors).max()),
        "residuals over noise": float(np.sqrt(np.mean(residuals**2))),
        "combinations that data do not tell": float(len(too_much.undetermined)),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    print(main(parser.parse_args().output))
