"""Measures that points and vectors decide:  y = g(x_1, x_2, ...),  x_k positions of points, or vectors, in the world.

    y_q = sum g_k . x_k,q         y_p = sum g_k . x_k,p         (w y)_qq = w x_q^T g_xx x_q + sum (x_k,q^T (w g_k))_q

A new one names its markers as fields. If it is a row of `model.primitives.rows` it says which, in `row`: g and its
gradients g_k = dg/dx_k are those of the row, from the source of the kernels, and force laws, drivers and `assemble`
read it as well. Any other states `function` and `gradient`, complex-safe.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from mechgrad.kernels.in_numpy import in_numpy
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.kernels import measures as rows
from mechgrad.kinematics.marker_motions import contracted_hessian, marker_derivatives, marker_motion
from mechgrad.measures.base import Curvature, Measure, Partials, StateSamples
from mechgrad.measures.parameter_protocol import MotionParameters
from mechgrad.model.columns import BEFORE, BEHIND, MARKER, STEP, model_terms
from mechgrad.model.model import Model
from mechgrad.model.primitives.rows import Place, Row
from mechgrad.typing import Array, FloatArray

MOST_LISTS = 32  # that a model remembers


def moving(at: StateSamples, parameters: MotionParameters, markers: Sequence[str]) -> list[int]:
    """Positions of the parameters that move one of the markers directly."""
    known: dict[Hashable, list[int]] = at.model.cached("moving", lambda _: {})
    key = tuple(markers), parameters.names
    found = known.get(key)
    if found is None:
        found = _moving(at.model, parameters, markers)
        if len(known) >= MOST_LISTS:
            known.clear()
        known[key] = found
    return list(found)


def _moving(model: Model, parameters: MotionParameters, markers: Sequence[str]) -> list[int]:
    tree = tree_of(model)
    centres = any(name.endswith(".com") for name in markers)

    def moves(path: str) -> bool:
        return any(term.kind in (BEFORE, BEHIND, MARKER) for term in model_terms(model, tree, path, markers))

    idle = parameters.moves_nothing if centres else parameters.of_one_body
    return [k for k in parameters.in_model if not idle(k) and moves(parameters.names[k])]


@dataclass(frozen=True)
class GeometricMeasure(Measure, ABC):
    """One number g(x_1, x_2, ...) of the points and vectors that its fields name."""

    uses: ClassVar[str] = "q"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = cls.function is not GeometricMeasure.function and cls.gradient is not GeometricMeasure.gradient
        if not (own or hasattr(cls, "row") or ABC in cls.__bases__):
            raise TypeError(
                f"{cls.__name__} does not say what it measures. Give it `function` and `gradient`, or `row`, if it is "
                "one of the rows of constraints."
            )

    def function(self, *x: Array) -> Array:
        """g (nt,) of positions of points and of vectors, (nt, 3) each, in the order of the fields."""
        with np.errstate(divide="ignore", invalid="ignore"):  # the gradient may not be there: where points meet
            return self._of_row(x)[0]

    def gradient(self, *x: Array) -> tuple[Array, ...]:
        """dg/dx_k, (nt, 3) each; complex-safe, so that its own derivative is a complex step."""
        return self._of_row(x)[1]

    def _of_row(self, x: Sequence[Array]) -> tuple[Array, tuple[Array, ...]]:
        """Value and gradients of the row that it is, which reads vectors of length one."""
        named = [f.metadata["refers"] for f in fields(self) if f.metadata.get("refers") in ("point", "vector")]
        sizes = [length(part)[:, None] if kind == "vector" else 1.0 for part, kind in zip(x, named, strict=True)]
        units = [part / size for part, size in zip(x, sizes, strict=True)]
        row: Row = self.row(lambda name: Place(name, True, None))  # type: ignore[attr-defined]
        if row.profile is not None:
            raise TypeError(
                f"{type(self).__name__} is a row with a function, as constraints have; give it `function`, `gradient`."
            )
        zero, left, order = np.zeros(len(x[0])), list(self.markers), []
        for place in row.places:
            order.append(len(x) if place.body == "ground.origin" not in left else left.index(place.body))
            if order[-1] < len(x):
                left[order[-1]] = ""  # a name that stands twice is found twice
        units.append(np.zeros((len(zero), 3)))  # the world's origin
        placed = [tuple(units[k].T) for k in order] + [(zero, zero, zero)] * (4 - len(order))
        g, *parts = in_numpy(rows.gradient)(row.kind, row.radius, row.direction, *placed, (zero, zero, zero), zero)
        found = list(x)
        for k, part in zip(order, parts, strict=False):
            if k == len(x):
                continue
            slope = np.stack(np.broadcast_arrays(*part, zero)[:3], axis=1)
            if named[k] == "vector":
                slope = (slope - dot(units[k], slope)[:, None] * units[k]) / sizes[k]
            found[k] = slope
        return np.asarray(g), tuple(found)

    @property
    def markers(self) -> tuple[str, ...]:
        """Names of its points and vectors."""
        return tuple(getattr(self, f.name) for f in fields(self) if f.metadata.get("refers") in ("point", "vector"))

    def values(self, at: StateSamples) -> Array:
        return np.asarray(self.function(*self._placed(at)))

    def _placed(self, at: StateSamples) -> Array:
        """(markers, nt, 3)."""
        self.check_model(at.model, self.label)
        return np.moveaxis(marker_motion(at.model, self.markers, at.states.q).position, 1, 0)

    def depends_on(self, at: StateSamples, parameters: MotionParameters) -> Sequence[int]:
        return moving(at, parameters, self.markers)

    def partials(self, at: StateSamples, parameters: MotionParameters) -> Partials:
        g = np.stack(self.gradient(*self._placed(at)), axis=1)
        depends_on = self.depends_on(at, parameters)
        names, at_name = parameters.once(depends_on)
        D = marker_derivatives(at.model, self.markers, at.states.q, wrt=names)
        by_p = None
        if names:
            by_p = np.zeros((len(g), 1, len(parameters)))
            by_p[:, 0, depends_on] = np.einsum("tki,tkip->tp", g, D.x_p)[:, at_name]
        return Partials(q=np.einsum("tki,tkin->tn", g, D.x_q)[:, None, :], p=by_p)

    def curvature(self, at: StateSamples, parameters: MotionParameters, weights: FloatArray) -> Curvature:
        x, q = self._placed(at), at.states.q
        forces = weights[:, :, None] * np.stack(self.gradient(*x), axis=1)
        turning, _ = contracted_hessian(at.model, self.markers, q, forces)
        J = marker_derivatives(at.model, self.markers, q).x_q
        J = J.reshape(len(q), -1, at.model.n_v)
        return Curvature(qq=turning + J.swapaxes(1, 2) @ (weights[:, :, None] * self.hessian(*x)) @ J)

    def hessian(self, *x: Array) -> FloatArray:
        """Second derivatives of g by all components of all x, (nt, 3 k, 3 k): complex steps through the gradient."""
        nt, size = len(x[0]), 3 * len(x)
        H = np.empty((nt, size, size))
        for j in range(size):
            moved = [part + 0j for part in x]
            moved[j // 3][:, j % 3] += 1j * STEP
            H[:, :, j] = np.concatenate(self.gradient(*moved), axis=1).imag / STEP
        return H


def dot(a: Array, b: Array) -> Array:
    """a . b of rows of vectors, without conjugation."""
    return np.asarray(np.sum(a * b, axis=1))


def length(a: Array) -> Array:
    """|a| of rows of vectors, complex-safe."""
    return np.asarray(np.sqrt(dot(a, a)))
