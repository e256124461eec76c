"""What joints transmit: balance of every body, closed forms of statics, any joint cut; power against energy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import simpson

import mechgrad as mg
from mechgrad.gallery.mechanisms import five_bar, five_bar_start, slider_crank
from mechgrad.kinematics.assembly import assemble
from mechgrad.simulation.simulate import simulate

FIVE_BAR_JOINTS = ["A", "1", "2", "3", "B"]


def cut_elsewhere(model, joint, **more):
    """The same mechanism, opened at another joint."""
    given = {"points": model.points, "vectors": model.vectors, "gravity": model.gravity, "forces": model.forces}
    return mg.Model(model.name, model.bodies, model.joints, **{**given, **more}, cut=[joint])


def spring_forces(model, q, v):
    """(body, force on it, point) of every SpringDamper, from the motion of its two ends."""
    found = []
    for force in model.forces:
        ends = mg.kinematics.marker_motion(model, [force.point_a, force.point_b], q, v)
        gap, rate = ends.position[0] - ends.position[1], ends.velocity[0] - ends.velocity[1]
        length = np.linalg.norm(gap)
        pull = force.stiffness * (length - force.free_length) + force.damping * (gap @ rate) / length
        for k, (name, sign) in enumerate(((force.point_a, -1.0), (force.point_b, 1.0))):
            found.append((model.point(name).body, sign * pull * gap / length, ends.position[k]))
    return found


def unbalanced(model, q, v, reactions, loads=()):
    """Force and moment about the centre of mass that are left on each body, and the largest that act."""
    a = mg.forward_dynamics(model, q, v, loads=loads)
    bodies = mg.kinematics.body_motion(model, q, v, a)
    pushes = spring_forces(model, q, v)
    for load in loads:
        at = bodies.of(load.body)
        pushes.append((load.body, np.asarray(load.force), at.p + at.R @ np.asarray(load.point)))
    left, largest = [], 0.0
    for body in model.bodies:
        here = bodies.of(body.name)
        centre = here.p + here.R @ body.com
        arm = centre - here.p
        acceleration = here.a + np.cross(here.dw, arm) + np.cross(here.w, np.cross(here.w, arm))
        inertia = here.R @ body.inertia @ here.R.T
        force = body.mass * (np.asarray(model.gravity) - acceleration)
        moment = -(inertia @ here.dw + np.cross(here.w, inertia @ here.w))
        for name, f, x in pushes:
            if name == body.name:
                force, moment = force + f, moment + np.cross(x - centre, f)
        for joint in model.joints:
            if body.name not in (joint.parent, joint.child):
                continue
            sign = 1.0 if body.name == joint.child else -1.0
            child = bodies.of(joint.child)
            x = child.p + child.R @ joint.child_origin
            m, f = reactions.of(joint.name)
            force = force + sign * f
            moment = moment + sign * (m + np.cross(x - centre, f))
            largest = max(largest, np.abs(f).max())
        left.append(np.concatenate([force, moment]))
    return np.array(left), largest


def five_bar_state():
    """Half a second into the motion of the linkage, by the angles and rates of all five hinges."""
    motion = simulate(five_bar(), five_bar_start(), duration=0.5, samples=2)
    q, v = motion.q[-1], motion.v[-1]
    return dict(zip(FIVE_BAR_JOINTS, zip([*q, q.sum()], [*v, v.sum()], strict=True), strict=True))


@pytest.fixture(scope="module")
def angles():
    return five_bar_state()


@pytest.mark.parametrize("cut", FIVE_BAR_JOINTS)
def test_five_bar_balances_wherever_it_is_cut(cut, angles):
    model = cut_elsewhere(five_bar(), cut)
    q, v = (np.array([angles[name][k] for name in model.q_names]) for k in range(2))
    found = mg.joint_reactions(model, q, v, tau=0)
    left, largest = unbalanced(model, q, v, found)
    np.testing.assert_allclose(left, 0.0, atol=1e-10)
    assert largest > 10
    assert found.names == tuple(FIVE_BAR_JOINTS)
    uncut = five_bar()
    reference = mg.joint_reactions(uncut, *(np.array([angles[n][k] for n in uncut.q_names]) for k in range(2)), tau=0)
    np.testing.assert_allclose(found.force, reference.force, atol=1e-9)
    np.testing.assert_allclose(found.couple, reference.couple, atol=1e-9)
    np.testing.assert_allclose(found.couple[:, 2], 0.0, atol=1e-9)  # hinges without motors


def test_out_of_plane_loads_balance_and_the_cut_joint_has_no_part_in_them(angles):
    model = five_bar()
    q, v = (np.array([angles[name][k] for name in model.q_names]) for k in range(2))
    loads = [mg.Load("23", force=(3.0, -4.0, 12.0), point=(0.2, 0.1, 0.3))]
    found = mg.joint_reactions(model, q, v, loads=loads, tau=0)
    np.testing.assert_allclose(unbalanced(model, q, v, found, loads)[0], 0.0, atol=1e-10)
    assert found.of("B").force[2] == 0.0
    assert found.of("A").force[2] == pytest.approx(-12.0, abs=1e-9)


@pytest.mark.parametrize("cut", ["crank axis", "B", "C", "slide"])
def test_slider_crank_balances_wherever_it_is_cut(cut):
    found = []
    for joint in (cut, "B"):
        model = slider_crank(cut=joint, spring=True)
        point = assemble(slider_crank(spring=True), {"crank axis": 0.4}, {"crank axis": 3.0})
        slide = mg.kinematics.marker_motion(slider_crank(spring=True), ["PC", "rod.com"], point.q, point.v)
        held = {"PC.x": slide.position[0, 0]} if joint == "crank axis" else {"crank axis": 0.4}
        rates = {"PC.x": slide.velocity[0, 0]} if joint == "crank axis" else {"crank axis": 3.0}
        state = assemble(model, held, rates)
        same = mg.kinematics.marker_motion(model, ["PC", "rod.com"], state.q, state.v)
        np.testing.assert_allclose(same.velocity, slide.velocity, atol=1e-9)
        reactions = mg.joint_reactions(model, state.q, state.v, tau=0)
        left, largest = unbalanced(model, state.q, state.v, reactions)
        np.testing.assert_allclose(left, 0.0, atol=1e-9)
        assert largest > 10
        assert reactions.names == ("crank axis", "B", "C", "slide")
        found.append(reactions)
    np.testing.assert_allclose(found[0].force, found[1].force, atol=1e-8)
    np.testing.assert_allclose(found[0].couple, found[1].couple, atol=1e-8)
    np.testing.assert_allclose(found[0].of("B").couple, 0.0, atol=1e-9)  # a ball holds no moment


def bar(name, length):
    return mg.Body(name, 1.0, (length / 2, 0, 0), (0.1, 0.1, 0.1))


def leg(name, parent, child, at, start, child_origin=(0, 0, 0)):
    """A hinge about z that leaves `child` at an angle `start`."""
    half = start / 2
    return mg.Revolute(
        name, parent, child, at, orientation=(np.cos(half), 0, 0, np.sin(half)), child_origin=child_origin
    )


@pytest.mark.parametrize("cut", ["A", "B", "C"])
def test_two_bar_truss(cut):
    """Bars at 45 degrees under P at the apex: each foot carries P/2 up and P/2 inwards."""
    P, root = 100.0, np.sqrt(2.0)
    joints = [
        leg("A", "ground", "left", (0, 0, 0), np.pi / 4),
        leg("B", "ground", "right", (2, 0, 0), 3 * np.pi / 4),
        leg("C", "left", "right", (root, 0, 0), np.pi / 2, child_origin=(root, 0, 0)),
    ]
    model = mg.Model("truss", [bar("left", root), bar("right", root)], joints, gravity=(0, 0, 0), cut=[cut])
    loads = [mg.Load("left", force=(0, -P, 0), point=(root, 0, 0))]
    found = mg.joint_reactions(model, np.zeros(model.n_q), loads=loads, tau=0)
    wanted = {"A": (P / 2, P / 2, 0), "B": (-P / 2, P / 2, 0), "C": (P / 2, -P / 2, 0)}
    for name, force in wanted.items():
        np.testing.assert_allclose(found.of(name).force, force, atol=1e-9)
        np.testing.assert_allclose(found.of(name).couple, 0.0, atol=1e-9)


def test_ladder_with_a_tie():
    """An A-frame, one foot on rollers, P at the apex: feet carry P/2, the tie at half height pulls with P/2 (span 2,
    height 2: T * 1 = P/2 * 1), the apex passes it on."""
    P, length = 60.0, np.sqrt(5.0)
    up = np.arctan(2.0)
    joints = [
        leg("A", "ground", "left", (0, 0, 0), up),
        leg("C", "left", "right", (length, 0, 0), -2 * up),
    ]
    points = [
        mg.Point("tie left", "left", (length / 2, 0, 0)), mg.Point("tie right", "right", (length / 2, 0, 0)),
        mg.Point("foot", "right", (length, 0, 0)), mg.Point("O", "ground"),
    ]  # fmt: skip
    model = mg.Model(
        "frame",
        [bar("left", length), bar("right", length)],
        joints,
        points,
        [mg.Vector("up", "ground", (0, 1, 0))],
        gravity=(0, 0, 0),
        constraints=[
            mg.constraints.FixedDistance("tie", "tie left", "tie right", 1.0),
            mg.constraints.PointInPlane("roller", "foot", "O", "up"),
        ],
    )
    loads = [mg.Load("left", force=(0, -P, 0), point=(length, 0, 0))]
    found = mg.joint_reactions(model, [0.0, 0.0], loads=loads, tau=0)
    np.testing.assert_allclose(found.of("A").force, [0, P / 2, 0], atol=1e-9)
    np.testing.assert_allclose(found.of("C").force, [P / 2, -P / 2, 0], atol=1e-9)
    _, lam = mg.forward_dynamics(model, [0.0, 0.0], loads=loads, return_multipliers=True)
    np.testing.assert_allclose(lam, [P / 2, -P / 2], atol=1e-9)  # the mechanism feels the opposite


def test_two_closures_on_one_body_are_told_apart():
    """The same A-frame with a bar for a tie: one end of the bar is cut, and the roller acts on the same leg."""
    P, length = 60.0, np.sqrt(5.0)
    up = np.arctan(2.0)
    joints = [
        leg("A", "ground", "left", (0, 0, 0), up),
        leg("C", "left", "right", (length, 0, 0), -2 * up),
        leg("TL", "left", "tie", (length / 2, 0, 0), -up),
        leg("TR", "tie", "right", (1, 0, 0), -up, child_origin=(length / 2, 0, 0)),
    ]
    points = [mg.Point("foot", "right", (length, 0, 0)), mg.Point("O", "ground")]
    bars = [bar("left", length), bar("right", length), bar("tie", 1.0)]
    roller = mg.constraints.PointInPlane("roller", "foot", "O", "up")
    model = mg.Model(
        "frame", bars, joints, points, [mg.Vector("up", "ground", (0, 1, 0))], gravity=(0, 0, 0), constraints=[roller],
        cut=["TR"],
    )  # fmt: skip
    loads = [mg.Load("left", force=(0, -P, 0), point=(length, 0, 0))]
    found = mg.joint_reactions(model, np.zeros(3), loads=loads, tau=0)
    wanted = {"A": (0, P / 2, 0), "C": (P / 2, -P / 2, 0), "TL": (-P / 2, 0, 0), "TR": (-P / 2, 0, 0)}
    for name, force in wanted.items():
        np.testing.assert_allclose(found.of(name).force, force, atol=1e-9)


def test_a_slide_that_the_tree_walks_backwards():
    """Its point on the child is not where the tree has its own: the moment tells."""
    bodies = [mg.Body(name, 1.0, (0.2, 0.1, 0.3), (0.1, 0.2, 0.3)) for name in ("tube", "piston")]
    joints = [
        mg.Prismatic("strut", "tube", "piston", (0.1, 0, 0.2), child_origin=(0, 0.3, 0), axis=(1, 0, 1)),
        mg.Revolute("pin", "ground", "piston", child_origin=(0.4, 0, 0), axis=(0, 1, 0)),
    ]
    model = mg.Model("strut", bodies, joints)
    q, v = np.array([0.7, 0.4]), np.array([2.0, -1.0])
    found = mg.joint_reactions(model, q, v, tau=[0.0, 0.0])
    left, largest = unbalanced(model, q, v, found)
    np.testing.assert_allclose(left, 0.0, atol=1e-11)
    assert largest > 5


def test_a_free_joint_transmits_nothing_beside_contact_friction_and_springs():
    up, points = (
        mg.Vector("up", "ground", (0, 0, 1)),
        [mg.Point("floor", "ground"), mg.Point("rim", "ball", (0.1, 0, 0))],
    )
    forces = [
        mg.forces.SphereContact("touch", "ball.origin", 0.1, "floor", "up", stiffness=1e5, friction=0.4, damping=0.1),
        mg.forces.SpringDamper("leash", "rim", "floor", stiffness=200.0, damping=3.0, free_length=0.05),
        mg.forces.Bushing("mount", "ball.origin", "floor", stiffness=(10, 20, 30)),
    ]
    ball = mg.Body("ball", 2.0, (0.01, 0, 0), (0.01, 0.02, 0.015))
    model = mg.Model("ball", [ball], [mg.Floating("free", "ground", "ball")], points, [up], forces=forces)
    q, v = np.array([0.1, 0.2, 0.097, 0.9, 0.1, -0.3, 0.2]), np.array([0.5, -0.4, 0.1, 2.0, 1.0, -3.0])
    found = mg.joint_reactions(model, q, v, tau=0)
    np.testing.assert_allclose(found.force, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.couple, 0.0, atol=1e-9)
    a = mg.forward_dynamics(model, q, v)
    assert np.abs(a[:3] - [0, 0, -9.81]).max() > 1  # the forces are there


def test_motors_on_a_joint_are_part_of_what_it_transmits():
    pendulum = mg.Model(
        "pendulum",
        [mg.Body("bob", 2.0, (0, 0, -1.0), (0.1, 0.1, 0.1))],
        [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))],
        forces=[
            mg.forces.Motor("m", "pin", mg.functions.Constant(5.0)),
            mg.forces.TorsionSpring("s", "pin", stiffness=7.0),
        ],
    )
    found = mg.joint_reactions(pendulum, [0.3], [1.0], tau=[0.4])
    assert found.of("pin").couple[1] == pytest.approx(5.0 - 7.0 * 0.3 + 0.4, rel=1e-12)


@pytest.mark.parametrize(
    "how",
    [{"formulation": "ali3p", "step": 0.01}, {"formulation": "matrix-r", "step": 0.01, "scheme": "trapezoidal"}, {}],
    ids=str,
)
def test_along_a_motion(how):
    """Every sample is the state's own balance, whatever led there."""
    model = five_bar()
    motion = simulate(model, five_bar_start(), duration=0.2, samples=3, **how)
    found = motion.reactions()
    assert found.force.shape == found.couple.shape == (3, 5, 3)
    for k in range(3):
        one = mg.joint_reactions(model, motion.q[k], motion.v[k], tau=0)
        np.testing.assert_allclose(found.force[k], one.force, atol=1e-12)
        left, _ = unbalanced(model, motion.q[k], motion.v[k], one)
        np.testing.assert_allclose(left, 0.0, atol=1e-10)
    if not how:
        np.testing.assert_allclose(found.of("B").force[:, :2], -motion.multipliers, atol=1e-9)
    R = mg.kinematics.body_motion(model, motion.q).of("23").R
    turned = motion.reactions(axes="child").of("2").force
    np.testing.assert_allclose(turned, np.einsum("tij,ti->tj", R, found.of("2").force), atol=1e-12)
    with pytest.raises(mg.InputError, match="axes is 'body'"):
        motion.reactions(axes="body")
    assert len(motion.plot().axes) == 4


