"""What is asked of a recipe before anything is computed: errors say what, where, how much and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.dynamics.equilibrium import Equilibrium
from mechgrad.dynamics.formulations import Formulation
from mechgrad.errors import InputError, unknown_name
from mechgrad.inverse.accumulation import REFERENCES
from mechgrad.kinematics.mechanism_record import elements_of, row_report
from mechgrad.kinematics.state import State
from mechgrad.kinematics.trees_only import has_elements
from mechgrad.model.mechanism import R_FUNCTION
from mechgrad.steps.schemes import Scheme

if TYPE_CHECKING:
    from mechgrad.model.model import Model
    from mechgrad.simulation.recipe_data import RecipeData


def check_recipe(recipe: RecipeData[Any]) -> None:
    """Raise for what no motion can be made of."""
    if recipe.stop is not None and np.ndim(recipe.start.q) == 2:
        raise InputError("a stop condition ends one motion; give one start, or look at the batch afterwards.")
    _check_numbers(recipe.duration, recipe.step, recipe.rtol, recipe.atol, recipe.t0)
    if recipe.reference not in REFERENCES:
        raise unknown_name("reference", str(recipe.reference), REFERENCES)
    _check_start(recipe.model, recipe.start, recipe.t0)
    _check_formulation(recipe.formulation, recipe.scheme, recipe.model)


def _check_start(model: Model, start: State | Equilibrium, t0: float) -> None:
    """Raise where a motion would begin with the start of another one."""
    if start.way == "given":
        return  # numbers, which `_state` checks
    if start.model is not model and start.model != model:
        raise InputError(
            f"the start belongs to another model than {model.name!r}, or to one with other numbers, so it may not fit "
            "and its derivative is that of another start. Find it anew with this model; or give q and v as numbers: "
            "mg.state(model, start.q, start.v)."
        )
    if t0 == start.t or not has_elements(model):
        return
    elements = elements_of(model)
    if start.bound_to_time or np.any(elements.rows_i[: elements.n_constraints, R_FUNCTION] >= 0):
        raise InputError(
            f"the start was found for t = {start.t:g} s, and the motion begins at t0 = {t0:g} s: forces or constraints "
            "that change in time are others then. Leave t0 out, or find the start for that time."
        )


def _check_numbers(duration: float, step: float | None, rtol: float, atol: float, t0: float) -> None:
    if not 0 < duration < np.inf:
        raise InputError(f"duration is {duration}; it must be positive [s].")
    if step is not None and not 0 < step <= duration:
        raise InputError(f"step is {step}; it must be positive and not longer than the duration, {duration} s.")
    if not (rtol > 0 and atol > 0):
        raise InputError(f"rtol = {rtol}, atol = {atol}; tolerances must be positive.")
    if not np.isfinite(t0):
        raise InputError(f"t0 is {t0}; it must be finite [s].")


def _check_formulation(form: Formulation, scheme: Scheme, model: Model) -> None:
    """Raise where a formulation serves another kind of mechanism or of scheme."""
    loops = has_loops(model)
    if loops and not form.for_loops:
        raise InputError(
            f"{form.name} is for open trees, and model {model.name!r} has constraints "
            f"({', '.join(row_report(model).names[:3])}, ...). Choose ALI3P, MatrixR, Index1 or another."
        )
    if loops and form.fixed_point and scheme.implicit:
        raise InputError(
            f"{form.name} takes implicit steps of open trees alone, and model {model.name!r} has constraints "
            f"({', '.join(row_report(model).names[:3])}, ...). Give an explicit scheme, 'rk4' (with a step) or "
            "'dop853', or choose ALI3P, MatrixR, Index1 or Penalty."
        )
    if not loops and not form.for_trees and form.named_coordinates() is None:
        also = ", or name its independent coordinates" if form.independent_coordinates else ""
        raise InputError(
            f"{form.name} is for mechanisms with constraints, and model {model.name!r} has none that act. "
            f"Choose SemiRecursive or FullyRecursive{also}."
        )
    if not scheme.implicit and form.explicit() is None:
        raise InputError(
            f"{form.name} has no explicit form. Choose a scheme of the Newmark family, or the formulation "
            + ("Index1 or MatrixR." if loops else "FullyRecursive.")
        )


def has_loops(model: Model) -> bool:
    """Whether constraint rows act on a model."""
    return bool(row_report(model).names) if has_elements(model) else False
