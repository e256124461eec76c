"""Functions of the numbers of one sample, with first and second derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.optimization.motion.measures.base import STEP
from mechgrad.typing import Array


class Local(ABC):
    """A function of the m_in numbers of a sample: m_in -> m."""

    @abstractmethod
    def names(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        """Of its values."""

    @abstractmethod
    def patterns(self, m_in: int) -> tuple[Array, Array]:
        """Where f_z (m, m_in) and (y . f)_zz (m_in, m_in) can differ from zero."""

    @abstractmethod
    def values(self, z: Array, xi: Array) -> Array:
        """(nt, m)"""

    @abstractmethod
    def partials(self, z: Array, xi: Array) -> Array:
        """(nt, m, m_in)"""

    @abstractmethod
    def curvature(self, z: Array, xi: Array, y: Array) -> Array:
        """(nt, m_in, m_in) of y . f"""


@final
@dataclass(frozen=True, eq=False)
class Quadratic(Local):
    """(z - z0) . A (z - z0) for m symmetric matrices A (m, m_in, m_in) and places z0 (m, m_in): squared distances,
    products of components."""

    labels: tuple[str, ...]
    A: Array
    z0: Array

    def names(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return self.labels

    def patterns(self, m_in: int) -> tuple[Array, Array]:
        met = self.A != 0
        return np.any(met, axis=1), np.any(met, axis=0)

    def _slopes(self, z: Array) -> Array:
        return np.asarray(np.einsum("rij,trj->tri", self.A, z[:, None] - self.z0))

    def values(self, z: Array, xi: Array) -> Array:
        return np.asarray(np.einsum("tri,tri->tr", self._slopes(z), z[:, None] - self.z0))

    def partials(self, z: Array, xi: Array) -> Array:
        return np.asarray(2 * self._slopes(z))

    def curvature(self, z: Array, xi: Array, y: Array) -> Array:
        return np.asarray(2 * np.tensordot(y, self.A, axes=1))

    def among(self, rows: Array, m_in: int) -> Quadratic:
        """The same function of inputs that stand in these rows of m_in."""
        A, z0 = np.zeros((len(self.labels), m_in, m_in)), np.zeros((len(self.labels), m_in))
        A[:, rows[:, None], rows], z0[:, rows] = self.A, self.z0
        return Quadratic(self.labels, A, z0)


def quadratic(label: str, A: Array, z0: Array | float = 0.0) -> Quadratic:
    """One quadratic form."""
    return Quadratic((label,), A[None], np.broadcast_to(z0, (1, len(A))))


def squared_distance(label: str, place: Array | None = None, axis: Array | None = None) -> Quadratic:
    """|E (a - b)|^2 of two points, or of a point and a fixed place; E projects along an axis if there is one."""
    E = np.eye(3)
    if axis is not None:
        unit = axis / np.linalg.norm(axis)
        E = E - np.outer(unit, unit)
    return quadratic(label, np.block([[E, -E], [-E, E]])) if place is None else quadratic(label, E, place)


@final
@dataclass(frozen=True, eq=False)
class Difference(Local):
    """a - b of two inputs of m numbers each, of which some components are taken."""

    label: str
    components: tuple[int, ...]

    def names(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{self.label}.{'xyz'[c]}" for c in self.components)

    def _matrix(self, m_in: int) -> Array:
        out = np.zeros((len(self.components), m_in))
        for row, c in enumerate(self.components):
            out[row, c], out[row, m_in // 2 + c] = 1.0, -1.0
        return out

    def patterns(self, m_in: int) -> tuple[Array, Array]:
        return self._matrix(m_in) != 0, np.zeros((m_in, m_in), bool)

    def values(self, z: Array, xi: Array) -> Array:
        return np.asarray(z @ self._matrix(z.shape[1]).T)

    def partials(self, z: Array, xi: Array) -> Array:
        return np.broadcast_to(self._matrix(z.shape[1]), (len(z), len(self.components), z.shape[1]))

    def curvature(self, z: Array, xi: Array, y: Array) -> Array:
        return np.zeros((len(z), z.shape[1], z.shape[1]))


@final
@dataclass(frozen=True, eq=False)
class Products(Local):
    """a_i b_i of two inputs of m numbers each, or its smooth magnitude sqrt((a b)^2 + e^2) - e."""

    label: str
    smoothing: float | None = None

    def names(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{self.label} {name}" for name in inputs[: len(inputs) // 2])

    def patterns(self, m_in: int) -> tuple[Array, Array]:
        m = m_in // 2
        one, cross = np.eye(m, dtype=bool), np.eye(m, dtype=bool)
        diagonal = np.zeros_like(one) if self.smoothing is None else one
        return np.hstack([one, one]), np.block([[diagonal, cross], [cross, diagonal]])

    def _outer(self, x: Array) -> tuple[Array, Array, Array]:
        """Value and derivatives of the function of the product."""
        if self.smoothing is None:
            return x, np.ones_like(x), np.zeros_like(x)
        root = np.sqrt(x**2 + self.smoothing**2)
        return root - self.smoothing, x / root, self.smoothing**2 / root**3

    def values(self, z: Array, xi: Array) -> Array:
        m = z.shape[1] // 2
        return self._outer(z[:, :m] * z[:, m:])[0]

    def partials(self, z: Array, xi: Array) -> Array:
        m = z.shape[1] // 2
        a, b = z[:, :m], z[:, m:]
        d = self._outer(a * b)[1]
        out = np.zeros((len(z), m, 2 * m))
        i = np.arange(m)
        out[:, i, i], out[:, i, m + i] = d * b, d * a
        return out

    def curvature(self, z: Array, xi: Array, y: Array) -> Array:
        m = z.shape[1] // 2
        a, b = z[:, :m], z[:, m:]
        _, d, dd = self._outer(a * b)
        out = np.zeros((len(z), 2 * m, 2 * m))
        i = np.arange(m)
        out[:, i, i], out[:, m + i, m + i] = y * dd * b * b, y * dd * a * a
        cross = y * (d + dd * a * b)
        out[:, i, m + i] = out[:, m + i, i] = cross
        return out


@final
class UserFunction(Local):
    """A function of arrays: called with one array (nt, m_k) per input it returns (nt, m) or (nt,).

    It must be analytic in its inputs and accept complex arrays (no abs, max, or comparison): partials are a complex
    step, second derivatives fourth-order differences of those. With `xi=True` it is also given xi.
    """

    def __init__(
        self, function: Callable[..., Any], sizes: Sequence[int], label: str = "user", xi: bool = False
    ) -> None:
        self.function, self.sizes, self.label, self.wants_xi = function, tuple(sizes), label, xi
        rng = np.random.default_rng(1)
        trial = self._call(rng.uniform(0.1, 0.9, (2, sum(self.sizes))), np.array([0.3, 0.6]))
        self.m = trial.shape[1]

    def _call(self, z: Array, xi: Array) -> Array:
        parts = np.split(z, np.cumsum(self.sizes)[:-1], axis=1)
        out = np.asarray(self.function(*parts, xi) if self.wants_xi else self.function(*parts))
        out = out[:, None] if out.ndim == 1 else out
        if out.ndim != 2 or len(out) != len(z):
            raise InputError(
                f"{self.label!r} returned shape {out.shape} for {len(z)} samples; it must return ({len(z)},) or "
                f"({len(z)}, m): one row per sample."
            )
        if np.iscomplexobj(z) and not np.iscomplexobj(out) and np.any(z.imag):
            raise InputError(
                f"{self.label!r} drops the imaginary part of its inputs (np.abs, float()?); its "
                "derivatives are taken by a complex step. Write it with analytic functions, e.g. "
                "np.sqrt(x**2 + e**2) for |x|."
            )
        return out

    def names(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return (self.label,) if self.m == 1 else tuple(f"{self.label}[{k}]" for k in range(self.m))

    def patterns(self, m_in: int) -> tuple[Array, Array]:
        """Everything may depend on everything that shows at random points."""
        rng = np.random.default_rng(2)
        z, xi = rng.uniform(-0.9, 0.9, (5, m_in)), rng.uniform(0, 1, 5)
        first, second = self.partials(z, xi), self.curvature(z, xi, rng.uniform(0.5, 1.0, (5, self.m)))
        if not np.all(np.isfinite(first)) or not np.all(np.isfinite(second)):  # not defined there: it may depend on all
            return np.ones(first.shape[1:], bool), np.ones(second.shape[1:], bool)
        f_z, f_zz = np.any(first != 0, axis=0), np.abs(second)
        return f_z, np.any(f_zz > 1e-8 * max(1.0, float(np.max(f_zz, initial=0.0))), axis=0)

    def values(self, z: Array, xi: Array) -> Array:
        return np.asarray(self._call(z, xi), float)

    def partials(self, z: Array, xi: Array) -> Array:
        out = np.zeros((len(z), self.m, z.shape[1]))
        for i in range(z.shape[1]):
            stepped = z.astype(complex)
            stepped[:, i] += 1j * STEP
            out[:, :, i] = self._call(stepped, xi).imag / STEP
        return out

    def curvature(self, z: Array, xi: Array, y: Array) -> Array:
        out = np.zeros((len(z), z.shape[1], z.shape[1]))
        for i in range(z.shape[1]):
            h = 2e-3 * np.maximum(np.abs(z[:, i]), 1e-1)
            ends = []
            for step in (2, 1, -1, -2):
                moved = z.copy()
                moved[:, i] += step * h
                ends.append(np.einsum("tr,tri->ti", y, self.partials(moved, xi)))
            out[:, i] = (8 * (ends[1] - ends[2]) - (ends[0] - ends[3])) / (12 * h[:, None])
        return (out + out.swapaxes(1, 2)) / 2