def test_complex_step_through_reactions():
    h, model = 1e-30, five_bar()
    moved = mg.joint_reactions(model.with_values({"23.mass": 1.5 + 1j * h}), five_bar_start(), tau=0)
    ends = [
        mg.joint_reactions(model.with_values({"23.mass": 1.5 + s * 1e-5}), five_bar_start(), tau=0) for s in (1, -1)
    ]
    np.testing.assert_allclose(moved.force.imag / h, (ends[0].force - ends[1].force) / 2e-5, atol=1e-7)
    assert np.abs(moved.force.imag / h).max() > 0.5


def test_power_is_the_rate_of_energy():
    """Springs, dampers, a constant force on the slide, a load in body axes: what they deliver is the energy gained."""
    model = slider_crank(spring=True)
    state = assemble(model, {"crank axis": 0.3}, {"crank axis": 8.0})
    tau = np.zeros(model.n_v)
    tau[model.v_slice("slide")] = 3.0
    loads = [mg.Load("rod", force=(1.0, 2.0, -3.0), torque=(0.1, 0.2, 0.3), point=(0.1, 0, 0), axes="body")]
    motion = simulate(model, state, duration=1.0, samples=801, tau=tau, loads=loads, rtol=1e-11, atol=1e-11)
    power = motion.power()
    gained = motion.kinetic_energy() + motion.potential_energy()
    for part in (power.laws, power.tau, power.loads):
        assert np.abs(simpson(part, x=motion.t)) > 1e-2
    assert simpson(power.total, x=motion.t) == pytest.approx(gained[-1] - gained[0], abs=1e-7)
    np.testing.assert_allclose(power.constraints, 0.0, atol=1e-8)
    np.testing.assert_allclose(np.gradient(gained, motion.t, edge_order=2), power.total, atol=5e-2)


