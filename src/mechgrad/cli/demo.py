"""The demonstration: differentiate the torques of a human with 43 joints; check, time and draw the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mechgrad as mg
from mechgrad.gallery import human, human_motion
from mechgrad.typing import Array
from mechgrad.visualization import plot_demo

__all__ = ["LIMIT", "PARAMETERS", "DemoResult", "run_demo"]

LIMIT = 1e-10
"""Largest relative error the demonstration accepts. Both sides are exact up to rounding: 1e-14 is usual."""

STEP = 1e-30
"""Imaginary step, so small that its square vanishes from every real part: no truncation error is left."""

PARAMETERS = ("thigh_right.mass", "dh.9.a", "dh.27.alpha")
"""A mass, a length (right thigh) and an angle (right elbow) whose derivatives are checked."""

CURVES = {
    r"$\partial Q_{20} / \partial q_{5}$ [N m/rad]": ("dq", 20, 5),
    r"$\partial Q_{30} / \partial \dot q_{25}$ [N m s/rad]": ("dv", 30, 25),
    r"$\partial Q_{42} / \partial \ddot q_{22}$ [N m s²/rad]": ("da", 42, 22),
}
"""Sensitivities shown in the literature on this model; joints numbered from 1."""

TORQUES = {"$Q_9$ right hip": 9, "$Q_{10}$ right knee": 10, "$Q_{22}$ spine": 22, "$Q_{42}$ neck": 42}


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demonstration measured.

    Attributes
    ----------
    samples, dof : int
        Size of the motion and of the model.
    seconds_torques, seconds_derivatives : float
        Best time for the whole motion, one thread, into arrays that are reused [s].
    errors : mapping from str to float
        Largest relative error of each family of derivatives against the complex step.
    influence : mapping from str to float
        The smallest magnitude that an error was measured against, in the family's unit: a check of zeros against zeros
        would prove nothing.
    picture : Path or None
        Where the plot was written.
    """

    samples: int
    dof: int
    seconds_torques: float
    seconds_derivatives: float
    errors: Mapping[str, float]
    influence: Mapping[str, float]
    picture: Path | None

    @property
    def worst(self) -> float:
        """The largest relative error of all families; NaN if any is."""
        return float(np.max(list(self.errors.values())))

    @property
    def passed(self) -> bool:
        """Whether every family was checked at a magnitude that is not zero, and agrees to LIMIT."""
        return self.worst <= LIMIT and all(size > 0.0 for size in self.influence.values())


def run_demo(
    output: str | Path | None = None,
    *,
    samples: int = 301,
    repeats: int = 50,
    checked_samples: int = 5,
    say: Callable[[str], None] = lambda message: None,
) -> DemoResult:
    """Build the human, sweep its motion, time, check and draw.

    Parameters
    ----------
    output : path, optional
        File for the plot; none is drawn without it.
    samples : int
        Samples of the motion, over 3 s.
    repeats : int
        Timings are the best of so many runs.
    checked_samples : int
        How many samples, spread over the motion, are checked against the complex step.
    say : callable
        Receives one line before each stage.
    """
    model = human()
    t, q, v, a = human_motion(samples)

    say(f"timing {samples} samples, best of {repeats}")
    # Into arrays that are there already, as in an optimisation: fresh ones (5 MB) mostly time the operating system.
    tau = mg.inverse_dynamics(model, q, v, a)
    D = mg.inverse_dynamics_derivatives(model, q, v, a)
    seconds_torques = _best(repeats, lambda: mg.inverse_dynamics(model, q, v, a, out=tau))
    seconds_derivatives = _best(repeats, lambda: mg.inverse_dynamics_derivatives(model, q, v, a, out=D))

    say(f"checking {checked_samples} samples against the complex step")
    # Irregular fractions of the motion: at the quarters of a period whole matrices vanish.
    picks = ((np.arange(checked_samples) + 0.37) / checked_samples * (samples - 1)).astype(int)
    errors, influence = _check(model, q[picks], v[picks], a[picks])

    picture = None
    if output is not None:
        say("drawing")
        picture = _draw(model, t, D, Path(output))
    return DemoResult(samples, model.n_v, seconds_torques, seconds_derivatives, errors, influence, picture)


def _best(repeats: int, call: Callable[[], object]) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _check(model: mg.Model, q: Array, v: Array, a: Array) -> tuple[dict[str, float], dict[str, float]]:
    """Largest relative error, and the smallest magnitude it was taken relative to, of every family."""
    D = mg.inverse_dynamics_derivatives(model, q, v, a, wrt=PARAMETERS)
    # A matrix by the state is judged as a whole; parameters have different units, so each column is judged on its own.
    whole, column = (1, 2), (1,)
    families = {
        "by coordinates": (D.dq, _by_state(model, q, v, a, 0), whole),
        "by velocities": (D.dv, _by_state(model, q, v, a, 1), whole),
        "by accelerations": (D.da, _by_state(model, q, v, a, 2), whole),
        "by parameters": (D.dp, _by_parameters(model, q, v, a), column),
    }
    errors, influence = {}, {}
    for family, (ours, exact, axes) in families.items():
        difference = np.abs(ours.dense() - exact).max(axis=axes)
        size = np.abs(exact).max(axis=axes)
        errors[family] = float(np.max(difference / np.where(size > 0.0, size, 1.0)))
        influence[family] = float(size.min())
    return errors, influence


def _by_state(model: mg.Model, q: Array, v: Array, a: Array, which: int) -> Array:
    """d tau / d (q, v or a) by complex step, shape (nt, n_v, n_v): all directions of a sample are one batch."""
    n = model.n_v
    steps = 1j * STEP * np.eye(n)
    jacobians = []
    for k in range(len(q)):
        state = [np.tile(x[k] + 0j, (n, 1)) for x in (q, v, a)]
        state[which] = model.integrate(state[0], steps) if which == 0 else state[which] + steps
        jacobians.append(mg.inverse_dynamics(model, *state).imag.T / STEP)
    return np.stack(jacobians)


def _by_parameters(model: mg.Model, q: Array, v: Array, a: Array) -> Array:
    """d tau / d PARAMETERS by complex step, shape (nt, n_v, n_p)."""
    columns = []
    for path in PARAMETERS:
        stepped = model.with_values({path: model.value(path) + 1j * STEP})
        columns.append(mg.inverse_dynamics(stepped, q, v, a).imag / STEP)
    return np.stack(columns, axis=-1)


def _draw(model: mg.Model, t: Array, D: mg.InverseDynamicsDerivatives, output: Path) -> Path:
    dense = {"dq": D.dq.dense(), "dv": D.dv.dense(), "da": D.da.dense()}
    return plot_demo(
        t,
        {label: D.tau[:, joint - 1] for label, joint in TORQUES.items()},
        {label: dense[family][:, i - 1, j - 1] for label, (family, i, j) in CURVES.items()},
        output,
        title=f"Torques of a human with {model.n_v} joints, and three of their sensitivities",
    )
