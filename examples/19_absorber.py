"""A vibration absorber tuned so that the worst of many frequencies is as good as it can be (Den Hartog's problem)."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

import mechgrad as mg

SHARE = 0.25  # mass of the absorber over that of the machine, which has 1 kg on a spring of 1 N/m
SPEEDS = np.linspace(0.6, 1.3, 8)  # rad/s, at which the machine is shaken by 1 N


def shaken() -> mg.Trajectory:
    """One machine for every frequency, side by side in one model, until nothing but its response is left."""
    bodies, joints, forces = [], [], []
    for k, speed in enumerate(SPEEDS):
        bodies += [mg.Body(f"machine {k}", mass=1.0), mg.Body(f"absorber {k}", mass=SHARE)]
        joints += [
            mg.Prismatic(f"x{k}", "ground", f"machine {k}", axis=(1, 0, 0)),
            mg.Prismatic(f"u{k}", f"machine {k}", f"absorber {k}", axis=(1, 0, 0)),
        ]
        shaking = mg.functions.Harmonic(1.0, frequency=speed / (2 * np.pi))
        forces += [
            mg.forces.JointSpring(f"foundation {k}", f"x{k}", stiffness=1.0),
            mg.forces.JointSpring(f"spring {k}", f"u{k}", stiffness=SHARE, damping=0.5 * SHARE),
            mg.forces.Motor(f"shaking {k}", f"x{k}", shaking),
        ]
    stiffness = {f"spring {k}.stiffness": SHARE for k in range(len(SPEEDS))}
    damping = {f"spring {k}.damping": SHARE for k in range(len(SPEEDS))}
    tuning = [
        mg.DesignVariable("stiffness", stiffness, 1.0, bounds=(0.2, 2.0)),
        mg.DesignVariable("damping", damping, 0.5, bounds=(0.05, 2.0)),
    ]
    model = mg.Model("absorbers", bodies, joints, gravity=(0, 0, 0), forces=forces, variables=tuning)
    return mg.simulate(model, np.zeros(model.n_q), 250.0, rtol=1e-10, atol=1e-10)


def amplitude(k: int, speed: float) -> mg.AtEnd:
    """Squared amplitude of machine k, whose motion is a harmonic by the end."""
    measures = mg.measures.JointCoordinate(f"x{k}"), mg.measures.JointVelocity(f"x{k}")
    return mg.AtEnd(lambda x, v: x**2 + (v / speed) ** 2, *measures)


def response(tuning: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """The same in closed form, for stiffness and damping per mass of the absorber."""
    k, c = SHARE * tuning
    link = k + 1j * speed * c
    inner = link - SHARE * speed**2
    return np.abs(inner / ((1 + link - speed**2) * inner - link**2)) ** 2


def in_closed_form() -> np.ndarray:
    """The best tuning from the closed form: stiffness, damping, and the worst squared amplitude."""
    limits = {"type": "ineq", "fun": lambda z: z[2] - response(z[:2], SPEEDS)}
    best = minimize(lambda z: z[2], [0.7, 0.5, 9.0], constraints=[limits], method="SLSQP", options={"ftol": 1e-14})
    return np.asarray(best.x)


def main(output: Path, samples: int = 0) -> dict[str, float]:
    """Tune, report, draw."""
    worst = mg.design.WorstCase([amplitude(k, speed) for k, speed in enumerate(SPEEDS)])
    best = mg.DesignProblem(shaken(), ["stiffness", "damping"], worst).solve(tolerance=1e-10)
    print(best)
    stiffness, damping, amplitude_squared = in_closed_form()
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    ax = figure.subplots()
    curve = np.linspace(0.4, 1.6, 400)
    for label, tuning in (("before", np.array([1.0, 0.5])), ("best", best.x)):
        line = ax.plot(curve, np.sqrt(response(tuning, curve)), label=label)[0]
        ax.plot(SPEEDS, np.sqrt(response(tuning, SPEEDS)), "o", ms=4, color=line.get_color())
    ax.set(title="amplitude of the machine [m]", xlabel="shaken at [rad/s]")
    ax.legend(frameon=False)
    figure.savefig(output / "absorber.png", dpi=110)
    return {
        "tuning": float(np.abs(best.x - (stiffness, damping)).max()),
        "worst": float(abs(best.value - amplitude_squared)),
        "active": float(sum(side.active for side in best.constraints)),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path())
    print(main(parser.parse_args().output))
