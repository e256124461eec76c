"""A model as text: one header, then the tree of joints and bodies, and what else acts on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mechgrad.model.joints import Joint
from mechgrad.model.joints.reversed import Reversed
from mechgrad.model.primitives.fields import brief

if TYPE_CHECKING:
    from mechgrad.model.model_parts import ModelParts


def describe(model: ModelParts) -> str:
    """The model for a reader.

    A joint indented under a fork starts a branch; a joint straight below another one hangs on it.
    """
    lines = [*_header(model), "", *_tree(model)]
    if model.cut_joints:
        lines += ["", "cut: " + ", ".join(f"{j.name} ({_kind(j)}, {j.parent} - {j.child})" for j in model.cut_joints)]
    for title, elements in (("constraints", model.constraints), ("forces", model.forces)):
        if elements:
            lines += ["", f"{title}: " + ", ".join(f"{item.name} ({type(item).__name__})" for item in elements)]
    for title, markers in (("points", model.points), ("vectors", model.vectors)):
        if markers:
            lines += ["", f"{title}: " + ", ".join(f"{m.name} ({m.body})" for m in markers)]
    if model.variables:
        lines += ["", "variables"]
        lines += [
            f"  {v.name} = {brief(v.value)}  ->  {', '.join(path for path, _ in v.targets)}" for v in model.variables
        ]
    return "\n".join(lines)


def _header(model: ModelParts) -> list[str]:
    cuts = f", {len(model.cut)} of them cut" if model.cut else ""
    count = "velocities" if model.cut or model.constraints else "mobility"
    return [
        f"{model.name}",
        f"  bodies {len(model.bodies)}, joints {len(model.joints)}{cuts}",
        f"  coordinates n_q = {model.n_q}, {count} n_v = {model.n_v}",
        f"  total mass {brief(model.total_mass)} kg",
        f"  gravity {brief(model.gravity)} m/s^2",
    ]


def _tree(model: ModelParts) -> list[str]:
    children: list[list[int]] = [[] for _ in range(len(model.tree_joints) + 1)]
    for number, parent in enumerate(model.parents.tolist(), start=1):
        children[parent].append(number)
    rows: list[tuple[str, int]] = []
    stack = [(number, "", i == len(children[0]) - 1, True) for i, number in reversed(list(enumerate(children[0])))]
    while stack:
        number, margin, is_last, forks = stack.pop()
        mark = ("└─ " if is_last else "├─ ") if forks else ""
        rows.append((margin + mark + model.tree_joints[number - 1].name, number))
        below = margin + (("   " if is_last else "│  ") if forks else "")
        brood = children[number]
        stack += [(child, below, i == len(brood) - 1, len(brood) > 1) for i, child in reversed(list(enumerate(brood)))]
    table = [("ground", "", "", "", "")] + [(text, *_columns(model, number)) for text, number in rows]
    widths = [max(len(row[k]) for row in table) for k in range(5)]
    heading = ("joint", "kind", "q", "body", "mass")
    widths = [max(w, len(h)) for w, h in zip(widths, heading, strict=True)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in (heading, *table)]


def _columns(model: ModelParts, number: int) -> tuple[str, str, str, str]:
    joint = model.tree_joints[number - 1]
    span = model.q_slice(joint.name)
    at = "-" if joint.n_q == 0 else f"{span.start}" if joint.n_q == 1 else f"{span.start}..{span.stop - 1}"
    mass = model.body(joint.child).mass
    return _kind(joint), at, joint.child, f"{brief(mass)} kg" if mass else "massless"


def _kind(joint: Joint) -> str:
    if isinstance(joint, Reversed):
        return f"{_kind(joint.joint)}, reversed"
    kind = getattr(joint, "kind", "")
    return f"{type(joint).__name__}" if not kind else f"DH {kind}"
