"""Models that are more than a tree: who may ignore it, and who must not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mechgrad.errors import InputError

if TYPE_CHECKING:
    from mechgrad.model.model import Model


def has_elements(model: Model) -> bool:
    """Whether a model is more than a tree of bodies: cut joints, constraints or forces, unless it was opened."""
    return bool(model.cut or model.constraints or model.forces) and not model.is_open


def require_tree(model: Model) -> None:
    """Raise where a function that knows trees only would ignore loops, constraints or forces."""
    if has_elements(model):
        extra = [f"joint {name!r} (cut)" for name in model.cut] + [repr(x) for x in (*model.constraints, *model.forces)]
        raise InputError(
            f"model {model.name!r} is more than a tree of bodies: {extra[0]}"
            + (f" and {len(extra) - 1} more" if len(extra) > 1 else "")
            + ". The recursion behind this function is one of trees of bodies (so are the methods of the literature). "
            "mg.inverse_dynamics, mg.forward_dynamics, mg.joint_reactions and all of mg.terms take all of it with "
            "method='spatial', and so do mg.simulate, mg.gradient and mg.motion.MotionProblem."
        )
