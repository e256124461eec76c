"""A closed chain with an open-tree method: cut a joint, ask for the load that closes it again.

Xiang, Arora and Abdel-Malek treat closed loops by cutting a joint: the open chain carries an unknown load at the
cut, and its end is constrained to where the joint was. Here a planar four-bar linkage, cut at the ground pin D of
its rocker:

      B--------C            crank AB driven, coupler BC and rocker CD passive
     /          \\
    A            D          open chain A-B-C-D with the end point "end" on the rocker, constrained to the pin D

1. closure: for a crank angle, find the passive angles with end(q) = D  (Newton, exact Jacobian), then rates and
accelerations; 2. unknown load f at the end: passive joints have no motors, so tau_2(f) = tau_3(f) = 0. Torques are
linear in the load, and
   its derivatives by the load are what `inverse_dynamics_derivatives` calls "cut.force.x", "cut.force.y";
3. the crank torque follows, and its derivative by a link length, through the closure (implicit function theorem).

    python examples/02_closed_chain.py [--output FOLDER]

Checks itself: the crank's power equals the rate of the energy of the whole linkage, and the derivative equals a
complex step through the entire procedure.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import mechgrad as mg

CRANK, COUPLER, ROCKER, BASE = 0.3, 0.9, 0.8, 1.0
PIN = np.array([BASE, 0.0, 0.0])
PASSIVE = [1, 2]
OMEGA = 4.0  # crank speed [rad/s], constant


def linkage() -> mg.Model:
    """The open chain: three rods in the plane x-y, hinges about z; one variable drives both ends of the coupler."""

    def rod(name: str, length: float, mass: float) -> mg.Body:
        return mg.Body(name, mass, (length / 2, 0, 0), np.diag([1e-4, mass * length**2 / 12, mass * length**2 / 12]))

    return mg.Model(
        "four-bar, cut at D",
        bodies=[rod("crank", CRANK, 1.0), rod("coupler", COUPLER, 2.0), rod("rocker", ROCKER, 1.5)],
        joints=[
            mg.Revolute("A", "ground", "crank"),
            mg.Revolute("B", "crank", "coupler", origin=(CRANK, 0, 0)),
            mg.Revolute("C", "coupler", "rocker", origin=(COUPLER, 0, 0)),
        ],
        points=[mg.Point("end", "rocker", (ROCKER, 0, 0))],
        gravity=(0, -9.81, 0),
        # a longer coupler: its far joint moves, and so does its centre of mass
        variables=[mg.DesignVariable("coupler_length", {"C.origin.x": 1.0, "coupler.com.x": 0.5}, value=COUPLER)],
    )


def jacobian(model: mg.Model, q: np.ndarray) -> np.ndarray:
    """x_q of the end point, (2, 3), by unit velocities: takes complex models, which `marker_jacobian` does not."""
    return np.stack([mg.kinematics.marker_motion(model, ["end"], q, e).velocity[0][:2] for e in np.eye(3)], axis=-1)


def close(model: mg.Model, crank: float, guess: np.ndarray) -> np.ndarray:
    """Angles of the closed chain: Newton on end(q) = D for the passive angles. Works for complex models too."""
    q = np.array([crank, *guess], complex if np.iscomplexobj(model.value("coupler_length")) else float)
    for _ in range(20):
        gap = (mg.kinematics.marker_motion(model, ["end"], q).position[0] - PIN)[:2]
        step = np.linalg.solve(jacobian(model, q)[:, PASSIVE], gap)
        q[PASSIVE] -= step
        if np.max(np.abs(step.real)) < 1e-12:
            break
    # one more pass: the imaginary part of a complex step converges one pass behind the real one
    q[PASSIVE] -= np.linalg.solve(
        jacobian(model, q)[:, PASSIVE], (mg.kinematics.marker_motion(model, ["end"], q).position[0] - PIN)[:2]
    )
    return q


def rates(model: mg.Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Velocities and accelerations of the closed chain at constant crank speed: J v = 0, J a + Jdot v = 0."""
    J = jacobian(model, q)
    v = np.array([OMEGA, *np.linalg.solve(J[:, PASSIVE], -J[:, 0] * OMEGA)])
    bias = mg.kinematics.marker_motion(model, ["end"], q, v).acceleration[0][:2]
    return v, np.array([0.0 * v[0], *np.linalg.solve(J[:, PASSIVE], -bias)])


