"""Masses, centres of mass and inertias of bodies: each changes one line of the table of atoms, in proportion.

    line = (m, r + A c, A (tr(I)/2 - I) A^T, mass of all beyond)         A, r: the body's frame in that of its atom

So no mechanism has to be made anew to know how the table depends on them.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

import numpy as np

from mechgrad.kinematics.batch import tree_of
from mechgrad.model.layout import Slot
from mechgrad.model.model import Model
from mechgrad.model.tree import (
    ATOM_SIZE,
    BEYOND,
    COM,
    HAS_MASS,
    MASS,
    MOMENTS,
    PARENT,
    Tree,
    second_moments,
    six,
)
from mechgrad.typing import FloatArray


class BodyNumbers(NamedTuple):
    """Parameters that each change one line of the table of atoms: their positions, the lines, and how, (positions,
    numbers of an atom); the mass of all beyond follows and is left out."""

    positions: list[int]
    lines: list[int]
    change: FloatArray


def body_numbers(model: Model, slots: Sequence[Slot | None], attached: Container[str] | None) -> BodyNumbers:
    """Those parameters that are numbers of bodies and change nothing else.

    attached : bodies at whose centre of mass something is attached; None: that is not known
    """
    tree = tree_of(model)
    place = {i: k for k, i in enumerate(tree.structure.bodies)}
    found = BodyNumbers([], [], np.zeros((0, ATOM_SIZE)))
    changes = []
    for k, slot in enumerate(slots):
        if slot is None or slot.group != "bodies":
            continue
        name = model.bodies[slot.position].name
        if slot.field == "com" and (attached is None or name in attached):
            continue
        line = tree.body_atom[name]
        if not tree.atoms_i[line, HAS_MASS]:
            continue  # kernels leave such a body out
        found.positions.append(k)
        found.lines.append(line)
        changes.append(_change(tree, place[slot.position], slot))
    return found._replace(change=np.array(changes).reshape(-1, ATOM_SIZE))


def _change(tree: Tree, body: int, slot: Slot) -> FloatArray:
    """Of the line, by one number."""
    change, axes = np.zeros(ATOM_SIZE), tree.numbers.tail_E[body]
    if slot.field == "mass":
        change[MASS] = 1.0
    elif slot.field == "com":
        change[COM:MOMENTS] = axes[:, slot.index[0]]
    else:
        unit = np.zeros((3, 3))
        unit[slot.index] = unit[slot.index[::-1]] = 1.0
        change[MOMENTS:BEYOND] = six(axes @ second_moments(unit) @ axes.T)
    return change


def put_change(atoms_i: np.ndarray, atoms_f: np.ndarray, line: int, change: np.ndarray) -> None:
    """Add the change of a line to a table of atoms, and that of the masses beyond to the lines before it."""
    atoms_f[line] += change
    mass = change[MASS]
    while mass != 0.0 and line >= 0:
        atoms_f[line, BEYOND] += mass
        line = int(atoms_i[line, PARENT])
