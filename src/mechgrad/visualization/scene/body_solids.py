"""Bodies: what their users say they look like; else links between the places where joints hold them."""

from __future__ import annotations

from pathlib import Path as File
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from mechgrad.errors import InputError
from mechgrad.model.body import Body
from mechgrad.model.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from mechgrad.typing import FloatArray, IntArray
from mechgrad.visualization.scene.colours import GROUND, shaded
from mechgrad.visualization.scene.nodes import Node, Surface
from mechgrad.visualization.scene.outline import Outline
from mechgrad.visualization.scene.quaternions import euler_parameters, rotation

FLAT = 0.02  # of their extent: points that miss a line or a plane by less lie on it
SLENDER_INERTIA = 0.5  # of that of a uniform rod from the joint through the centre of mass, to be drawn as one
ROUND, FLAT_DISC = 0.02, 1.5  # of moments of inertia: how equal two are, how large the third is, of a disc
DENSITY = 1000.0  # [kg/m^3] of a body that nothing but its mass describes
TAPER = (1.12, 0.82)  # radii at the near and at the far end
MOST_TRIANGLES = 200_000


def body_nodes(outline: Outline) -> list[Node]:
    """Every body that has mass, a shape, or places to be linked."""
    nodes: list[Node] = []
    for body in outline.model.bodies:
        colour = outline.colours.get(body.name, GROUND)
        frame = outline.frames[body.name]
        if body.name in outline.balls | outline.on_rails:
            continue
        if body.shapes:
            nodes += [shaped_node(body.name, frame, shape, colour) for shape in body.shapes]
        else:
            nodes += [Node(body.name, "bodies", frame, *x) for x in _made_up(outline, body, colour)]
    return nodes


def shaped_node(name: str, frame: int, shape: Shape, colour: str) -> Node:
    """A shape that was asked for; meshes are read."""
    own = getattr(shape, "colour", None) or colour
    return Node(name, "bodies", frame, read_mesh(shape, name) if isinstance(shape, Mesh) else shape, own)


def _made_up(outline: Outline, body: Body, colour: str) -> list[tuple[Shape | Surface, str]]:
    places = outline.places(body.name)
    if not body.mass and len(places) < 2:
        return []
    if not places:
        return [(_lump(outline, body), colour)]
    if len(places) == 1:
        return _hung(outline, body, places[0], colour)
    points = np.array(places)
    centre = points.mean(axis=0)
    spread = np.linalg.svd(points - centre, compute_uv=False)
    if len(points) == 2 or spread[1] < FLAT * spread[0]:
        along = np.linalg.svd(points - centre)[2][0]
        order = np.argsort((points - centre) @ along)
        first, last = (places[order[0]], places[order[-1]])
        if np.linalg.norm(last - places[0]) < np.linalg.norm(first - places[0]):
            first, last = last, first
        middle = next((x for x in places if np.linalg.norm(x - np.real(body.com)) < 0.01 * outline.size), None)
        disc = None if middle is None else _disc(outline, body, last - first)
        if disc is not None:
            return [(_capsule(outline, body, first, last, 0.5), shaded(colour, 0.25)), (disc, colour)]
        return [(_capsule(outline, body, first, last), colour)]
    return _frame(outline, body, points, spread, colour)


def _lump(outline: Outline, body: Body) -> Shape:
    """A body that nothing holds at a place: the cuboid with its mass and inertia, else a cube of the density of water,
    of a size that fits the picture."""
    moments, axes = np.linalg.eigh(np.real(body.inertia))
    squares = 6.0 * (moments.sum() - 2.0 * moments) / float(np.real(body.mass))
    if squares.max() > 0.0:
        edges = np.sqrt(np.maximum(squares, 1e-4 * squares.max()))
        return Box(tuple(edges), tuple(np.real(body.com)), _turn(axes))
    edge = float(np.clip(np.cbrt(np.real(body.mass) / DENSITY), 0.06 * outline.size, 0.35 * outline.size))
    return Box((edge, edge, edge), origin=tuple(np.real(body.com)))


def _hung(outline: Outline, body: Body, place: FloatArray, colour: str) -> list[tuple[Shape | Surface, str]]:
    """A body on one joint: a uniform rod, or a ball on a rod, as its inertia says; a ball where it has no length."""
    com = np.real(body.com)
    arm = com - place
    length = float(np.linalg.norm(arm))
    J, m = np.real(body.inertia), float(np.real(body.mass))
    disc = _disc(outline, body, arm)
    heavy = disc or _ball(outline, body)
    if length < 0.01 * outline.size:
        return [(heavy, colour)]
    across = float(np.trace(J)) / 2.0
    if disc is None and across > SLENDER_INERTIA * m * length**2 / 3.0:
        return [(_capsule(outline, body, place, place + 2.0 * arm), colour)]
    return [(_capsule(outline, body, place, com, 0.5), shaded(colour, 0.25)), (heavy, colour)]


def _ball(outline: Outline, body: Body) -> Shape:
    """The ball with its mass and mean moment of inertia, of a size that fits the picture."""
    gyration = float(np.sqrt(max(2.5 * np.trace(np.real(body.inertia)) / 3.0 / float(np.real(body.mass)), 0.0)))
    radius = float(np.clip(gyration, 0.03 * outline.size, 0.12 * outline.size))
    return Sphere(radius, origin=tuple(np.real(body.com)))