def test_drivers_work():
    """A pendulum driven at an uneven rate: the driver's power is all that changes its energy."""
    model = mg.Model(
        "driven", [mg.Body("bob", 2.0, (0, 0, -1.0), (0.1, 0.1, 0.1))],
        [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))],
        constraints=[mg.constraints.Driver("drive", "pin", mg.functions.Polynomial((0.0, 1.0, 2.0)))],
    )  # fmt: skip
    start = assemble(model)
    motion = simulate(model, start, duration=1.0, samples=401, formulation="index1", rtol=1e-11, atol=1e-11)
    energy, power = motion.energy(), motion.power()
    assert simpson(power.constraints, x=motion.t) == pytest.approx(energy[-1] - energy[0], rel=1e-8)
    assert energy[-1] - energy[0] > 10
    assert np.all(power.laws == 0.0)
    assert np.all(power.tau == 0.0)


def test_energy_of_springs_in_a_batch():
    spring = mg.forces.TorsionSpring("s", "pin", stiffness=7.0, free_angle=0.2)
    model = mg.Model(
        "sprung", [mg.Body("bob", 2.0, (0, 0, -1.0))], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))],
        forces=[spring],
    )  # fmt: skip
    motion = simulate(model, [[0.5], [1.0]], duration=1.0, step=1e-3)
    np.testing.assert_allclose(motion.spring_energy(), 3.5 * (motion.q[..., 0] - 0.2) ** 2, rtol=1e-12)
    assert np.ptp(motion.energy(), axis=1).max() < 1e-6
    assert motion.power().laws.shape == (2, 1001)
