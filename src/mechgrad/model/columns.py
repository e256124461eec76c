"""Parameters as columns: every number of a model acts through a few primitive terms, whatever its path is called.

A *geometric* number (origin, axis, orientation, DH parameter) displaces a frame: it is a frozen joint. Its
derivative is that of a joint coordinate, with the twist of the displacement in place of the joint axis; the twist
is constant in the frame that carries it. It sits either before an atom (carried by the atom's parent, moves the
atom's axis and all beyond) or behind it (carried by the atom, moves its body and all beyond). An *inertial* number
changes the mass moments (m, h, S) of one body, on which forces depend linearly. Gravity, load and marker numbers
act directly.

The twist is the exact derivative of the joint's placements, taken with a complex step through the joint's own
`atoms()` and `tail()`; a new joint kind therefore needs no derivative code. Joints that are cut, constraints and
forces are no part of the tree: their numbers have no terms here, and act through `model.elements`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.errors import InputError, UnknownNameError
from mechgrad.model.joints.reversed import Reversed
from mechgrad.model.parameters import MAGIC, is_path, matching, read_value, resolve
from mechgrad.model.pattern import Pattern
from mechgrad.model.primitives.fields import replaced
from mechgrad.model.tree import LAST_COLUMN, PARENT, Pose, Tree, compose, second_moments, six
from mechgrad.tolerances import COMPLEX_STEP

if TYPE_CHECKING:
    from mechgrad.model.body import Body
    from mechgrad.model.joints import Joint
    from mechgrad.model.model import Model

# kinds of terms
BEFORE, BEHIND, INERTIAL, GRAVITY, LOAD_FORCE, LOAD_COUPLE, LOAD_POINT, MARKER = range(8)
# columns of ParameterColumns.terms_i
T_KIND, T_NODE, T_COLUMN, T_START, T_BEYOND, T_END = range(6)
TERM_SIZE = 10

STEP = COMPLEX_STEP


@dataclass(frozen=True)
class Term:
    """One way a parameter acts: kind, the atom (or load, or marker) it acts on, and up to ten numbers.

    BEFORE, BEHIND: twist (angular, linear) of the displaced frame, in the frame that carries it; INERTIAL: changes
    of (m, h, S) in the atom's frame; others: a 3-vector.
    """

    kind: int
    node: int
    numbers: np.ndarray
    atom: int = -1  # of the load, where `node` counts loads


@dataclass(frozen=True, eq=False)
class ParameterColumns:
    """Columns for a list of parameters, as the tables kernels read.

    The rows of a term are listed explicitly, ancestors first: `rows[start:beyond]` depend on the displaced wrench,
    `rows[beyond:end]` are displaced themselves. Each row holds (column of the tree, position in the packed values).
    """

    paths: tuple[str, ...]
    terms_i: np.ndarray
    terms_f: np.ndarray
    rows: np.ndarray
    pattern: Pattern

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Terms and their rows for a kernel (`kinematics.kernels.tables.Terms`)."""
        return self.terms_i, self.terms_f, self.rows


def column_index(parameters: Sequence[str], path: str) -> int:
    """Which column belongs to a path."""
    if path not in parameters:
        asked = ", ".join(parameters) or "none"
        raise InputError(f"no column for {path!r}; these were asked for: {asked}. Name it in wrt=[...].")
    return parameters.index(path)


def expand_paths(model: Model, wrt: str | Sequence[str], extra: Sequence[str] = ()) -> tuple[str, ...]:
    """Resolve names and shell patterns ("*.mass", "dh.7.*") to parameter paths, in order, each once.

    What is the path of a number as it stands is no pattern, whatever its characters.
    """
    chosen: dict[str, None] = {}
    for item in [wrt] if isinstance(wrt, str) else wrt:
        if MAGIC.search(item) and item not in extra and not is_path(model, item):
            known = [*model.cached("paths", lambda m: [p.path for p in m.parameters()]), *extra]
            found = matching(model, item, known)
            if not found:
                raise UnknownNameError(
                    f"nothing matches the pattern {item!r} among the {len(known)} parameters of model {model.name!r}; "
                    f"they begin {', '.join(known[:5])}. model.parameters() lists them all."
                )
            chosen.update(dict.fromkeys(found))
        else:
            if item not in extra:
                model.value(item)
            chosen[item] = None
    return tuple(chosen)


def _twist(pose: Pose, change: Pose) -> np.ndarray:
    """Twist (angular, linear) of the displacement `change` of a frame at `pose`, in the axes and about the origin
    of its carrier."""
    spin = change[0] @ pose[0].T
    w = np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]]) / 2
    return np.concatenate((w, change[1] - np.cross(w, pose[1])))


def _moved_twist(carrier: Pose, twist: np.ndarray) -> np.ndarray:
    """The same twist seen from the frame in which the carrier has this pose."""
    w = carrier[0] @ twist[:3]
    return np.concatenate((w, carrier[0] @ twist[3:] + np.cross(carrier[1], w)))


def _imag(pose: Pose) -> Pose:
    return np.imag(pose[0]) / STEP, np.imag(pose[1]) / STEP


