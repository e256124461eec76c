"""What reports of motions, gradients and optima have in common: the animation, the model, how a motion was made."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.errors import MechgradError
from mechgrad.kinematics.mobility import mobility
from mechgrad.model.primitives.fields import brief
from mechgrad.pages import Embedded, Listing, Paragraph, Part, Section, Table, facts
from mechgrad.visualization.scene import LAYERS, scene_of
from mechgrad.visualization.three import ViewerUnavailableError
from mechgrad.visualization.web_page import animation_html

MOST_ROWS = 100


def animation(thing: Any, *, ghost: Any = None, told: str = "") -> list[Part]:
    """What moves, to be played and turned; where what draws it is not installed, a sentence says what to install.

    ghost : a second motion or state, translucent
    told : what there is to see
    """
    try:
        scene = scene_of(thing, ghost=ghost, arrows=LAYERS)
        found: list[Part] = [Embedded(animation_html(scene, standalone=False))]
    except ViewerUnavailableError as error:
        return [Paragraph(f"No animation: {error}")]
    return [*([Paragraph(told)] if told else []), *found]


def model_section(model: Any, q: Any, t: float = 0.0) -> Section:
    """What moves: the tree, bodies, joints, and its mobility where it is drawn."""
    bodies = [
        [body.name, brief(body.mass), brief(body.com), brief(np.diag(np.real(body.inertia)))]
        for body in model.bodies[:MOST_ROWS]
    ]
    joints = [
        [joint.name, type(joint).__name__, joint.parent, joint.child, ", ".join(joint.v_units) or "-"]
        for joint in model.joints[:MOST_ROWS]
    ]
    parts: list[Part] = [
        Listing(model.describe()),
        Table(("body", "mass [kg]", "centre of mass [m]", "moments of inertia [kg m²]"), bodies),
        Table(("joint", "kind", "parent", "child", "its velocities"), joints),
    ]
    try:
        parts.append(Listing(str(mobility(model, np.real(np.asarray(q)), t=t))))
    except MechgradError as error:  # of a motion that misses its constraints
        parts.append(Paragraph(f"No mobility: {error}"))
    return Section("The model", parts)


def settings_section(motion: Any) -> Section:
    """How it was made, as far as it says."""
    known: dict[str, Any] = {}
    for label, name in (("formulation", "formulation"), ("scheme", "scheme"), ("steps", "steps"), ("ended by", "ended"),
                        ("trial steps that were not taken", "rejected"), ("driven", "held")):  # fmt: skip
        if hasattr(motion, name):
            known[label] = getattr(motion, name)
    recipe = getattr(motion, "recipe", None)
    if recipe is not None:
        known["recipe"] = repr(recipe)
        known["start"] = repr(recipe.start)
        if np.any(recipe.tau):
            known["constant forces"] = ", ".join(
                f"{name} {x:.6g}" for name, x in zip(motion.model.v_names, np.real(recipe.tau), strict=True) if x
            )
        for k, load in enumerate(recipe.loads):
            known[f"load {k}"] = repr(load)
    return Section("How it was made", [facts(known)] if known else [])


def time_facts(motion: Any) -> dict[str, str]:
    """Seconds that the motion took, if they are known."""
    seconds, steps = getattr(motion, "seconds", np.nan), getattr(motion, "steps", 0)
    if not np.isfinite(seconds):
        return {"time of the motion": "not known: it was read from a file, or is no simulation"}
    each = f", {1e6 * seconds / steps:.3g} µs per step" if steps else ""
    span = float(np.real(motion.t[-1] - motion.t[0])) if len(motion.t) else 0.0
    return {"time of the motion": f"{seconds:.3g} s for {span:.6g} s of motion{each}, compilation included"}
