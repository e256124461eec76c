"""Two arms lift and turn a bar: a closed loop, opened by cutting the pin between the bar and one of the hands.

Two arms of two rods each stand in the vertical plane x-z and hold the ends of a bar of 5 kg by pins:

       elbow     elbow           motors in shoulders and elbows: four
      /    |     |    \\          pins between hands and bar: passive
     /     o=bar=o     \\         freedom of the bar: three, so that one combination of the torques
    shoulder       shoulder      only presses the hands against each other

The loop is cut at the hand of arm B. The force in the cut is two more profiles to be found, x and z; the closure keeps
hand and bar together; the pin that is left has no torque:

    x_bar(q) = x_hand(q)        tau(q, v, a) - (J_bar - J_hand)^T u:  0 in the pin, within limits in the motors

From rest to rest; cost: T + integral of sum (tau / limit)^2 dt, the duration T free.

    python examples/05_two_arms.py [--output FOLDER]

Checks itself: the bar alone is in dynamic equilibrium under the forces at its ends; the motors' torques are the same if
the loop is cut at the other hand, and so is the optimum.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import mechgrad as mg
from mechgrad.optimization.motion import (
    At,
    Coincident,
    CutForce,
    Duration,
    Free,
    MotionProblem,
    MotionSolution,
    Splines,
    TorqueLimits,
    TorqueSquares,
)

LINK, BAR, SHOULDER = 0.4, 0.5, 0.55  # lengths of rods and bar, distance of a shoulder from the middle [m]
MOTORS = ["shoulder_a", "elbow_a", "shoulder_b", "elbow_b"]
LIMITS = np.array([30.0, 15.0, 30.0, 15.0])  # [N m]
START, END = (0.0, -0.35, 0.0), (0.0, 0.40, 0.8)  # the bar's middle x, z [m] and its angle [rad]
SEGMENTS, FINE = 32, 4
STRIDE = 1.35  # between the stick figures [m]
UP = (0, -1, 0)  # hinges: positive angles lift x towards z


def arms(cut: str) -> mg.Model:
    """The open mechanism: the bar hangs on the arm whose pin is not cut. Its frame sits at A's end either way."""

    def rod(name: str, length: float, mass: float) -> mg.Body:
        return mg.Body(name, mass, (length / 2, 0, 0), (1e-3, mass * length**2 / 12, mass * length**2 / 12))

    def hinge(name: str, parent: str, child: str, x: float, **more: object) -> mg.Revolute:
        return mg.Revolute(name, parent, child, origin=(x, 0, 0), axis=UP, **more)

    joints = [
        hinge("shoulder_a", "ground", "upper_a", -SHOULDER), hinge("elbow_a", "upper_a", "fore_a", LINK),
        hinge("shoulder_b", "ground", "upper_b", SHOULDER), hinge("elbow_b", "upper_b", "fore_b", LINK),
    ]  # fmt: skip
    if cut == "b":
        joints.append(hinge("pin_a", "fore_a", "bar", LINK))
    else:
        joints.append(hinge("pin_b", "fore_b", "bar", LINK, child_origin=(BAR, 0, 0)))
    links = [rod(f"{part}_{arm}", LINK, mass) for arm in "ab" for part, mass in (("upper", 2.0), ("fore", 1.5))]
    points = [mg.Point(f"hand_{arm}", f"fore_{arm}", (LINK, 0, 0)) for arm in "ab"]
    points += [mg.Point("bar_a", "bar", (0, 0, 0)), mg.Point("bar_b", "bar", (BAR, 0, 0))]
    return mg.Model(f"two arms, cut at {cut}", [*links, rod("bar", BAR, 5.0)], joints, points)


