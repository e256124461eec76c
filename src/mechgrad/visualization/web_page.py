"""A scene as a page of HTML: one file with three.js, the solids and all poses, that opens offline.

Numbers travel as differences over time of whole multiples of a resolution (2e-6 of the size for places, 2e-5 for Euler
parameters, 1e-4 of the largest of their layer for arrows and curves), packed by gzip, which browsers unpack by
themselves. A browser of 2023 or later opens it (DecompressionStream).
"""

from __future__ import annotations

import base64
import gzip
import json
from html import escape
from pathlib import Path as File
from typing import Any

import numpy as np

from mechgrad.errors import InputError, printable
from mechgrad.model.shapes import Box, Capsule, Cylinder, Ring, Shape, Sphere
from mechgrad.typing import Array, FloatArray
from mechgrad.visualization.scene import Node, Path, Scene, Stretched, Surface
from mechgrad.visualization.scene.colours import ARROWS
from mechgrad.visualization.three import three_js

__all__ = ["animation_html", "scene_data"]

PLACES, TURNS, SHARES = 2e-6, 2e-5, 1e-4
LIVE = "/live"  # where a page asks for what comes
HEIGHT = 480  # of a fragment in a notebook or a report [px]
_PAGE = File(__file__).parent / "page"


def animation_html(
    scene: Scene, *, standalone: bool = True, live: bool = False, answers: bool = False, strip: int = 0
) -> str:
    """The animation as text of HTML that needs nothing else: no network, no other file.

    standalone : a page of its own; otherwise a fragment for notebooks and reports, the page within a frame
    live : of a page that a viewer serves: ask it for poses that come while a march goes on
    answers : may send pictures to whoever serves it
    strip : so many instants in one picture that stands still, for papers; 0 is an animation

    A page that holds the fragment and has a Content-Security-Policy must allow script-src and style-src
    'unsafe-inline', and img-src data: and blob:.

    >>> from mechgrad.visualization.scene import scene_of
    >>> page = animation_html(scene_of(pendulum))
    >>> page.startswith("<!DOCTYPE html>"), "://" in page.split("<script")[0]
    (True, False)
    """
    described, numbers = scene_data(scene)
    described |= {"live": LIVE if live else "", "strip": int(strip)}
    text = _filled(
        _PAGE.joinpath("page.html").read_text(encoding="utf-8"),
        {
            "TITLE": escape(printable(scene.name)),
            "CONNECT": "'self'" if live or answers else "'none'",
            "STYLE": _PAGE.joinpath("page.css").read_text(encoding="utf-8"),
            "THREE": _packed(three_js().encode("utf-8")),
            "SCENE": _packed(json.dumps(described, separators=(",", ":")).encode("utf-8")),
            "NUMBERS": _packed(numbers),
            "SCRIPT": "\n".join(
                _PAGE.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in ("solids", "stage", "controls")
            ),
        },
    )
    if standalone:
        return text
    return (
        f'<iframe title="{escape(printable(scene.name))}, animated" srcdoc="{escape(text)}" loading="lazy" '
        f'style="width:100%;height:{HEIGHT}px;border:0;border-radius:8px"></iframe>'
    )


def _filled(template: str, parts: dict[str, str]) -> str:
    """The template with each {{NAME}} replaced, in one pass: no part is looked through for the names of others."""
    pieces = template.split("{{")
    found = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        found += [parts[name], rest]
    return "".join(found)


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


