"""Whether gravity can move a mechanism at all: hinges along gravity hang still, which is seldom what was meant."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from mechgrad.errors import IdleGravityWarning
from mechgrad.model.joints.base import FIXED, PRISMATIC, REVOLUTE
from mechgrad.model.joints.planar import Planar
from mechgrad.model.structure import KIND
from mechgrad.model.tree import BEYOND, COM, MASS, MOMENTS, ORIGIN, X

if TYPE_CHECKING:
    from mechgrad.model.model import Model
    from mechgrad.model.tree import Tree

PARALLEL = 1e-9  # sine or cosine of an angle that counts as zero


def note_idle_gravity(model: Model, tree: Tree, above: int = 1) -> None:
    """Warn, once for a model and all that differ from it in numbers only, if gravity is there and moves nothing.

    above : how many functions of ours the caller's line is above this one
    """
    if "gravity noted" not in model._shared:
        model._shared["gravity noted"] = True
        if (hinge := idle_hinge(model, tree)) is not None:
            g = np.real(model.gravity)
            text = f"({', '.join(f'{x:g}' for x in g)})"
            warnings.warn(
                f"gravity {text} m/s^2 moves nothing in model {model.name!r}: {hinge!r} turns about its direction, and "
                "all other joints turn about it or slide across it. Give the model gravity in its plane, e.g. "
                f"gravity={_across(g)}, or its joints another axis; gravity=(0, 0, 0) says that none is meant.",
                IdleGravityWarning,
                stacklevel=above + 2,
            )


def idle_hinge(model: Model, tree: Tree) -> str | None:
    """The first joint that gravity along another direction would move, if gravity as it is moves none; else None.

    Gravity moves nothing, in any configuration, if every joint with mass beyond it turns about the direction of gravity
    or slides across it: heights are then constant. Only structure counts. A rotor balanced about a level axis is not
    moved either, but that is by design. Nothing is said of slides alone (a cart on level rails), of hinges whose load
    is centred on them (a flywheel), nor without mass or gravity.
    """
    g = np.real(model.gravity)
    if not g.any() or not np.real(tree.atoms_f[:-1, BEYOND]).any():
        return None
    numbers = np.real(tree.atoms_f[:-1])
    parents = tree.structure.parents
    up: list[np.ndarray] = []  # direction of gravity in each atom's frame, the same in all configurations
    down = g / np.abs(g).max()
    down = down / np.sqrt(down @ down)
    for atom, kind in enumerate(tree.atoms_i[:, KIND].tolist()):
        axes = numbers[atom, X:ORIGIN].reshape(3, 3)  # x, y, z as rows
        here = axes @ (down if parents[atom] < 0 else up[parents[atom]])
        up.append(here)
        if kind == FIXED or numbers[atom, BEYOND] == 0.0:
            continue
        level = abs(here[2]) < PARALLEL
        along = np.hypot(here[0], here[1]) < PARALLEL
        if not (along if kind == REVOLUTE else level and kind == PRISMATIC):
            return None
    return _loaded_hinge(model, tree, numbers)


def _loaded_hinge(model: Model, tree: Tree, numbers: np.ndarray) -> str | None:
    """The first hinge with mass off its axis in the configuration 0, or the first planar joint with mass."""
    parents, n = tree.structure.parents, tree.n_atoms
    moment = numbers[:, MASS : MASS + 1] * numbers[:, COM:MOMENTS]  # mass moments of all beyond, in each atom's frame
    for atom in range(n - 1, -1, -1):
        if (parent := parents[atom]) >= 0:
            axes = numbers[atom, X:ORIGIN].reshape(3, 3)
            moment[parent] += moment[atom] @ axes + numbers[atom, BEYOND] * numbers[atom, ORIGIN:MASS]
    for joint in model.tree_joints:
        for atom in tree.joint_atoms[joint.name]:
            load = numbers[atom, BEYOND]
            if load == 0.0 or tree.atoms_i[atom, KIND] != REVOLUTE:
                continue
            reach = np.abs(moment[atom, :2]).max()
            if reach > PARALLEL * load * _size(numbers) or isinstance(joint, Planar):
                return joint.name
    return None


def _size(numbers: np.ndarray) -> float:
    """The largest length of a tree."""
    return float(max(np.abs(numbers[:, ORIGIN:MASS]).max(), np.abs(numbers[:, COM:MOMENTS]).max()))


def _across(g: np.ndarray) -> str:
    """Gravity of the same strength along the coordinate axis that it has least of, y before x before z."""
    k = min((1, 0, 2), key=lambda i: abs(g[i]))
    strength = -float(np.sqrt(g @ g))
    return "(" + ", ".join(f"{strength:g}" if i == k else "0" for i in range(3)) + ")"
