"""Colours of pictures: calm, told apart with common colour-vision deficiencies, one per branch of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mechgrad.model.model import Model

BRANCHES = ("#3d7ab8", "#e0893b", "#3f9c82", "#b5679b", "#d9b03f", "#5bb0d6", "#8c6bb1", "#c4564a")
EARTH, RIM, HULL = "#cdbfa3", "#b4bcc4", "#8c4a43"
GROUND, JOINT, AXIS, RAIL = "#8a939e", "#39424e", "#c4564a", "#a9b1ba"
SPRING, DAMPER, ROD, TYRE, CONTACT, STEEL = "#c4564a", "#6d7783", "#6d7783", "#33373d", "#5b6570", "#c3cad1"
ARROWS = {
    "velocities": "#009e73", "reactions": "#d55e00", "contact forces": "#cc2f7b", "loads": "#7a4fb5",
    "load couples": "#a58bd0", "driving torques": "#0072b2", "driving forces": "#56b4e9",
}  # fmt: skip


def branch_colours(model: Model) -> dict[str, str]:
    """One colour to each branch that leaves a fork of the tree; along a branch light and dark in turns.

    Massless bodies stand for joints of several freedoms, and neither fork nor count.
    """
    below: dict[str, list[str]] = {}
    for joint in model.tree_joints:
        below.setdefault(joint.parent, []).append(joint.child)
    found: dict[str, str] = {}
    used = 0

    def solid(bodies: list[str]) -> list[str]:
        """What hangs on these, massless bodies passed over."""
        reached: list[str] = []
        left = list(bodies)
        while left:
            name = left.pop(0)
            if model.body(name).mass or model.body(name).shape:
                reached.append(name)
            else:
                left = below.get(name, []) + left
        return reached

    left: list[tuple[str, int | None, int]] = [(name, None, 0) for name in solid(below.get("ground", []))]
    while left:
        name, branch, depth = left.pop(0)
        if branch is None:
            branch, used = used, used + 1
        found[name] = shaded(BRANCHES[branch % len(BRANCHES)], (0.0, 0.16)[depth % 2])
        brood = solid(below.get(name, []))
        left = [(child, branch if len(brood) == 1 else None, depth + 1) for child in brood] + left
    return found


def shaded(colour: str, by: float) -> str:
    """A colour nearer to white by a share, to black by a negative one.

    >>> shaded("#000000", 0.5), shaded("#ffffff", -0.5)
    ('#808080', '#808080')
    """
    target = 255 if by > 0 else 0
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(c + (target - c) * abs(by)):02x}" for c in parts)