class _Numbers:
    """Arrays, one behind the other as int32, with where each lies."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.length = 0

    def add(self, values: Array, resolution: float) -> dict[str, Any]:
        """Keep values (nt, ...) as differences over time; they are read as the sums times the resolution."""
        steps = np.rint(np.asarray(values, float) / resolution)
        if steps.size and np.abs(steps).max() > 2**31 - 2:
            raise InputError(
                "the scene goes further than so many times its size that its places cannot be told apart in a picture."
            )
        whole = steps.reshape(len(steps), -1).T.astype(np.int64)
        whole = np.diff(whole, axis=1, prepend=0)
        data = np.ascontiguousarray(whole.astype("<i4"))  # one channel after the other
        found = {"from": self.length, "channels": int(data.shape[0]), "of": int(data.shape[1]), "unit": resolution}
        self.parts.append(data.tobytes())
        self.length += data.size
        return found


def moving_frames(scene: Scene) -> list[int]:
    """Numbers of the bodies whose poses the page needs, in its order."""
    found = {node.frame for node in scene.nodes} | {trail.frame for trail in scene.trails}
    found |= {frame for item in scene.stretched for frame in (item.frame_a, item.frame_b)}
    return sorted(frame for frame in found if frame >= 0)


def scene_data(scene: Scene) -> tuple[dict[str, Any], bytes]:
    """The scene as what JSON holds, and its numbers over time as bytes."""
    numbers = _Numbers()
    place = PLACES * scene.size
    moved = moving_frames(scene)
    number = {frame: k for k, frame in enumerate(moved)} | {-1: -1}
    duration = float(scene.t[-1] - scene.t[0])
    described: dict[str, Any] = {
        "name": printable(scene.name),
        "frames": [printable(scene.frames[frame]) for frame in moved],
        "t": numbers.add(scene.t[:, None] - scene.t[0], (duration or 1.0) * 1e-8),
        "t0": float(scene.t[0]),
        "p": numbers.add(scene.p[:, moved], place),
        "e": numbers.add(scene.e[:, moved], TURNS),
        "centre": numbers.add(scene.centre, 10 * place),
        "nodes": [_node(node, number[node.frame], scene.size) for node in scene.nodes],
        "stretched": [_stretched(item, number) for item in scene.stretched],
        "up": _rounded(scene.up),
        "eye": _rounded(scene.eye),
        "floor": _number(scene.floor),
        "radius": _number(scene.radius),
        "span": _number(scene.span),
        "box": _rounded(scene.box),
        "all_boxes": _rounded(scene.all_boxes),
        "size": _number(scene.size),
        "follows": bool(scene.follows),
        "trails": [
            {"name": printable(trail.name), "frame": number[trail.frame], "at": _rounded(trail.point)}
            for trail in scene.trails
        ],
    }
    described |= _layers(scene, numbers, moved)
    return described, b"".join(numbers.parts)


def _layers(scene: Scene, numbers: _Numbers, moved: list[int]) -> dict[str, Any]:
    """What lies over the solids: arrows, curves, ghosts."""
    found: dict[str, Any] = {"arrows": [], "curves": [], "ghosts": []}
    for layer in scene.arrows:
        largest = float(np.abs(layer.vectors).max()) or 1.0
        found["arrows"].append(
            {
                "name": layer.name, "unit": layer.unit, "scale": layer.scale, "labels": list(layer.labels),
                "colour": ARROWS[layer.name], "at": numbers.add(layer.at, 50 * PLACES * scene.size),
                "vectors": numbers.add(layer.vectors, SHARES * largest),
            }
        )  # fmt: skip
    for curve in scene.curves:
        largest = float(np.abs(curve.values).max()) or 1.0
        found["curves"].append(
            {
                "label": printable(curve.label), "unit": curve.unit,
                "values": numbers.add(curve.values[:, None], SHARES * largest),
            }
        )  # fmt: skip
    for ghost in scene.ghosts:
        found["ghosts"].append(
            {
                "name": printable(ghost.name), "p": numbers.add(ghost.p[:, moved], PLACES * scene.size),
                "e": numbers.add(ghost.e[:, moved], TURNS),
            }
        )  # fmt: skip
    return found


def _number(x: float) -> float:
    return float(f"{x:.6g}")


def _rounded(x: Any) -> list[float]:
    return [_number(v) for v in np.asarray(x, float).ravel()]


def _node(node: Node, frame: int, size: float) -> dict[str, Any]:
    return {
        "name": printable(node.name), "layer": node.layer, "frame": frame, "colour": node.colour,
        **_shape(node.shape, size),
    }  # fmt: skip


def _stretched(item: Stretched, number: dict[int, int]) -> dict[str, Any]:
    return {
        "name": printable(item.name), "kind": item.kind, "layer": "springs", "colour": item.colour,
        "frames": [number[item.frame_a], number[item.frame_b]], "a": _rounded(item.point_a),
        "b": _rounded(item.point_b), "radius": _number(item.radius),
    }  # fmt: skip


def _shape(shape: Shape | Surface | Path, size: float) -> dict[str, Any]:
    if isinstance(shape, Capsule):
        far = shape.radius if shape.end_radius is None else shape.end_radius
        return {"kind": "capsule", "a": _rounded(shape.start), "b": _rounded(shape.end),
                "radii": _rounded([shape.radius, far])}  # fmt: skip
    if isinstance(shape, Cylinder):
        return {"kind": "cylinder", "a": _rounded(shape.start), "b": _rounded(shape.end), "radius": shape.radius}
    if isinstance(shape, Sphere):
        return {"kind": "sphere", "at": _rounded(shape.origin), "turn": _rounded(shape.orientation),
                "radii": _rounded(shape.radius * np.array(shape.stretch))}  # fmt: skip
    if isinstance(shape, Box):
        return {"kind": "box", "at": _rounded(shape.origin), "turn": _rounded(shape.orientation),
                "size": _rounded(shape.size)}  # fmt: skip
    if isinstance(shape, Ring):
        return {"kind": "ring", "at": _rounded(shape.origin), "axis": _rounded(shape.axis), "radius": shape.radius,
                "tube": shape.tube, "spokes": shape.spokes}  # fmt: skip
    if isinstance(shape, Path):
        return {"kind": "path", "points": _coarse(shape.points, size), "radius": shape.radius}
    assert isinstance(shape, Surface)
    return {"kind": "surface", "vertices": _coarse(shape.vertices, size), "faces": shape.faces.ravel().tolist(),
            "smooth": shape.smooth}  # fmt: skip


def _coarse(points: FloatArray, size: float) -> list[float]:
    """Coordinates to 1e-5 of the size."""
    digits = int(np.ceil(-np.log10(1e-5 * size)))
    return [float(x) for x in np.round(points, digits).ravel()]
