"""One way in which small motions go: an eigenvalue with its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.model import Model
from mechgrad.typing import Array, ArrayLike, FloatArray

NAMED = 0.8  # share of the participation that the coordinates in a mode's name have
SHOWN = 3  # coordinates that a mode's name has at most


@final
@dataclass(frozen=True, eq=False, repr=False)
class Mode:
    """Small motions of one eigenvalue lam, or of a pair of complex ones: x = Re(shape exp(lam t)).

    Attributes
    ----------
    eigenvalue : complex [1/s]
        Of a pair the one with positive imaginary part.
    shape : (n_states,) complex
        In the states of the linearisation; its largest displacement is 1.
    displacement : (n_v,) complex
        The same in all coordinates of the tree, those that follow included; balls: small rotations in parent axes.
    participation : dict
        Share of every independent coordinate (with its rate) in the mode, 1 in all: |left| |right|. It does not depend
        on units.

    >>> lin = mg.linearise(pendulum, {"pin": 0.0})
    >>> lin.modes[0]
    Mode(+0.000000 ± 3.132092i 1/s: 0.4985 Hz, damping ratio 0.0000; pin)
    """

    model: Model
    q: FloatArray
    eigenvalue: complex
    shape: Array
    displacement: Array
    participation: dict[str, float]

    @property
    def name(self) -> str:
        """The coordinates that take part most."""
        ordered = sorted(self.participation.items(), key=lambda x: -x[1])
        total, names = 0.0, []
        for name, share in ordered[:SHOWN]:
            if total >= NAMED:
                break
            total += share
            names.append(name)
        return ", ".join(names)

    @property
    def oscillates(self) -> bool:
        """Whether it stands for a pair of complex eigenvalues."""
        return self.eigenvalue.imag != 0.0

    @property
    def frequency(self) -> float:
        """|lam| / 2 pi [Hz], of the undamped oscillation; 0 where nothing oscillates."""
        return abs(self.eigenvalue) / (2 * np.pi) if self.oscillates else 0.0

    @property
    def damped_frequency(self) -> float:
        """Im(lam) / 2 pi [Hz]: how often it swings."""
        return self.eigenvalue.imag / (2 * np.pi)

    @property
    def damping_ratio(self) -> float:
        """-Re(lam) / |lam|: 0 undamped, 1 without oscillation, negative where it grows."""
        size = abs(self.eigenvalue)
        return -self.eigenvalue.real / size if size else 0.0

    @property
    def time_constant(self) -> float:
        """1 / |Re(lam)| [s]: until it has fallen, or grown, by e; infinite where it does neither."""
        real = abs(self.eigenvalue.real)
        return 1.0 / real if real else float("inf")

    def motion(self, t: ArrayLike, amplitude: float = 0.1, phase: float = 0.0) -> FloatArray:
        """q (nt, n_q) at instants t (nt,) [s], about the state where it stands, to be drawn.

            q(t) = q0 moved by  amplitude Re(displacement exp(lam t + i phase)) / max |displacement|

        The state stands still here even if it moves (a bicycle at speed), and closed loops hold to first order in the
        amplitude [rad or m].

        >>> lin = mg.linearise(pendulum, {"pin": 0.0})
        >>> lin.modes[0].motion(np.linspace(0.0, 2.0, 5)).shape
        (5, 1)
        """
        times = np.atleast_1d(np.asarray(t, float))
        if times.ndim != 1 or not np.isfinite(times).all() or not np.isfinite([amplitude, phase]).all():
            raise InputError(f"t has shape {np.shape(t)}; give finite instants (nt,), and finite numbers beside.")
        size = np.abs(self.displacement).max(initial=0.0)
        if not size > 0.0:
            raise InputError(f"mode {self.name!r} displaces nothing: only rates take part, there is no motion to draw.")
        swing = np.exp(self.eigenvalue * times + 1j * phase)[:, None] * self.displacement / size
        return np.asarray(self.model.integrate(self.q, amplitude * swing.real))

    @property
    def value_in_words(self) -> str:
        """Its eigenvalue or pair of eigenvalues: '-0.775342 ± 4.464868i'."""
        real = f"{rounded(self.eigenvalue.real, 6):+.6f}"
        return f"{real} ± {self.eigenvalue.imag:.6f}i" if self.oscillates else real

    def __repr__(self) -> str:
        how = f"time constant {self.time_constant:.4g} s"
        if self.oscillates:
            how = f"{self.frequency:.4f} Hz, damping ratio {rounded(self.damping_ratio, 4):.4f}"
        return f"Mode({self.value_in_words} 1/s: {how}; {self.name})"


def rounded(x: float, digits: int) -> float:
    """To so many digits, without a sign of zero."""
    return round(x, digits) + 0.0


def participations(names: list[str], left: Array, right: Array) -> dict[str, float]:
    """Shares of coordinates; names: of each state the coordinate that it belongs to."""
    size = np.abs(left) * np.abs(right)
    total = float(size.sum()) or 1.0
    found = dict.fromkeys(names, 0.0)
    for name, x in zip(names, size, strict=True):
        found[name] += float(x) / total
    return {name: x for name, x in found.items() if x > 0.0}
