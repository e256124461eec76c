"""Scenes as data: where solids are, whose they are, and what cannot be drawn."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_motions import Swing, pendulum, swing

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.model.shapes import Capsule, Cylinder, Ring, Sphere
from mechgrad.visualization.scene import Scene, Surface, scene_of
from mechgrad.visualization.scene.quaternions import euler_parameters


def of_layer(scene: Scene, layer: str) -> list:
    return [node for node in scene.nodes if node.layer == layer]


def test_a_link_goes_from_joint_to_joint() -> None:
    scene = scene_of(mg.gallery.double_pendulum())
    upper, lower = (node.shape for node in of_layer(scene, "bodies"))
    assert isinstance(upper, Capsule)
    assert isinstance(lower, Capsule)
    np.testing.assert_allclose([upper.start, upper.end], [(0, 0, 0), (0, 0, -1)], atol=1e-12)
    np.testing.assert_allclose([lower.start, lower.end], [(0, 0, 0), (0, 0, -1)], atol=1e-12)  # to its marker
    assert lower.end_radius is not None
    assert lower.end_radius < lower.radius


def test_poses_are_those_of_the_bodies() -> None:
    """The bob of a pendulum at an angle x about y: its -z axis at (-sin x, 0, -cos x)."""
    motion = swing(pendulum())
    scene = scene_of(motion)
    w, x, y, z = scene.e[:, 0].T
    axis = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)
    np.testing.assert_allclose(
        axis, np.stack([np.sin(motion.q[:, 0]), 0 * motion.t, np.cos(motion.q[:, 0])], 1), atol=1e-12
    )
    assert np.ptp(axis[:, 0]) > 0.5


def test_euler_parameters_do_not_jump() -> None:
    angles = np.linspace(0.0, 4 * np.pi, 50)
    c, s, one, zero = np.cos(angles), np.sin(angles), np.ones(50), np.zeros(50)
    R = np.stack([c, -s, zero, s, c, zero, zero, zero, one], axis=-1).reshape(50, 1, 3, 3)
    e = euler_parameters(R)[:, 0]
    assert (np.einsum("ij,ij->i", e[1:], e[:-1]) > 0.9).all()
    np.testing.assert_allclose(np.abs(e[:, 0]), np.abs(np.cos(angles / 2)), atol=1e-12)


def test_velocities_are_those_of_centres_of_mass() -> None:
    motion = mg.kinematic_motion(pendulum(), [0.0, 0.5], {"pin": mg.functions.Polynomial((0, 2))})
    (layer,) = scene_of(motion).arrows
    assert (layer.name, layer.unit, layer.labels) == ("velocities", "m/s", ("bob",))
    np.testing.assert_allclose(layer.vectors[0, 0], (-2, 0, 0), atol=1e-12)
    np.testing.assert_allclose(layer.at[0, 0], (0, 0, -1), atol=1e-12)
    assert layer.scale in (0.05, 0.1, 0.2, 0.5)


def test_reactions_carry_the_weight() -> None:
    motion = mg.kinematic_motion(pendulum(), [0.0, 0.5], {"pin": mg.functions.Constant(0.0)})
    (layer,) = scene_of(motion, arrows=("reactions",)).arrows
    np.testing.assert_allclose(layer.vectors[0, 0], (0, 0, 2 * 9.81), atol=1e-9)


def test_loads_are_where_and_what_they_were_given() -> None:
    """Of a bob that hangs at rest: a push at its tip, a couple, a thruster that turns with it."""
    loads = [
        mg.Load("bob", force=(0, 3.0, 0), point="bob.com", torque=(0, 0, 0.5), name="push"),
        mg.Load("bob", force=(0, 0, 2.0), point=(0.1, 0, -1), axes="body"),
    ]
    motion = mg.simulate(pendulum(), [np.pi / 2], 0.02, step=0.01, loads=loads)
    forces, couples = scene_of(motion, arrows=("loads", "load couples")).arrows
    assert (forces.name, forces.unit, forces.labels) == ("loads", "N", ("push", "load.1"))
    np.testing.assert_allclose(forces.vectors[0], [(0, 3, 0), (2, 0, 0)], atol=1e-12)
    np.testing.assert_allclose(forces.at[0], [(-1, 0, 0), (-1, 0, -0.1)], atol=1e-12)
    assert (couples.unit, couples.labels) == ("N m", ("push",))
    np.testing.assert_allclose(couples.vectors[0], [(0, 0, 0.5)], atol=1e-12)


def test_what_drives_a_hinge_lies_along_its_axis() -> None:
    """A constant torque and a motor about a hinge add up; a slide has forces, and a guided one its driver's."""
    plain = pendulum()
    motor = mg.forces.Motor("drive", "pin", mg.functions.Polynomial((1.0, 50.0)))
    driven = mg.Model("driven", plain.bodies, plain.joints, forces=[motor])
    motion = mg.simulate(driven, [0.3], 0.02, step=0.01, tau=[4.0])
    (layer,) = scene_of(motion, arrows=("driving torques", "driving forces")).arrows
    assert (layer.name, layer.unit, layer.labels) == ("driving torques", "N m", ("pin",))
    np.testing.assert_allclose(layer.vectors[:, 0], [(0, 5, 0), (0, 5.5, 0), (0, 6, 0)], atol=1e-12)
    np.testing.assert_allclose(layer.at[:, 0], 0, atol=1e-12)
    lift = mg.Model("lift", [mg.Body("load", 2.0)], [mg.Prismatic("up", "ground", "load", axis=(0, 0, 1))])
    guided = mg.kinematic_motion(lift, [0.0, 0.5], {"up": mg.functions.Polynomial((0, 0, 0.5))})
    (layer,) = scene_of(guided, arrows=("driving torques", "driving forces")).arrows
    assert (layer.name, layer.unit, layer.labels) == ("driving forces", "N", ("up",))
    np.testing.assert_allclose(layer.vectors[0, 0], (0, 0, 2 * (9.81 + 1.0)), atol=1e-9)