def cut_load(model: mg.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Load at the cut that leaves the passive joints without torque, and the torques with it."""
    unit = [[mg.Load("rocker", force=f, point="end")] for f in ((0, 0, 0), (1, 0, 0), (0, 1, 0))]
    bare, *with_unit = (mg.inverse_dynamics(model, q, v, a, loads=loads) for loads in unit)
    by_force = np.stack([x - bare for x in with_unit], axis=-1)  # torques are linear in the load
    f = np.linalg.solve(by_force[PASSIVE], -bare[PASSIVE])
    return f, bare + by_force @ f


def sensitivity(model: mg.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, f: np.ndarray) -> float:
    """d(crank torque)/d(coupler length), through the closure, analytically.

    Unknown by the closure: q_P, v_P, a_P (passive) and f. With x = end(q, p):
        x_q dq + x_p = 0,   xd_q dq + x_q dv + xd_p = 0,   xdd_q dq + xdd_v dv + x_q da + xdd_p = 0
        tau_q dq + tau_v dv + tau_a da + tau_f df + tau_p = (d tau_1, 0, 0)
    """
    loads = [mg.Load("rocker", force=(*f, 0.0), point="end", name="cut")]
    path = "coupler_length"
    K = mg.kinematics.marker_derivatives(model, ["end"], q, v, a, wrt=path)
    D = mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads, wrt=[path, "cut.force.x", "cut.force.y"])
    x_q, xd_q, xdd_q, xdd_v = (m[0][:2] for m in (K.x_q, K.xd_q, K.xdd_q, K.xdd_v))
    x_p, xd_p, xdd_p = (m[0][:2, 0] for m in (K.x_p, K.xd_p, K.xdd_p))
    J = x_q[:, PASSIVE]
    dq, dv, da = np.zeros(3), np.zeros(3), np.zeros(3)
    dq[PASSIVE] = np.linalg.solve(J, -x_p)
    dv[PASSIVE] = np.linalg.solve(J, -(xd_q @ dq + xd_p))
    da[PASSIVE] = np.linalg.solve(J, -(xdd_q @ dq + xdd_v @ dv + xdd_p))
    known = D.dq.dense() @ dq + D.dv.dense() @ dv + D.da.dense() @ da + D.by(path)
    by_force = np.stack([D.by("cut.force.x"), D.by("cut.force.y")], axis=-1)
    df = np.linalg.solve(by_force[PASSIVE], -known[PASSIVE])
    return float(known[0] + by_force[0] @ df)


def crank_torque(model: mg.Model, crank: float, guess: np.ndarray) -> complex:
    """The whole procedure, for a complex step."""
    q = close(model, crank, guess)
    v, a = rates(model, q)
    return cut_load(model, q, v, a)[1][0]


def energy_rate(model: mg.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
    """d(kinetic + potential)/dt of the three rods, from the motion of their centres of mass: no inverse dynamics."""
    rate = 0.0
    motion = mg.kinematics.marker_motion(model, [f"{b.name}.com" for b in model.bodies], q, v, a)
    spin = mg.kinematics.marker_motion(model, [f"{b.name}.spin" for b in model.bodies], q, v, a)
    for k, body in enumerate(model.bodies):
        rate += body.mass * motion.velocity[k] @ (motion.acceleration[k] - model.gravity)
        rate += body.inertia[2, 2] * spin.velocity[k, 2] * spin.acceleration[k, 2]
    return float(rate)


def main(output: Path, samples: int = 91) -> dict[str, float]:
    """One turn of the crank."""
    model = linkage()
    angles = np.linspace(0.0, 2 * np.pi, samples)
    guess = np.array([0.6, 4.2])  # rocker points down to D
    torque, slope, force, power_error, slope_error = [], [], [], 0.0, 0.0
    stepped = model.with_values({"coupler_length": COUPLER + 1e-30j})
    for crank in angles:
        q = close(model, crank, guess)
        guess = q[PASSIVE]
        v, a = rates(model, q)
        f, tau = cut_load(model, q, v, a)
        torque.append(tau[0])
        force.append(f)
        slope.append(sensitivity(model, q, v, a, f))
        power_error = max(power_error, abs(tau[0] * OMEGA - energy_rate(model, q, v, a)))
        exact = np.imag(crank_torque(stepped, crank, guess)) / 1e-30
        slope_error = max(slope_error, abs(slope[-1] - exact))
        assert np.max(np.abs(tau[PASSIVE])) < 1e-12
    draw(output, angles, np.array(torque), np.array(slope), np.array(force))
    peak = float(np.max(np.abs(torque)))
    print(
        f"largest crank torque {peak:.3f} N m; power balance to {power_error:.1e} W; "
        f"sensitivity to {slope_error:.1e} N m/m"
    )
    assert power_error < 1e-11 * OMEGA * peak
    assert slope_error < 1e-10 * np.max(np.abs(slope))
    return {"peak": peak, "power_error": power_error, "slope_error": slope_error}


def draw(output: Path, angles: np.ndarray, torque: np.ndarray, slope: np.ndarray, force: np.ndarray) -> None:
    """Torque, its sensitivity and the closing load over one turn."""
    import matplotlib.pyplot as plt

    output.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    degrees = np.rad2deg(angles)
    axes[0].plot(degrees, torque)
    axes[0].set(title="crank torque", ylabel="[N m]")
    axes[1].plot(degrees, slope)
    axes[1].set(title="its derivative by the coupler's length", ylabel="[N m/m]")
    axes[2].plot(degrees, force, label=["x", "y"])
    axes[2].set(title="load that closes the cut at D", ylabel="[N]")
    axes[2].legend(frameon=False)
    for ax in axes:
        ax.set(xlabel="crank angle [deg]")
        ax.grid(alpha=0.3)
    figure.savefig(output / "closed_chain.png", dpi=130)
    plt.close(figure)
    print(f"figure written to {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("mechgrad-examples"))
    main(parser.parse_args().output)
