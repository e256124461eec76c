"""What a joint transmits, in the axes that were asked for.

    world     (R m, R f)             R: axes of the child
    parent    (P^T R m, P^T R f)     P: axes of the parent

Products of the wrench in child axes with directions of bodies: exact second derivatives by those of the factors.
"""

from __future__ import annotations

import numpy as np

from mechgrad.errors import InputError
from mechgrad.inverse.tree_reactions import AXES
from mechgrad.measures.reactions import JointReaction
from mechgrad.model.markers import Vector
from mechgrad.model.model import Model
from mechgrad.optimization.motion.measures.base import SampleFunction
from mechgrad.optimization.motion.measures.composite import Composite
from mechgrad.optimization.motion.measures.joint_wrenches import Reactions
from mechgrad.optimization.motion.measures.point_motion import Points
from mechgrad.optimization.motion.measures.sample_functions import Quadratic

WRENCH = 6


def reaction_in_axes(wrench: Reactions, measure: JointReaction) -> SampleFunction:
    """A joint's wrench as `measure` asks for it."""
    if measure.axes not in AXES:
        raise InputError(f"axes is {measure.axes!r}; choose one of {', '.join(map(repr, AXES))}.")
    joint = wrench.model.joint(measure.joint)
    if measure.axes == "child":
        return wrench
    names = tuple(f"{measure.label}[{k}]" for k in range(WRENCH))
    world = _product(wrench, _axes_of(wrench.model, joint.child), names, "ij")
    if measure.axes == "world" or joint.parent == "ground":
        return world
    return _product(world, _axes_of(wrench.model, joint.parent), names, "ji")


def _axes_of(model: Model, body: str) -> Points:
    """The three directions of a body's axes, nine numbers: component i of axis j is number 3 j + i."""

    def make(model: Model) -> tuple[Model, list[str]]:
        taken = {item.name for group in model.groups.values() for item in group}
        names = [f"axis {axis} of {body}" for axis in "xyz"]
        while taken & set(names):
            names = [f"{name}'" for name in names]
        axes = [Vector(name, body, direction) for name, direction in zip(names, np.eye(3), strict=True)]
        marked = Model(
            model.name, model.bodies, model.joints, model.points, [*model.vectors, *axes], model.gravity,
            model.variables, model.constraints, model.forces, model.cut,
        )  # fmt: skip
        return marked, names

    return Points(*model.cached(("axes of a body", body), make))


def _product(wrench: SampleFunction, axes: Points, names: tuple[str, ...], order: str) -> Composite:
    """Both parts of a wrench times the matrix R of the axes ("ij": y_i = R_ij w_j), or times R^T ("ji")."""
    A = np.zeros((WRENCH, WRENCH + 9, WRENCH + 9))
    for part in (0, 3):
        for i in range(3):
            for j in range(3):
                component, axis = (i, j) if order == "ij" else (j, i)
                number = WRENCH + 3 * axis + component
                A[part + i, part + j, number] = A[part + i, number, part + j] = 0.5
    return Composite((wrench, axes), Quadratic(names, A, np.zeros((WRENCH, WRENCH + 9))))