def model_terms(model: Model, tree: Tree, path: str, markers: Sequence[str | None] = ()) -> list[Term]:
    """All terms of one parameter; a design variable collects those of its targets, weighted."""
    terms = []
    for target, weight in model.path_derivative(path):
        terms += [replace(t, numbers=weight * t.numbers) for t in _plain_terms(model, tree, target, markers)]
    return [t for t in terms if np.any(t.numbers != 0)]


def _plain_terms(model: Model, tree: Tree, path: str, markers: Sequence[str | None]) -> list[Term]:
    slot = resolve(model.layout, model.groups, path)
    if slot.group == "gravity":
        return [Term(GRAVITY, -1, np.eye(3)[slot.index[0]])]
    item = model.groups[slot.group][slot.position]
    moved = replaced(item, {(slot.field, slot.index): read_value(model, path) + 1j * STEP}, check=False)
    if slot.group == "joints":
        if slot.position in (spanning := model.layout.spanning).cut:
            return []
        if spanning.backwards[spanning.order.index(slot.position)]:
            item, moved = Reversed(item), Reversed(moved)
        terms: list[Term] = model.cached(("joint terms", path), lambda _: _joint_terms(tree, item, moved))
        return terms
    if slot.group == "bodies":
        change = tree.body_tail[moved.name][0] @ np.imag(moved.com) / STEP
        follow = [Term(MARKER, m, change) for m, name in enumerate(markers) if name == f"{moved.name}.com"]
        return [*_body_terms(tree, moved), *follow]
    if slot.group in ("constraints", "forces"):
        return []
    change = tree.body_tail[item.body][0] @ np.imag(getattr(moved, slot.field)) / STEP
    return [Term(MARKER, m, change) for m, name in enumerate(markers) if name == item.name]


def _joint_terms(tree: Tree, joint: Joint, moved: Joint) -> list[Term]:
    carrier: Pose = tree.body_tail[joint.parent]
    terms = []
    for atom, rest, new in zip(tree.joint_atoms[joint.name], joint.atoms(), moved.atoms(), strict=True):
        twist = _twist((rest.E, rest.r), _imag((new.E, new.r)))
        terms.append(Term(BEFORE, atom, _moved_twist(carrier, twist)))
        carrier = (np.eye(3), np.zeros(3))
    terms.append(Term(BEHIND, tree.joint_atoms[joint.name][-1], _twist(joint.tail(), _imag(moved.tail()))))
    return terms


def _body_terms(tree: Tree, moved: Body) -> list[Term]:
    tail = tree.body_tail[moved.name]
    _, com = compose(tail, (np.eye(3), moved.com))
    h = moved.mass * com
    S = tail[0] @ second_moments(moved.inertia) @ tail[0].T + np.outer(h, com)
    change = np.imag(np.concatenate(([moved.mass], h, six(S)))) / STEP
    return [Term(INERTIAL, tree.body_atom[moved.name], change)]


def parameter_columns(tree: Tree, paths: Sequence[str], terms: Sequence[Sequence[Term]]) -> ParameterColumns:
    """Tables for the given parameters; `terms[k]` are the terms of `paths[k]`."""
    support = [sorted({row for t in column for part in _rows(tree, t) for row in part}) for column in terms]
    matrix = np.zeros((tree.n_v, len(paths)), bool)
    for k, rows in enumerate(support):
        matrix[rows, k] = True
    pattern = Pattern(matrix.shape, *np.nonzero(matrix))
    at = np.full(matrix.shape, -1, np.int64)
    at[pattern.rows, pattern.cols] = np.arange(pattern.nnz)
    terms_i, terms_f = [], []
    rows_table: list[tuple[int, int]] = []
    for k, column in enumerate(terms):
        for term in column:
            before, beyond = _rows(tree, term)
            start = len(rows_table)
            rows_table += [(row, at[row, k]) for row in (*before, *beyond)]
            terms_i.append((term.kind, term.node, k, start, start + len(before), len(rows_table)))
            terms_f.append(np.pad(term.numbers, (0, TERM_SIZE - term.numbers.size)))
    tables = (
        np.array(terms_i, np.int64).reshape(-1, 6),
        np.array(terms_f, float).reshape(-1, TERM_SIZE),
        np.array(rows_table, np.int64).reshape(-1, 2),
    )
    for table in tables:
        table.setflags(write=False)
    return ParameterColumns(tuple(paths), *tables, pattern)


def _rows(tree: Tree, term: Term) -> tuple[list[int], list[int]]:
    """Columns that depend on a term through the wrench beyond them, and columns that are displaced by it."""
    node = term.atom if term.kind in (LOAD_FORCE, LOAD_COUPLE, LOAD_POINT) else term.node
    if term.kind == MARKER:
        return [], []
    if term.kind == GRAVITY:
        return list(range(tree.n_v)), []
    if term.kind == BEFORE:
        parent = int(tree.atoms_i[node, PARENT])
        return tree.path(-1 if parent < 0 else int(tree.atoms_i[parent, LAST_COLUMN])), tree.columns_below(
            node, own=True
        )
    last = int(tree.atoms_i[node, LAST_COLUMN])
    if term.kind == BEHIND:
        return tree.path(last), tree.columns_below(node, own=False)
    return tree.path(last), []
