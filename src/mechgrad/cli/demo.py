"""The demonstration: differentiate the torques of a human with 43 joints; check, time and draw the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import mechgrad as mg
from mechgrad.gallery import human, human_motion
from mechgrad.sensitivities import ModelCertificate, certify_model
from mechgrad.typing import Array
from mechgrad.visualization import plot_demo, save_scene

__all__ = ["LIMIT", "PARAMETERS", "DemoResult", "run_demo"]

LIMIT = 1e-10
"""Largest relative error the demonstration accepts. Both sides are exact up to rounding: 1e-14 is usual."""

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
    certificate : ModelCertificate
        The derivatives by coordinates, velocities, accelerations and PARAMETERS against the complex step.
    picture, animation : Path or None
        Where the plot and the animation were written.
    """

    samples: int
    dof: int
    seconds_torques: float
    seconds_derivatives: float
    certificate: ModelCertificate
    picture: Path | None
    animation: Path | None

    @property
    def errors(self) -> dict[str, float]:
        """Largest relative error of each family of derivatives, "by coordinates" and so on."""
        return {c.title.removeprefix("inverse dynamics "): c.worst.error for c in self.certificate}

    @property
    def worst(self) -> float:
        """The largest relative error of all families; NaN if any is."""
        return float(np.max(list(self.errors.values())))

    @property
    def passed(self) -> bool:
        """Whether every family agrees, none of them because everything is zero there."""
        return all(c.passed for c in self.certificate)

    @property
    def verdict(self) -> str:
        """What the certificate says."""
        return self.certificate.verdict


class HumanMotion(NamedTuple):
    """What is drawn of a motion that was prescribed: the model, instants, coordinates and velocities."""

    model: mg.Model
    t: Array
    q: Array
    v: Array


def run_demo(
    output: str | Path | None = None,
    animation: str | Path | None = None,
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
    animation : path, optional
        File for the animation (.html); none is written without it.
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
    # Against the complex step alone, which is exact: differences would take most of the time and add nothing.
    certificate = certify_model(
        model, q=q[picks], v=v[picks], a=a[picks], wrt=PARAMETERS, families=["inverse dynamics"], steps=(),
        tolerance=LIMIT,
    )  # fmt: skip

    picture = None
    if output is not None:
        say("drawing")
        picture = _draw(model, t, D, Path(output))
    page = None
    if animation is not None:
        say("animating")
        page = save_scene(HumanMotion(model, t, q, v), animation, arrows=("velocities",))
    return DemoResult(samples, model.n_v, seconds_torques, seconds_derivatives, certificate, picture, page)


def _best(repeats: int, call: Callable[[], object]) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _draw(model: mg.Model, t: Array, D: mg.results.InverseDynamicsDerivatives, output: Path) -> Path:
    dense = {"dq": D.dq.dense(), "dv": D.dv.dense(), "da": D.da.dense()}
    return plot_demo(
        t,
        {label: D.tau[:, joint - 1] for label, joint in TORQUES.items()},
        {label: dense[family][:, i - 1, j - 1] for label, (family, i, j) in CURVES.items()},
        output,
        title=f"Torques of a human with {model.n_v} joints, and three of their sensitivities",
    )