def test_contact_forces_carry_the_weight() -> None:
    """A ball at rest on the floor, pressed in as deep as its weight asks: the floor pushes up at the lowest point."""
    ball = mg.Body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    contact = mg.forces.SphereContact("touch", "ball.origin", 0.2, "ground.origin", "up", stiffness=1e4, exponent=1.0)
    model = mg.Model(
        "ball", [ball], [mg.Floating("free", "ground", "ball")], vectors=[mg.Vector("up", "ground", (0, 0, 1))],
        forces=[contact],
    )  # fmt: skip
    q = model.neutral()
    q[2] = 0.2 - 9.81 / 1e4
    motion = mg.simulate(model, q, 0.01, step=1e-3)
    scene = scene_of(motion, arrows=("contact forces",))
    (layer,) = scene.arrows
    np.testing.assert_allclose(layer.vectors[0, 0], (0, 0, 9.81), rtol=1e-6)
    np.testing.assert_allclose(layer.at[0, 0], (0, 0, q[2] - 0.2), atol=1e-9)
    assert scene.floor == 0.0


def test_wheels_are_rings_of_their_own_radius() -> None:
    scene = scene_of(mg.gallery.bicycle("rolling"))
    radii = sorted(node.shape.radius for node in scene.nodes if isinstance(node.shape, Ring))
    assert radii == [0.30, 0.35]
    assert scene.floor == 0.0


def test_springs_go_between_their_points() -> None:
    scene = scene_of(mg.state(mg.gallery.five_bar(), mg.gallery.five_bar_start()))
    assert {(item.name, item.kind) for item in scene.stretched} == {("S1", "coil"), ("S2", "coil")}
    first = scene.stretched[0]
    np.testing.assert_allclose(first.point_a, (np.sqrt(2), 0, 0))
    assert (first.frame_b, first.point_b.tolist()) == (-1, [1, 0, 0])


def test_planar_mechanisms_are_seen_across_their_plane() -> None:
    scene = scene_of(mg.state(mg.gallery.five_bar(), mg.gallery.five_bar_start()))
    np.testing.assert_allclose(scene.up, (0, 1, 0), atol=1e-12)
    assert scene.eye[2] > 0.9
    upright = scene_of(mg.gallery.double_pendulum())
    assert upright.eye[1] < -0.9  # z up, x to the right


