"""A step of a walker over the gait cycle: joints, forces of the ground, and where they press."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.typing import FloatArray
from mechgrad.visualization.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

JOINTS = {"hip": "hip_flexion", "knee": "knee_flexion", "ankle": "ankle_flexion"}
STRIDE = "gait cycle of the right leg [%]"


@style.styled
def plot_gait(step: Any, solution: Any, samples: int = 101) -> Figure:
    """Angles and torques of the leg, the force on the foot, and the zero-moment point within the feet.

    The cycle of the right leg is the step and its mirror image: per cent of the stride, from one of its heel strikes to
    the next.

    step : of `mg.gallery.gait`;   solution : of its `solve()`
    """
    style.needs(step, "a step", "model", "ground", "supports")
    style.needs(solution, "a motion", "motion", "ground_reactions", "torques")
    model = step.model
    _, q, _, _ = solution.motion(samples)
    ground = solution.ground_reactions(step.ground, samples)
    tau = solution.torques(samples, ground=step.ground)
    weight = model.total_mass * float(np.linalg.norm(model.gravity))
    percent = np.linspace(0.0, 100.0, 2 * samples - 1)
    names = list(model.v_names)
    figure, axes = style.panels(4, columns=2, size=(5.2, 3.2))

    def legs(values: FloatArray, joint: str) -> FloatArray:
        return _cycle(*(values[:, names.index(f"{joint}_{side}")] for side in ("right", "left")))

    flexions = np.column_stack([np.rad2deg(legs(q, joint)) for joint in JOINTS.values()])
    torques = np.column_stack([legs(tau, joint) for joint in JOINTS.values()])
    feet = {side: sum(w.force for body, w in ground.feet.items() if body.endswith(side)) for side in ("right", "left")}
    across = ((2, "vertical", 1.0), (0, "fore-aft", 1.0), (1, "lateral", -1.0))
    forces = np.column_stack([_cycle(feet["right"][:, k], sign * feet["left"][:, k]) for k, _, sign in across]) / weight
    panels = (
        (flexions, list(JOINTS), "angle [deg]", "flexion"),
        (torques, list(JOINTS), "torque [N m]", "torque of flexion"),
        (forces, [name for _, name, _ in across], "force [body weights]", "force of the ground on the right foot"),
    )
    for ax, (table, labels, ylabel, title) in zip(axes, panels, strict=False):
        x, columns = style.finite(title, percent, table, labels)
        style.curves(ax, x, columns, labels)
        ax.set(xlabel=STRIDE, ylabel=ylabel, title=title)
    _draw_zmp(axes[3], step, ground.zmp)
    return figure


def _cycle(first: FloatArray, second: FloatArray) -> FloatArray:
    """A step and its mirror image."""
    return np.concatenate([first, second[1:]])


def _draw_zmp(axes: Any, step: Any, zmp: FloatArray) -> None:
    """The zero-moment point from above, in the polygons of the feet that stand."""
    from matplotlib.patches import Polygon
    from scipy.spatial import ConvexHull

    xi = np.linspace(0.0, 1.0, len(zmp))
    for k, ((begin, end), corners) in enumerate(step.supports):
        points = np.asarray(corners)[:, :2]
        hull = points[ConvexHull(points).vertices]
        colour = style.COLOURS[k % len(style.COLOURS)]
        axes.add_patch(Polygon(hull, closed=True, facecolor=colour, edgecolor=colour, alpha=0.15))
        here = (xi >= begin - 1e-9) & (xi <= end + 1e-9)
        axes.plot(zmp[here, 0], zmp[here, 1], color=colour, label=f"{100 * begin:.0f} to {100 * end:.0f} % of the step")
    axes.autoscale_view()
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="forwards [m]", ylabel="left [m]", title="zero-moment point within the feet")
    style.legend(axes)


__all__ = ["plot_gait"]
