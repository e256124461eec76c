"""Operations of kernels, counted: passes of a step, and of batches, run in Python on numbers that count what is done.

    python benchmarks/operations.py

What is compiled is what is counted: `kernels.in_numpy` runs the source of a pass on anything that can be added and
multiplied. An operation is a sum, a product or a quotient of two numbers (a fused one counts as two); sines and roots
stand apart. Elimination of a dense matrix of s unknowns is counted as 2 s^3 / 3, a solution as 2 s^2. A step is one
Newton iteration and both projections, as in regular positions of small mechanisms. The last line is one JSON object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from common import Report, machine

import mechgrad as mg
from mechgrad.dynamics.kernels import system as step
from mechgrad.dynamics.system import System
from mechgrad.inverse.kernels import inward, tree_torques, wrenches
from mechgrad.kernels import elementary, lanes
from mechgrad.kernels.in_numpy import ELEMENTARY, in_numpy
from mechgrad.kinematics.batch import tree_of
from mechgrad.kinematics.kernels import outward

DONE: Counter[str] = Counter()


class Counting:
    """A number that notes what is done with it."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float) -> None:
        self.value = value

    def __add__(self, other: Any) -> Counting:
        return noted("sum", self.value + plain(other))

    def __sub__(self, other: Any) -> Counting:
        return noted("sum", self.value - plain(other))

    def __rsub__(self, other: Any) -> Counting:
        return noted("sum", plain(other) - self.value)

    def __mul__(self, other: Any) -> Counting:
        return noted("product", self.value * plain(other))

    def __truediv__(self, other: Any) -> Counting:
        return noted("quotient", self.value / plain(other))

    def __rtruediv__(self, other: Any) -> Counting:
        return noted("quotient", plain(other) / self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == plain(other))

    def __neg__(self) -> Counting:
        return Counting(-self.value)

    def __abs__(self) -> Counting:
        return Counting(abs(self.value))

    @property
    def real(self) -> float:
        """Of a number without an imaginary part."""
        return self.value

    __radd__, __rmul__ = __add__, __mul__


def plain(x: Any) -> Any:
    """The number itself."""
    return x.value if isinstance(x, Counting) else x


def noted(what: str, value: float) -> Counting:
    """The result of an operation."""
    DONE[what] += 1
    return Counting(value)


def _load(slots: Any, k: int, _: Any) -> Counting:
    x = slots[k]
    return x if isinstance(x, Counting) else Counting(float(x))


ELEMENTARY.update({
    elementary.sincos: lambda x: (noted("sine", np.sin(x.value)), Counting(np.cos(x.value))),
    elementary.square_root: lambda x: noted("root", np.sqrt(x.value)),
    elementary.reciprocal: lambda x: noted("quotient", 1.0 / x.value),
    elementary.magnitude: abs,
    lanes.load: _load,
    lanes.any_not_less: lambda x, bound: not plain(x) < bound,
    lanes.width: lambda _: 1,
})  # fmt: skip


def counting(x: Any) -> np.ndarray:
    """The same array, of numbers that count."""
    found = np.empty(np.shape(x), object)
    found.flat = [Counting(float(value)) for value in np.ravel(x)]
    return found


def nothing(size: int) -> np.ndarray:
    """So many zeros that count."""
    return counting(np.zeros(size))


def operations(compiled: Callable[..., Any], *arguments: Any) -> int:
    """Sums, products and quotients of a pass."""
    DONE.clear()
    in_numpy(compiled)(*arguments)
    return DONE["sum"] + DONE["product"] + DONE["quotient"]


