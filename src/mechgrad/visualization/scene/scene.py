"""A scene: named solids with colours and the pose of every body at every instant, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.model.shapes import Ring, Sphere
from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.arrows import arrow_layers
from mechgrad.visualization.scene.body_solids import body_nodes
from mechgrad.visualization.scene.contact_solids import contact_nodes, floor_height
from mechgrad.visualization.scene.extents import extents
from mechgrad.visualization.scene.ground_surfaces import ground_nodes
from mechgrad.visualization.scene.joint_solids import joint_nodes
from mechgrad.visualization.scene.nodes import Arrows, Curve, Ghost, Node, Stretched, Surface, Trail
from mechgrad.visualization.scene.outline import Outline, marker_place, outline_of
from mechgrad.visualization.scene.poses import Drawn, drawn, poses_of
from mechgrad.visualization.scene.springs import stretched_nodes
from mechgrad.visualization.scene.view import eye_direction, floor_under, upwards

__all__ = ["Scene", "scene_of"]

FAR = 2.2  # ways longer than so many times the size are followed by the camera


@final
@dataclass(frozen=True, eq=False)
class Scene:
    """What is seen, at every instant: pure data, drawn by `web_page`.

    Attributes
    ----------
    name : of the model
    t : (nt,) [s]
    frames : names of the bodies
    p, e : (nt, frames, 3) [m], (nt, frames, 4) positions of the bodies' origins and Euler parameters, world axes
    nodes : solids that ride on bodies;   stretched : springs, dampers, rods
    up : (3,) unit vector;   floor : height of the floor along it [m]
    eye : (3,) unit vector from the middle of the picture to the eye
    centre : (nt, 3) middle of what is seen;   radius : of the ball around it at one instant;   span : over all of them
    box, all_boxes : (3,) half the edges of the box around it, at one instant at most and over all of them
    size : of the model [m], which thicknesses are shares of
    arrows, trails, curves, ghosts : layers on top

    >>> from mechgrad.visualization.scene import scene_of
    >>> scene = scene_of(pendulum)
    >>> scene
    Scene of 'pendulum': 1 bodies, 7 solids, 1 instants
    """

    name: str
    t: FloatArray
    frames: tuple[str, ...]
    p: FloatArray
    e: FloatArray
    nodes: tuple[Node, ...]
    stretched: tuple[Stretched, ...]
    up: FloatArray
    floor: float
    eye: FloatArray
    centre: FloatArray
    radius: float
    span: float
    box: FloatArray
    all_boxes: FloatArray
    size: float
    arrows: tuple[Arrows, ...] = ()
    trails: tuple[Trail, ...] = ()
    curves: tuple[Curve, ...] = ()
    ghosts: tuple[Ghost, ...] = ()

    @property
    def follows(self) -> bool:
        """Whether the camera goes with the mechanism from the start: on long ways."""
        return self.span > FAR * self.radius

    @property
    def layers(self) -> tuple[str, ...]:
        """What can be switched on and off."""
        found = dict.fromkeys(node.layer for node in self.nodes)
        return (*found, *(["springs"] if self.stretched else []), *(layer.name for layer in self.arrows))

    def __repr__(self) -> str:
        return (
            f"Scene of {self.name!r}: {len(self.frames)} bodies, {len(self.nodes) + len(self.stretched)} solids, "
            f"{len(self.t)} instants"
        )


def scene_of(
    thing: Any,
    *,
    arrows: Sequence[str] = ("velocities",),
    trails: Sequence[str] = (),
    measures: Iterable[Any] = (),
    ghost: Any = None,
    eye: Sequence[float] | None = None,
    amplitude: float | None = None,
) -> Scene:
    """The scene of a motion, of a state, of a mode of small motions, or of a model.

    Parameters
    ----------
    thing : a motion (`simulate`, `kinematic_motion`, the solution of a MotionProblem), a state, a mode, or a model
        A model is drawn in its neutral pose, closed loops assembled. Of motions with more than 100 instants per second
        as many are kept, about equally spaced.
    arrows : which of "velocities" (of centres of mass), "reactions" (forces of parents on children at joints), "contact
        forces" (of planes on what touches them), "loads" and "load couples" (of the environment, as the motion was
        given them), "driving torques" and "driving forces" (of hinges and slides, along their axes: constant ones,
        motors, what guides a motion) can be switched on
    trails : points whose way is drawn: markers, "body.origin" or "body.com"
    measures : measures whose values are drawn below the picture; for motions
    ghost : a second motion or state of a model with the same bodies, drawn translucently at the same times
    eye : direction from the middle of the picture to the eye, world axes; chosen if left out
    amplitude : largest displacement of a mode [rad or m]; 0.25 if left out

    >>> from mechgrad.visualization.scene import scene_of
    >>> swing = mg.simulate(pendulum, {"pin": 0.5}, 1.0)
    >>> scene_of(swing, trails=["bob.com"]).layers
    ('bodies', 'axes', 'joints', 'ground', 'centres of mass', 'velocities')
    """
    states = drawn(thing, amplitude)
    model, poses = states.model, poses_of(states)
    outline = outline_of(model, poses)
    up = upwards(outline)
    grounds = ground_nodes(outline)
    solids = (*body_nodes(outline), *joint_nodes(outline, up), *contact_nodes(outline, up))
    nodes = (*solids, *grounds, *_centres_of_mass(outline))
    stretched = tuple(stretched_nodes(outline))
    centres, radii = extents(nodes, stretched, poses)
    stands = any(isinstance(node.shape, Ring) for node in nodes) or not any(node.layer == "ground" for node in nodes)
    low, high = (centres - radii[:, None]).min(axis=1), (centres + radii[:, None]).max(axis=1)
    looked_at = eye_direction(outline, up) if eye is None else _unit(eye)
    ghosts = () if ghost is None else (_ghost(ghost, states),)
    return Scene(
        model.name, states.t, poses.names, poses.p, poses.e, nodes, stretched, up,
        floor_under(centres, radii, up, outline.size, _level(outline, up, grounds), stands), looked_at,
        0.5 * (low + high),
        0.5 * float(np.linalg.norm(high - low, axis=1).max()) or 0.5 * outline.size,
        0.5 * float(np.linalg.norm(high.max(axis=0) - low.min(axis=0))) or 0.5 * outline.size,
        0.5 * (high - low).max(axis=0), 0.5 * (high.max(axis=0) - low.min(axis=0)), outline.size,
        arrow_layers(outline, states, arrows), _trails(outline, trails), _curves(states, measures),
        ghosts,
    )  # fmt: skip


def _level(outline: Outline, up: FloatArray, grounds: list[Node]) -> float | None:
    """Height of the plane that is touched; where there are grounds, of what lies under all of them."""
    lowest = [float((x.shape.vertices @ up).min()) for x in grounds if isinstance(x.shape, Surface) and x.frame < 0]
    return min(lowest) - 0.01 * outline.size if lowest else floor_height(outline, up)


def _unit(eye: Sequence[float]) -> FloatArray:
    given = np.asarray(eye, float)
    if given.shape != (3,) or not np.isfinite(given).all() or not given.any():
        raise InputError(f"eye is {eye!r}; give a direction (x, y, z) from what is seen to the eye.")
    return np.asarray(given / np.linalg.norm(given))


def _centres_of_mass(outline: Outline) -> list[Node]:
    r = 0.012 * outline.size
    return [
        Node(f"{b.name}.com", "centres of mass", outline.frames[b.name], Sphere(r, tuple(np.real(b.com))), "#f2c230")
        for b in outline.model.bodies
        if b.mass
    ]


def _trails(outline: Outline, names: Sequence[str]) -> tuple[Trail, ...]:
    if isinstance(names, str):
        raise InputError(f"trails is the string {names!r}; give a list of points: [{names!r}].")
    found = []
    for name in names:
        place = marker_place(outline.model, name)
        if place is None or place[0] not in outline.frames:
            known = [p.name for p in outline.model.points] + [f"{b}.origin" for b in outline.model.body_names]
            raise InputError(f"trails: there is no point {name!r}. Points: {', '.join(known[:20])}, or 'body.com'.")
        found.append(Trail(name, outline.frames[place[0]], place[1]))
    return tuple(found)


def _curves(states: Drawn, measures: Iterable[Any]) -> tuple[Curve, ...]:
    curves = []
    for measure in measures:
        measured = getattr(states.thing, "measured", None)
        if measured is None or not states.moves:
            raise InputError("measures are drawn over the time of a motion; a state and a model have none.")
        values = np.real(measured(measure)).reshape(len(states.thing.t), -1)[states.kept]
        columns = tuple(measure.columns(states.model))
        if len(columns) != values.shape[1]:  # a measure of a user that says nothing of its numbers
            columns = tuple((f"[{k}]", "") for k in range(values.shape[1]))
        curves += [
            Curve(f"{measure.label} {part}".rstrip(), "" if unit == "1" else unit, y)
            for (part, unit), y in zip(columns, values.T, strict=True)
        ]
    return tuple(curves)


def _ghost(thing: Any, states: Drawn) -> Ghost:
    """The other motion at the times of the first: states in between are those nearest in time."""
    other = drawn(thing)
    if other.model.body_names != states.model.body_names:
        raise InputError(
            f"a ghost must have the bodies of {states.model.name!r} in their order; {other.model.name!r} has others."
        )
    poses = poses_of(other)
    if not other.moves:
        return Ghost(other.model.name, poses.p, poses.e)
    after = np.clip(np.searchsorted(other.t, states.t), 1, len(other.t) - 1)
    share = np.clip((states.t - other.t[after - 1]) / np.diff(other.t)[after - 1], 0.0, 1.0)[:, None, None]
    p = (1 - share) * poses.p[after - 1] + share * poses.p[after]
    e = (1 - share) * poses.e[after - 1] + share * poses.e[after]
    return Ghost(other.model.name, p, e / np.linalg.norm(e, axis=-1, keepdims=True))