def angles(cut: str, x: np.ndarray, z: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """Joint angles (nt, 5) for places of the bar, elbows above the hands."""
    found = []
    for side in (-1.0, 1.0):
        dx, dz = x + side * BAR / 2 * np.cos(phi) - side * SHOULDER, z + side * BAR / 2 * np.sin(phi)
        elbow = side * np.arccos((dx**2 + dz**2) / (2 * LINK**2) - 1)
        found += [np.unwrap(np.arctan2(dz, dx)) - elbow / 2, elbow]  # equal rods: half the elbow's angle
    return np.stack([*found, phi - (found[0] + found[1] if cut == "b" else found[2] + found[3])], axis=1)


def carry(cut: str) -> tuple[MotionProblem, np.ndarray]:
    """The problem and a start: the bar along a straight line, at rest in the vertical of its weight."""
    pin, held, led = ("pin_a", "a", "b") if cut == "b" else ("pin_b", "b", "a")
    force = CutForce(f"bar_{led}", f"hand_{led}", axes="xz")
    # quintic: the closure is kept to the sixth power of the knots' distance, its accelerations to the fourth
    problem = MotionProblem(arms(cut), Splines(SEGMENTS, degree=5), Free(0.2, 2.0, guess=0.7), cuts=[force])
    # The pin is free at the knots. Between them the optimizer would use what is left of its torque, so that it pays.
    problem.minimize(Duration(), TorqueSquares(scale=[*LIMITS, 1.0], per_segment=FINE))

    samples = 8 * SEGMENTS + 1
    bar = [np.linspace(a, b, samples) for a, b in zip(START, END, strict=True)]
    q = angles(cut, *bar)
    # the arm that holds the bar places it; where the other one is follows from the closure
    chain = [f"shoulder_{held}", f"elbow_{held}", pin]
    own = [problem.model.v_names.index(name) for name in chain]
    problem.subject_to(
        At(0, q[0, own], joints=chain), At(1, q[-1, own], joints=chain),
        *(At(xi, 0.0, level) for xi in (0, 1) for level in "va"),
        Coincident(f"bar_{led}", f"hand_{led}", axes="xz"),
        TorqueLimits(0, 0, joints=[pin]),
        TorqueLimits(-LIMITS, LIMITS, joints=MOTORS, per_segment=FINE),
    )  # fmt: skip
    half_weight = 0.5 * 5.0 * 9.81
    profiles = np.column_stack([q, np.zeros(samples), np.full(samples, half_weight)])
    guess = problem.guess()
    guess[:-1] = problem.splines.fit(np.linspace(0, 1, samples), profiles).ravel()
    return problem, guess


def solved(cut: str) -> MotionSolution:
    """Solve and say how."""
    problem, guess = carry(cut)
    start = time.perf_counter()
    solution = problem.solve(guess)
    seconds = time.perf_counter() - start
    assert solution.result.success, solution.result.reason
    print(
        f"cut at hand {cut}: cost {solution.result.objective:.6f}, T = {solution.duration:.5f} s, "
        f"{solution.result.iterations} iterations, {seconds:.2f} s"
    )
    return solution


# ------------------------------------------------------------------------------------------------------------ checks
def equilibrium(solution: MotionSolution, samples: int = 401) -> float:
    """Newton and Euler for the bar alone, under what the pins do to it:

        m (a_c - g) = F_A + F_B        d/dt (I w) = M_A + (x_A - x_c) x F_A + (x_B - x_c) x F_B

    Returns the largest imbalance over the largest term. M_A is what is left of the pin's torque between the knots.
    """
    model = solution.model
    _, q, v, a = solution.motion(samples)
    bar, body = mg.kinematics.body_motion(model, q, v, a).of("bar"), model.body("bar")
    M_A, F_A = solution.reactions(samples).of("pin_a")
    u = solution.cut_forces(samples)
    F_B = np.stack([u[:, 0], np.zeros(samples), u[:, 1]], axis=1)
    arm = np.einsum("tij,j->ti", bar.R, body.com)  # from A's end to the centre of mass
    a_c = bar.a + np.cross(bar.dw, arm) + np.cross(bar.w, np.cross(bar.w, arm))
    inertia = bar.R @ body.inertia @ bar.R.swapaxes(1, 2)
    turning = lambda x: np.einsum("tij,tj->ti", inertia, x)  # noqa: E731
    force = body.mass * (a_c - model.gravity)
    moment = turning(bar.dw) + np.cross(bar.w, turning(bar.w))
    along = np.einsum("tij,j->ti", bar.R, (BAR, 0, 0))
    imbalance = force - F_A - F_B, moment - M_A - np.cross(-arm, F_A) - np.cross(along - arm, F_B)
    return max(float(np.max(np.abs(x)) / np.max(np.abs(y))) for x, y in zip(imbalance, (force, moment), strict=True))


def closed(model: mg.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
    """The nearest motion that is closed to rounding: arm A and bar as they are, arm B led by the bar's end."""
    q, v, a = q.copy(), v.copy(), a.copy()
    led = [model.v_names.index(name) for name in ("shoulder_b", "elbow_b")]
    both, plane = ["bar_b", "hand_b"], [0, 2]
    v[:, led] = a[:, led] = 0.0

    def lead(gap: np.ndarray) -> np.ndarray:
        J = mg.kinematics.marker_jacobian(model, ["hand_b"], q)[:, 0][:, plane][:, :, led]
        return np.linalg.solve(J, (gap[:, 0] - gap[:, 1])[:, plane, None])[..., 0]

    for _ in range(4):
        q[:, led] += lead(mg.kinematics.marker_motion(model, both, q).position)
    v[:, led] = lead(mg.kinematics.marker_motion(model, both, q, v).velocity)
    a[:, led] = lead(mg.kinematics.marker_motion(model, both, q, v, a).acceleration)
    return q, v, a


def other_cut(solution: MotionSolution) -> float:
    """The same motion and forces with the loop cut at the other hand: largest difference of the motors' torques over
    their limits.

    At the knots, where the pin has no torque. There the force that A's pin exerts on the bar is the force in the cut
    of the other model, whose bar hangs on arm B.
    """
    here, there = solution.model, arms("a")
    samples = SEGMENTS + 1
    _, q, v, a = solution.motion(samples)
    q, v, a = closed(here, q, v, a)
    u = solution.cut_forces(samples)
    F_B = np.stack([u[:, 0], np.zeros(samples), u[:, 1]], axis=1)
    at_b = [mg.Load("bar", F_B, point="bar_b"), mg.Load("fore_b", -F_B, point="hand_b")]
    tau = mg.inverse_dynamics(here, q, v, a, loads=at_b)
    F_A = mg.joint_reactions(here, q, v, a, loads=at_b).of("pin_a").force
    at_a = [mg.Load("bar", F_A, point="bar_a"), mg.Load("fore_a", -F_A, point="hand_a")]
    # the bar's angle is the sum of the angles along either arm
    change = np.eye(5)
    change[4] = (1, 1, -1, -1, 1)
    again = mg.inverse_dynamics(there, q @ change.T, v @ change.T, a @ change.T, loads=at_a)
    assert np.max(np.abs(again[:, 4])) < 1e-5, "the pin at B has no torque either"
    return float(np.max(np.abs(tau[:, :4] - again[:, :4]) / LIMITS))


def main(output: Path, samples: int = 401) -> dict[str, float]:
    """Solve, check, draw."""
    problem, guess = carry("b")
    problem.solve(guess, max_iterations=1)  # compiles
    solution, other = solved("b"), solved("a")
    tau = solution.torques(2001)
    markers = mg.kinematics.marker_motion(solution.model, ["bar_b", "hand_b"], solution.motion(2001)[1]).position
    gap = np.linalg.norm(markers[:, 0] - markers[:, 1], axis=1)
    at_limit = np.mean(np.abs(tau[:, :4]) > 0.999 * LIMITS, axis=0)
    numbers = {
        "cost": float(solution.result.objective),
        "duration": solution.duration,
        "iterations": float(solution.result.iterations),
        "gap": float(np.max(gap)),
        "pin torque": float(np.max(np.abs(tau[:, 4]))),
        "overshoot": float(np.max(solution.overshoot(np.append(LIMITS, np.inf)))),
        "share at a limit": float(np.max(at_limit)),
        "equilibrium of the bar": equilibrium(solution),
        "torques by the other cut": other_cut(solution),
        "cost by the other cut": float(other.result.objective / solution.result.objective - 1),
    }
    for name, number in numbers.items():
        print(f"  {name:26s} {number:.6g}")
    print("  share of the time at the limit:", ", ".join(f"{n} {x:.2f}" for n, x in zip(MOTORS, at_limit, strict=True)))
    draw(output, solution, samples)
    assert numbers["equilibrium of the bar"] < 1e-6
    assert numbers["torques by the other cut"] < 1e-6
    assert abs(numbers["cost by the other cut"]) < 1e-3, "two discretizations of one problem"
    assert numbers["share at a limit"] > 0.1, "the limits are to matter"
    return numbers


def draw(output: Path, solution: MotionSolution, samples: int) -> None:
    """Stick figures, torques, forces on the bar, and what is left of closure and pin torque between the knots."""
    import matplotlib.pyplot as plt

    output.mkdir(parents=True, exist_ok=True)
    model = solution.model
    figure = plt.figure(figsize=(11, 5.4), layout="constrained")
    strip, graphs = figure.add_gridspec(2, 1, height_ratios=(1, 1.7))
    ax = figure.add_subplot(strip)
    shown = np.linspace(0, 1, 6)
    places = ["upper_a.origin", "fore_a.origin", "bar_a", "bar_b", "fore_b.origin", "upper_b.origin"]
    x = mg.kinematics.marker_motion(model, places, solution.samples_at(shown).q).position
    for k, xi in enumerate(shown):
        line = x[k] + (STRIDE * k, 0, 0)
        ax.plot(line[:3, 0], line[:3, 2], "o-", color="C0", ms=4)
        ax.plot(line[3:, 0], line[3:, 2], "o-", color="C1", ms=4)
        ax.plot(line[2:4, 0], line[2:4, 2], color="0.2", lw=4, solid_capstyle="round")
        ax.text(STRIDE * k, -0.55, f"{xi * solution.duration:.2f} s", ha="center")
    ax.set(aspect="equal", ylim=(-0.6, 0.65), xlim=(-0.7, 5 * STRIDE + 0.7))
    ax.axis("off")

    t, q, _, _ = solution.motion(samples)
    tau, u = solution.torques(samples), solution.cut_forces(samples)
    torques, forces, left = (figure.add_subplot(part) for part in graphs.subgridspec(1, 3))
    for k, name in enumerate(MOTORS):
        torques.plot(t, tau[:, k] / LIMITS[k], "-" if "shoulder" in name else "--", color=f"C{k // 2}", label=name)
    for limit in (-1, 1):
        torques.axhline(limit, color="0.7", lw=0.8)
    torques.set(title="torques / limits", xlabel="time [s]")
    R = mg.kinematics.body_motion(model, q).of("bar").R
    along, across = (np.einsum("ti,ti->t", R[:, :, k][:, [0, 2]], u) for k in (0, 2))
    forces.plot(t, along, label="along the bar")
    forces.plot(t, across, label="across")
    forces.set(title="force of hand B on the bar [N]", xlabel="time [s]")
    markers = mg.kinematics.marker_motion(model, ["bar_b", "hand_b"], q).position
    left.semilogy(t, np.linalg.norm(markers[:, 0] - markers[:, 1], axis=1) + 1e-16, label="closure [m]")
    left.semilogy(t, np.abs(tau[:, 4]) + 1e-16, label="torque of the pin [N m]")
    left.set(title="left between the knots", xlabel="time [s]", ylim=(1e-12, 10))
    for axes in (torques, forces, left):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(output / "two_arms.png", dpi=100)
    plt.close(figure)
    print(f"figure written to {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("mechgrad-examples"))
    main(parser.parse_args().output)