def of_a_step(model: mg.Model, start: np.ndarray) -> dict[str, int]:
    """Of the passes of an implicit step with multipliers."""
    T, zero, rng = System(model).T, Counting(0.0), np.random.default_rng(1)
    work = step.make_work(T)
    slots = {name: counting(x) for name, x in work._asdict().items() if x.dtype == float}
    work = work._replace(**slots)
    sizes = {name: int(T.ints[at]) for name, at in type(T).header().items()}
    mechanism = SimpleNamespace(**T._asdict(), **sizes)
    n, m, rows = model.n_v, mechanism.n_constraints, mechanism.n_rows
    q, v, a = counting(start), counting(rng.normal(size=n)), counting(rng.normal(size=n))
    in_numpy(step.begin)(mechanism, work, zero)
    here = (T.atoms_i, T.atoms_f, q, v, a, work.frames, work.twists, zero)
    found = {"frames": 2 * operations(outward.outward, *here)}
    found["frames"] += operations(outward.outward_again, T.atoms_i, v, a, work.frames, work.twists, zero)
    markers = T.markers_i, T.markers_f, work.frames, work.motion, zero
    found["markers"] = 3 * operations(step.marker_motion_block, *markers)
    place = mechanism, work, q, v, a, zero, 0
    found["rows and laws"] = operations(step.place_rows_of, *place, rows, zero) + 2 * operations(
        step.place_rows_of, *place, m, zero
    )
    found["rows and laws"] += operations(step.forces, mechanism, work, zero, zero)
    found["rows and laws"] += 2 * operations(step.row_jacobian, mechanism, work, None, 0, m, zero)
    for k in range(m):
        work.y[k] = Counting(rng.normal())
    into = [nothing(size) for size in (n, n * n, n * n, n * n)]
    found["linearisation"] = operations(step.linearise, mechanism, work, None, *into, zero)
    found["elimination"] = 2 * round(2 * (n + m) ** 3 / 3)
    found["solutions"] = 5 * 2 * (n + m) ** 2
    return found


def of_a_sample(model: mg.Model) -> dict[str, int]:
    """Of torques, and of their derivatives, of one sample."""
    tree, zero, rng = tree_of(model), Counting(0.0), np.random.default_rng(1)
    atoms, n = tree.atoms_i.shape[0], model.n_v
    frames, twists = nothing((atoms + 1) * outward.FRAME), nothing(n * outward.TWIST)
    loads, inertia = nothing(atoms * wrenches.WRENCH), nothing(atoms * wrenches.INERTIA_FLOW)
    rates, duals, r = nothing(n * outward.RATES), nothing(n * inward.DUALS), nothing(n)
    in_numpy(outward.place_world)(frames, atoms, 0.0, 0.0, -9.81, zero)
    q, v, a = (counting(rng.normal(size=k)) for k in (model.n_q, n, n))
    place = operations(outward.outward, tree.atoms_i, tree.atoms_f, q, v, a, frames, twists, zero)
    torques = place + operations(wrenches.body_wrenches, tree.atoms_i, tree.atoms_f, frames, loads, zero)
    torques += operations(tree_torques.project, tree.atoms_i, twists, loads, r, zero)
    every = place + operations(outward.column_rates, tree.atoms_i, tree.columns_i, frames, twists, rates, zero)
    moments = tree.atoms_i, tree.atoms_f, frames, loads, inertia, zero
    every += operations(wrenches.body_wrenches_and_moments, *moments)
    record = SimpleNamespace(twists=twists, column_rates=rates, wrenches=loads, inertia=inertia, duals=duals)
    packed = [nothing(tree.pattern.nnz) for _ in range(3)]
    every += operations(inward.inward, tree, tree.pairs, record, r, *packed, zero)
    return {"torque": torques, "derivative": every, "entries": 3 * tree.pattern.nnz}


def main() -> None:
    """Two closed mechanisms, a chain and the human."""
    report, rows = Report(), []
    report.figures["machine"] = machine()
    bars, crank = mg.gallery.five_bar(), mg.gallery.slider_crank()
    starts = {
        "five_bar": (bars, np.asarray(mg.gallery.five_bar_start())),
        "slider_crank": (crank, mg.assemble(crank, {"crank axis": 0.5}, {"crank axis": 6.0}).q),
    }
    for key, (model, start) in starts.items():
        found = of_a_step(model, start)
        for name, count in found.items():
            report.note(f"{key}_{name.replace(' ', '_')}", count)
            rows.append([f"{key}: {name}", str(count)])
        rows.append([f"{key}: a step", str(report.note(f"{key}_step", sum(found.values())))])
    for key, model in {"human": mg.gallery.human(), "chain43": mg.gallery.chain(43)}.items():
        for name, count in of_a_sample(model).items():
            rows.append([f"{key}: {name}", str(report.note(f"{key}_{name}", count))])
    report.table("operations", ["", "sums, products, quotients"], rows)
    report.finish()


if __name__ == "__main__":
    main()
