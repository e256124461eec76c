"""Ground that is not level: steps, bumps, height maps, as far as a mechanism comes; and hulls."""

from __future__ import annotations

from typing import Any

import numpy as np

from mechgrad.model.forces.ground_touch import surface_axes
from mechgrad.model.surfaces import Superellipsoid
from mechgrad.typing import FloatArray
from mechgrad.visualization.scene.colours import EARTH, HULL
from mechgrad.visualization.scene.nodes import Node, Surface
from mechgrad.visualization.scene.outline import Outline, marker_place, vector_place

CELLS, ACROSS = 160, 40  # of a map, along the longer way and at least across
LINES = 32  # of a hull, from pole to pole
MARGIN = 0.45  # of the size, around where something touches


def ground_nodes(outline: Outline) -> list[Node]:
    """One map for each ground; forces that touch the same ground share it."""
    grounds: list[tuple[Any, tuple[str, FloatArray], FloatArray, list[Any]]] = []
    for force in outline.model.forces:
        surface = getattr(force, "ground", None)
        place = marker_place(outline.model, getattr(force, "plane_point", None))
        normal = vector_place(outline.model, getattr(force, "normal", None))
        if surface is None or place is None or normal is None:
            continue
        for known, at, n, forces in grounds:
            if (
                known == surface
                and at[0] == place[0]
                and np.array_equal(at[1], place[1])
                and np.array_equal(n, normal[1])
            ):
                forces.append(force)
                break
        else:
            grounds.append((surface, place, normal[1], [force]))
    found = [(_hull if isinstance(ground[0], Superellipsoid) else _map)(outline, *ground) for ground in grounds]
    return [node for node in found if node is not None]


def _hull(
    outline: Outline, surface: Superellipsoid, place: tuple[str, FloatArray], normal: FloatArray, forces: list[Any]
) -> Node:
    """A closed surface, as triangles between meridians and parallels, which are denser where it bends."""
    i, k = np.mgrid[0 : LINES + 1, 0 : 2 * LINES]
    polar, turn = np.pi * i / LINES, np.pi * k / LINES
    u = np.stack([np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)], axis=-1)
    u = np.sign(u) * np.abs(u) ** (2.0 / surface.order)
    halves = np.real([surface.half_length, surface.half_width, surface.half_height])
    points = place[1] + (u * halves).reshape(-1, 3) @ np.real(surface_axes(normal, surface)).T
    a, b = ((2 * LINES * i + (k + more) % (2 * LINES))[:-1].ravel() for more in (0, 1))
    c, d = a + 2 * LINES, b + 2 * LINES
    faces = np.concatenate([np.stack([a, c, b], axis=1), np.stack([b, c, d], axis=1)])
    return Node(f"hull of {forces[0].name}", "terrain", outline.frames[place[0]], Surface(points, faces, True), HULL)


def _map(
    outline: Outline, surface: Any, place: tuple[str, FloatArray], normal: FloatArray, forces: list[Any]
) -> Node | None:
    axes = np.real(surface_axes(normal, surface))
    frame = outline.frames[place[0]]
    ways = []
    for force in forces:
        body, centre = marker_place(outline.model, force.point) or ("ground", np.zeros(3))
        way = outline.poses.point(outline.frames[body], centre) - outline.poses.point(frame, place[1])
        ways.append((way if frame < 0 else np.einsum("tji,tj->ti", outline.poses.R[:, frame], way)) @ axes)
    way = np.concatenate(ways)[:, :2]
    pad = MARGIN * outline.size
    low, high = way.min(axis=0) - pad, way.max(axis=0) + pad
    step = float((high - low).max()) / CELLS
    x, y = (np.linspace(a, b, max(ACROSS, round((b - a) / step)) + 1) for a, b in zip(low, high, strict=True))
    X, Y = np.meshgrid(x, y, indexing="ij")
    Z = np.real(np.asarray(surface.elevation(X, Y), dtype=complex)) + np.zeros_like(X)
    points = place[1] + np.stack([X, Y, np.nan_to_num(Z)], axis=-1).reshape(-1, 3) @ axes.T
    number = np.arange(X.size).reshape(X.shape)
    a, b, c, d = (part.ravel() for part in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]))
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    faces = faces[np.isfinite(Z.ravel())[faces].all(axis=1)]  # a map ends somewhere
    if not len(faces) or (frame < 0 and not np.nanmax(np.abs(Z)) > 0.0):
        return None  # a level ground is the floor
    return Node(f"ground of {forces[0].name}", "terrain", frame, Surface(points, faces, smooth=True), EARTH)
