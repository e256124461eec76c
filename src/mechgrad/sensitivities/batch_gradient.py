"""What gradients of several motions are together: each of them, sums, maxima, certificates.

psi = sum_i w_i psi_i,   dpsi/dp = sum_i w_i dpsi_i/dp        `BatchGradient.sum`
psi = max_i psi_i,       dpsi/dp = dpsi_j/dp of the motion j that attains it        `BatchGradient.max`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError, unknown_name
from mechgrad.sensitivities.batch_certificate import BatchCertificate
from mechgrad.sensitivities.single_gradient import Gradient
from mechgrad.simulation.ensemble import about
from mechgrad.typing import FloatArray

TIE = 1e-12  # of the largest value: motions that attain the maximum within rounding share it
MOST_LINES, MOST_COLUMNS = 40, 6  # of a printed table


@final
@dataclass(frozen=True, eq=False)
class CombinedGradient:
    """A sum over several motions, or the largest of their values, with its derivatives.

    Attributes
    ----------
    values : (no,) of each objective
    array : (no, np) their derivatives
    objectives, parameters : names of rows and columns
    how : what was done, in words
    attained_by : of a maximum, for each objective the names of the motions that attain it; no names of a sum
    note : where a maximum has a kink: several motions attain it
    """

    values: FloatArray
    array: FloatArray
    objectives: tuple[str, ...]
    parameters: tuple[str, ...]
    how: str
    attained_by: tuple[tuple[str, ...], ...] = ()
    note: str = ""

    def __repr__(self) -> str:
        return f"CombinedGradient: {self.how}. Next: print(g), .values, .array, .attained_by, .note"

    def __str__(self) -> str:
        width = max(map(len, self.parameters))
        lines = [self.how, f"{'':{width}}  " + "  ".join(f"{name:>14}" for name in self.objectives)]
        lines += [f"{'value':{width}}  " + "  ".join(f"{x:14.7g}" for x in self.values)]
        lines += [
            f"{name:{width}}  " + "  ".join(f"{x:14.7g}" for x in column)
            for name, column in zip(self.parameters, self.array.T, strict=True)
        ]
        return "\n".join([*lines, self.note] if self.note else lines)


@final
@dataclass(frozen=True, eq=False)
class BatchGradient:
    """Gradients of several motions: g["name"] or g[k] is the `Gradient` of one, `g.sum()` and `g.max()` are of all.

    Attributes
    ----------
    names : of the motions: keys of the mapping, or "0", "1", ...; rows of a batch "name[0]", "name[1]", ...
    each : the Gradient of each motion

    >>> swings = [mg.simulate(model, [angle], duration=1.0, step=0.01) for angle in (0.5, 0.7)]
    >>> g = mg.gradient(swings, mg.AtEnd(mg.measures.JointVelocity("pin")), ["bob.com.z", "gravity.z"])
    >>> g.values.shape, g.array.shape, bool((g[1].array == g.array[1]).all())  # motions, objectives, parameters
    ((2, 1), (2, 1, 2), True)
    >>> total, worst = g.sum(weights=[0.5, 0.5]), g.max()
    >>> total.array.shape, worst.attained_by
    ((1, 2), (('0',),))
    >>> g
    BatchGradient of 2 motions: 1 objective by 2 parameters (adjoint); held at the start: all coordinates and ...
    """

    names: tuple[str, ...]
    each: tuple[Gradient, ...]

    @property
    def values(self) -> FloatArray:
        """Objectives of all motions, (nm, no)."""
        return np.stack([g.values for g in self.each])

    @property
    def array(self) -> FloatArray:
        """Their derivatives, (nm, no, np)."""
        return np.stack([g.array for g in self.each])

    @property
    def shape(self) -> tuple[int, ...]:
        """(nm, no, np)."""
        return (len(self.each), *self.each[0].shape)

    @property
    def objectives(self) -> tuple[str, ...]:
        """Names of the objectives."""
        return self.each[0].objectives

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.each[0].parameters

    @property
    def parameter_values(self) -> FloatArray:
        """What they are in each motion, (nm, np)."""
        return np.stack([g.parameter_values for g in self.each])

    @property
    def method(self) -> str:
        """How they were computed, all in the same way."""
        return self.each[0].method

    @property
    def choice(self) -> str:
        """Why, if the choice was left to `gradient`."""
        return self.each[0].choice

    @property
    def held(self) -> str:
        """What stays at the starts when parameters change."""
        return _once(self.names, [g.held for g in self.each])

    @property
    def note(self) -> str:
        """How accurate they are, and what else a reader should know."""
        return _once(self.names, [g.note for g in self.each])

    def __getitem__(self, which: str | int) -> Gradient:
        """The gradient of one motion, by its name or position."""
        if isinstance(which, str):
            if which not in self.names:
                raise unknown_name("motion", which, self.names, "the gradients")
            return self.each[self.names.index(which)]
        return self.each[which]

    def __len__(self) -> int:
        return len(self.each)

    def __iter__(self) -> Iterator[Gradient]:
        return iter(self.each)

    def sum(
        self, weights: Sequence[float] | Mapping[str, float] | FloatArray | None = None, *, objective: str | None = None
    ) -> CombinedGradient:
        """The weighted sum over motions, of each objective or of one:  psi = sum_i w_i psi_i.

        weights : one number per motion, or a mapping from their names; all 1 if left out
        """
        w, rows = self._weights(weights), self._rows(objective)
        how = f"sum over {len(self)} motions" + ("" if weights is None else ", weighted")
        return CombinedGradient(
            np.einsum("i,ij->j", w, self.values[:, rows]), np.einsum("i,ijk->jk", w, self.array[:, rows]),
            self._labels(rows), self.parameters, how,
        )  # fmt: skip

    def max(self, *, objective: str | None = None) -> CombinedGradient:
        """The largest value among motions, of each objective or of one, and the gradient of the motion that has it.

        Where several attain it (to rounding), the maximum has a kink: `attained_by` and `note` name them, and the
        gradient is that of the first, one of the directions that the kink has.
        """
        rows = self._rows(objective)
        values = self.values[:, rows]
        top = values.max(axis=0)
        attained = [np.flatnonzero(top[j] - values[:, j] <= TIE * np.abs(values[:, j]).max()) for j in range(len(rows))]
        first = [int(np.argmax(values[:, j])) for j in range(len(rows))]
        array = np.stack([self.each[i].array[row] for i, row in zip(first, rows, strict=True)])
        by = tuple(tuple(self.names[i] for i in some) for some in attained)
        labels = self._labels(rows)
        ties = [
            f"{label}: {', '.join(map(repr, some))} have the same value, where the maximum has a kink; the gradient is "
            f"that of {self.names[i]!r}."
            for label, some, i in zip(labels, by, first, strict=True)
            if len(some) > 1
        ]
        how = f"largest of {len(self)} motions: " + ", ".join(
            f"{label} of {self.names[i]!r}" for label, i in zip(labels, first, strict=True)
        )
        return CombinedGradient(top, array, labels, self.parameters, how, by, " ".join(ties))

    def relative(self) -> FloatArray:
        """Relative sensitivities (nm, no, np): per cent of the objective per per cent of the parameter."""
        return np.stack([g.relative() for g in self.each])

    def certify(self, *, tolerance: float = 1e-7, steps: Sequence[float] = ()) -> BatchCertificate:
        """A verdict on the gradient of every motion, one after the other, as `Gradient.certify` finds it."""
        return BatchCertificate(
            self.names, tuple(_named(name, g, tolerance, steps) for name, g in zip(self.names, self.each, strict=True))
        )

    def _rows(self, objective: str | None) -> list[int]:
        if objective is None:
            return list(range(len(self.objectives)))
        if objective not in self.objectives:
            raise unknown_name("objective", str(objective), self.objectives, "the gradients")
        return [self.objectives.index(objective)]

    def _labels(self, rows: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.objectives[row] for row in rows)

    def _weights(self, weights: Any) -> FloatArray:
        if weights is None:
            return np.ones(len(self))
        if isinstance(weights, Mapping):
            for name in weights:
                if name not in self.names:
                    raise unknown_name("motion", str(name), self.names, "weights")
            if missing := [name for name in self.names if name not in weights]:
                raise InputError(
                    f"weights has no number for motion {missing[0]!r}; give one for each (0 leaves it out)."
                )
            weights = [weights[name] for name in self.names]
        w = np.asarray(weights)
        if w.shape != (len(self),) or w.dtype.kind not in "fiu" or not np.isfinite(w).all():
            raise InputError(
                f"weights is {weights!r}; give {len(self)} finite numbers, one per motion, or a mapping from names."
            )
        return w.astype(float)

    def __repr__(self) -> str:
        counts = [
            f"{count} {noun}{'' if count == 1 else 's'}"
            for count, noun in zip(self.shape, ("motion", "objective", "parameter"), strict=True)
        ]
        held = self.held.splitlines()
        said = held[0] if len(held) == 1 else "what is held differs (.held)."
        return (
            f"BatchGradient of {counts[0]}: {counts[1]} by {counts[2]} ({self.method}); {said} Next: print(g), "
            f".values, .array, g[{self.names[0]!r}], .sum(), .max(), .relative(), .certify()"
        )

    def __str__(self) -> str:
        shown = range(min(len(self.parameters), MOST_COLUMNS))
        heads = ["motion", "objective", "value", *(self.parameters[k] for k in shown)]
        cells = [
            [name, label, f"{g.values[i]:.7g}", *(f"{g.array[i, k]:.7g}" for k in shown)]
            for name, g in zip(self.names, self.each, strict=True)
            for i, label in enumerate(self.objectives)
        ]
        hidden = len(cells) - MOST_LINES
        table = [heads, *cells[:MOST_LINES]]
        widths = [max(len(line[k]) for line in table) for k in range(len(heads))]
        lines = [
            "  ".join(x.ljust(w) if k < 2 else x.rjust(w) for k, (x, w) in enumerate(zip(line, widths, strict=True)))
            for line in table
        ]
        if hidden > 0:
            lines.append(f"... and {hidden} lines more (.values, .array)")
        if len(self.parameters) > MOST_COLUMNS:
            lines.append(f"... and {len(self.parameters) - MOST_COLUMNS} parameters more (.array; print(g[0]))")
        return "\n".join([*lines, self.choice, self.held, *([self.note] if self.note else [])])


def _named(name: str, g: Gradient, tolerance: float, steps: Sequence[float]) -> Any:
    try:
        return g.certify(tolerance=tolerance, steps=steps)
    except Exception as error:
        raise about(f"motion {name!r}", error) from None


def _once(names: Sequence[str], texts: Sequence[str]) -> str:
    """A text that all motions share; else each with the names of those it is about."""
    groups: dict[str, list[str]] = {}
    for name, text in zip(names, texts, strict=True):
        groups.setdefault(text, []).append(name)
    if len(groups) == 1:
        return texts[0]
    return "\n".join(f"{', '.join(some)}: {text}" for text, some in groups.items() if text)