def _disc(outline: Outline, body: Body, arm: FloatArray) -> Shape | None:
    """The disc with its mass and inertia across an arm, if two moments are equal and the third is about their sum."""
    moments, axes = np.linalg.eigh(np.real(body.inertia))
    m, axial, across = float(np.real(body.mass)), float(moments[2]), float(moments[:2].mean())
    if not axial > 0.0 or np.ptp(moments[:2]) > ROUND * axial or axial < FLAT_DISC * across:
        return None
    radius = float(np.sqrt(2.0 * axial / m))
    if radius > 1.5 * outline.size or np.linalg.norm(np.cross(axes[:, 2], arm)) > 0.2 * radius:
        return None
    half = 0.5 * float(np.sqrt(max(12.0 * across / m - 3.0 * radius**2, (0.14 * radius) ** 2)))
    com = np.real(body.com)
    return Cylinder(tuple(com - half * axes[:, 2]), tuple(com + half * axes[:, 2]), radius)


def _capsule(outline: Outline, body: Body, start: FloatArray, end: FloatArray, thin: float = 1.0) -> Capsule:
    length = float(np.linalg.norm(end - start))
    r = thin * outline.radius(length, float(np.real(body.mass)) if thin == 1.0 else 0.0)
    return Capsule(tuple(start), tuple(end), TAPER[0] * r, TAPER[1] * r)


def _turn(axes: FloatArray) -> tuple[float, float, float, float]:
    """The quaternion of right-handed axes from columns of either hand."""
    R = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
    w, x, y, z = euler_parameters(R[None, None])[0, 0].tolist()
    return w, x, y, z


def _frame(
    outline: Outline, body: Body, points: FloatArray, spread: FloatArray, colour: str
) -> list[tuple[Shape | Surface, str]]:
    """Three places and more: a plate with round edges in their plane, or the solid between them."""
    r = 0.8 * outline.radius(float(spread[0]))
    centre = points.mean(axis=0)
    if len(points) == 3 or spread[2] < FLAT * spread[0]:
        e1, e2, n = np.linalg.svd(points - centre)[2]
        try:
            hull = ConvexHull(np.column_stack([(points - centre) @ e1, (points - centre) @ e2]))
        except QhullError:
            return [(_capsule(outline, body, points[0], points[-1]), colour)]
        rim = points[hull.vertices]
        edges: list[tuple[Shape | Surface, str]] = [
            (Capsule(tuple(a), tuple(b), r, r), colour) for a, b in zip(rim, np.roll(rim, -1, axis=0), strict=True)
        ]
        return [*edges, (_prism(rim, 0.45 * r * n), shaded(colour, 0.3))]
    hull = ConvexHull(points)
    sides = {tuple(sorted((int(f[i]), int(f[i - 1])))) for f in hull.simplices for i in range(3)}
    bars: list[tuple[Shape | Surface, str]] = [
        (Capsule(tuple(points[i]), tuple(points[j]), 0.7 * r, 0.7 * r), colour) for i, j in sorted(sides)
    ]
    return [*bars, (Surface(points, _outward(points, hull)), shaded(colour, 0.3))]


def _prism(rim: FloatArray, half: FloatArray) -> Surface:
    """The plate between two copies of a convex polygon."""
    k = len(rim)
    fan = [(0, i, i + 1) for i in range(1, k - 1)]
    sides = [(i, (i + 1) % k, k + i) for i in range(k)] + [((i + 1) % k, k + (i + 1) % k, k + i) for i in range(k)]
    faces = [(a + k, b + k, c + k) for a, b, c in fan] + [(c, b, a) for a, b, c in fan] + sides
    turned = np.dot(np.cross(rim[1] - rim[0], rim[2] - rim[0]), half) < 0
    found = np.array(faces)
    return Surface(np.vstack([rim - half, rim + half]), found[:, ::-1].copy() if turned else found)


def _outward(points: FloatArray, hull: ConvexHull) -> IntArray:
    """Faces of a hull, turned outwards."""
    faces = []
    for face, plane in zip(hull.simplices, hull.equations, strict=True):
        a, b, c = points[face]
        faces.append(face if np.cross(b - a, c - a) @ plane[:3] > 0 else face[::-1])
    return np.array(faces)


def read_mesh(shape: Mesh, name: str) -> Surface:
    """The triangles of a file; raise for one that is not there or cannot be read."""
    path = File(shape.file)
    if not path.is_file():
        raise InputError(
            f"body {name!r}: there is no mesh file {str(path)!r} (looked for in {File.cwd()}). Give the path from "
            "there, a whole one, or leave the shape out."
        )
    try:
        import trimesh
    except ImportError as error:
        raise InputError(
            f"body {name!r}: reading {path.name!r} needs trimesh, which is not installed: pip install mechgrad[viz]"
        ) from error
    try:
        found: Any = trimesh.load(str(path), force="mesh", process=False)
        vertices, faces = np.array(found.vertices, np.float64), np.array(found.faces, np.int64)
    except Exception as error:  # whatever a reader of files stumbles over
        raise InputError(f"body {name!r}: {str(path)!r} cannot be read as a mesh: {error}") from error
    if not len(faces) or not np.isfinite(vertices).all():
        raise InputError(f"body {name!r}: the mesh {str(path)!r} has no triangles, or numbers that are not finite.")
    if len(faces) > MOST_TRIANGLES:
        raise InputError(
            f"body {name!r}: the mesh {str(path)!r} has {len(faces)} triangles; a page takes {MOST_TRIANGLES}. "
            "Decimate it first."
        )
    R = rotation(shape.orientation)
    return Surface(np.asarray(shape.scale * (vertices @ R.T) + np.array(shape.origin)), faces)