def test_what_the_user_says_is_what_is_drawn() -> None:
    shape = [
        mg.shapes.Sphere(0.2, origin=(0, 0, -1), colour="#d55e00"),
        mg.shapes.Cylinder((0, 0, 0), (0, 0, -1), 0.02),
    ]
    nodes = of_layer(scene_of(pendulum(shape=shape)), "bodies")
    assert [node.shape for node in nodes] == shape
    assert isinstance(nodes[0].shape, Sphere)
    assert isinstance(nodes[1].shape, Cylinder)
    assert nodes[0].colour == "#d55e00"


def test_massless_frames_are_not_seen() -> None:
    scene = scene_of(mg.gallery.human())
    drawn = {scene.frames[node.frame] for node in scene.nodes if node.layer == "bodies"}
    assert drawn == {body.name for body in mg.gallery.human().bodies if body.mass}


def test_fine_motions_are_thinned_out_and_keep_their_ends() -> None:
    motion = swing(pendulum(), n=50_001, duration=5.0)
    scene = scene_of(motion)
    assert 480 <= len(scene.t) <= 520
    assert scene.t[[0, -1]].tolist() == [0.0, 5.0]
    assert len(scene_of(swing(pendulum(), n=1001, duration=10.0)).t) == 1001  # a hundred per second: all


def test_a_ghost_moves_at_the_same_times() -> None:
    first, second = swing(pendulum(), 11), swing(pendulum(), 101)
    (ghost,) = scene_of(first, ghost=second).ghosts
    np.testing.assert_allclose(ghost.e, scene_of(first).e, atol=1e-12)
    with pytest.raises(InputError, match="has others"):
        scene_of(first, ghost=mg.gallery.double_pendulum())


def test_curves_have_units() -> None:
    motion = mg.kinematic_motion(pendulum(), [0.0, 0.5], {"pin": mg.functions.Polynomial((0, 2))})
    measures = [mg.measures.JointCoordinate("pin"), mg.measures.PointPosition("bob.com")]
    curves = scene_of(motion, measures=measures).curves
    assert [curve.unit for curve in curves] == ["rad", "m", "m", "m"]
    assert [curve.label[-1] for curve in curves[1:]] == ["x", "y", "z"]
    np.testing.assert_allclose(curves[0].values, [0.0, 1.0], atol=1e-12)


def test_modes_swing() -> None:
    mode = mg.linearise(pendulum(), {"pin": 0.0}).modes[0]
    scene = scene_of(mode, amplitude=0.3)
    np.testing.assert_allclose(2 * np.arccos(np.abs(scene.e[:, 0, 0])).max(), 0.3, rtol=1e-9)


# ---- what cannot be drawn


def test_numbers_that_are_not_finite_are_named() -> None:
    motion = swing(pendulum())
    motion.q[7, 0] = np.nan
    with pytest.raises(InputError, match=r"not finite: q of 'pin' is nan at t = 0\.7 s"):
        scene_of(motion)


def test_bodies_without_length_are_seen_all_the_same() -> None:
    point = mg.Model("point", [mg.Body("mass", 1.0)], [mg.Revolute("pin", "ground", "mass")])
    (node,) = of_layer(scene_of(point), "bodies")
    assert isinstance(node.shape, Sphere)
    assert 0.01 < node.shape.radius < 1.0
    with pytest.raises(mg.ModelError, match="has no length"):
        mg.shapes.Capsule((0, 0, 1), (0, 0, 1), 0.1)


def test_a_missing_mesh_is_named() -> None:
    model = pendulum(shape=mg.shapes.Mesh("nowhere/bracket.stl"))
    with pytest.raises(InputError, match=r"body 'bob': there is no mesh file 'nowhere/bracket\.stl'"):
        scene_of(model)


def test_meshes_are_read(tmp_path) -> None:
    path = tmp_path / "corner.obj"
    path.write_text("v 0 0 0\nv 1000 0 0\nv 0 1000 0\nf 1 2 3\n")
    turned = mg.shapes.Mesh(str(path), scale=0.001, origin=(0, 0, 1), orientation=(1, 0, 0, 1))
    (node,) = of_layer(scene_of(pendulum(shape=turned)), "bodies")
    assert isinstance(node.shape, Surface)
    corners = {tuple(np.round(x, 9) + 0.0) for x in node.shape.vertices}
    assert corners == {(0, 0, 1), (0, 1, 1), (-1, 0, 1)}  # millimetres, a quarter turn about z
    path.write_text("nothing of use")
    with pytest.raises(InputError, match="body 'bob'"):
        scene_of(pendulum(shape=turned))


@pytest.mark.parametrize(
    ("thing", "options", "message"),
    [
        ("a text", {}, "cannot draw a str"),
        (Swing(pendulum(), np.zeros(0), np.zeros((0, 1))), {}, "no instant"),
        (Swing(pendulum(), np.zeros(2), np.zeros((2, 3))), {}, "3 coordinates"),
        (Swing(pendulum(), np.zeros(2), np.zeros((4, 2, 1))), {}, "holds 4 starts"),
        (Swing(pendulum(), np.array([1.0, 0.0]), np.zeros((2, 1))), {}, "increase"),
        (pendulum(), {"trails": ["tip"]}, "no point 'tip'"),
        (pendulum(), {"trails": "tip"}, "is the string"),
        (pendulum(), {"arrows": ["weights"]}, "unknown arrows 'weights'"),
        (pendulum(), {"eye": (0, 0, 0)}, "eye is"),
        (pendulum(), {"measures": [mg.measures.JointCoordinate("pin")]}, "over the time of a motion"),
    ],
)
def test_bad_input_is_explained(thing: object, options: dict, message: str) -> None:
    with pytest.raises((InputError, mg.ModelError), match=message):
        scene_of(thing, **options)


# ---- ground that is not level


def wheel(**tyre: object) -> mg.Model:
    bodies = [mg.Body("hub", 10.0), mg.Body("wheel", 4.0, inertia=(0.05, 0.1, 0.05))]
    joints = [
        mg.Prismatic("ahead", "ground", "hub", (0, 0, 0.299), axis=(1, 0, 0)),
        mg.Revolute("axle", "hub", "wheel", axis=(0, 1, 0)),
    ]
    vectors = [mg.Vector("up", "ground", (0, 0, 1)), mg.Vector("axis", "wheel", (0, 1, 0))]
    force = mg.forces.Tyre("tyre", "wheel.origin", "axis", 0.3, "ground.origin", "up", stiffness=1e5, **tyre)
    return mg.Model("wheel", bodies, joints, vectors=vectors, forces=[force])


def test_steps_are_seen_where_wheels_come() -> None:
    model = wheel(ground=mg.surfaces.Step(start=0.5, height=-0.1, width=0.2))
    motion = Swing(model, np.linspace(0, 1, 11), np.outer(np.linspace(0, 1.5, 11), (1.0, 3.0)))
    scene = scene_of(motion)
    (terrain,) = of_layer(scene, "terrain")
    assert isinstance(terrain.shape, Surface)
    x, z = terrain.shape.vertices[:, 0], terrain.shape.vertices[:, 2]
    assert x.min() < -0.1
    assert x.max() > 1.6
    np.testing.assert_allclose(z[x < 0.5], 0.0, atol=1e-12)
    np.testing.assert_allclose(z[x > 0.7], -0.1, atol=1e-12)
    assert -0.15 < scene.floor < -0.1
    a, b, c = (terrain.shape.vertices[terrain.shape.faces[:, k]] for k in range(3))
    assert (np.cross(b - a, c - a)[:, 2] > 0).all()  # seen from above


@pytest.mark.parametrize("ground", [None, "level"])
def test_tyres_are_pushed_up_at_their_lowest_point(ground: str | None) -> None:
    """A tyre pressed in by a millimetre: 100 N upwards, whichever law has it."""
    model = wheel(**({} if ground is None else {"ground": mg.surfaces.Step(start=9.0, height=0.1)}))
    motion = mg.kinematic_motion(model, [0.0, 0.1], {"ahead": 0.0, "axle": 0.0})
    (layer,) = scene_of(motion, arrows=("contact forces",)).arrows
    np.testing.assert_allclose(layer.vectors[0, 0], (0, 0, 100.0), atol=1e-6)
    np.testing.assert_allclose(layer.at[0, 0], (0, 0, -0.001), atol=1e-9)
