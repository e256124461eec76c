"""What joints transmit and how it changes, of springs, closed loops and rolling: balance of every body, virtual work,
complex steps through assembly and forward dynamics, differences, and the kernels of trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.oracles import STEP, by_parameter, by_q, by_x, relative_error
from support.random_trees import random_loads, random_state, random_tree
from torque_cases import CASES, bricard_state, closed_twice, sprung_pendulum

import mechgrad as mg
from mechgrad.errors import TooLargeError
from mechgrad.gallery import bricard, five_bar, five_bar_start
from mechgrad.inverse.tree_reactions import joint_reactions_derivatives as tree_derivatives
from mechgrad.mechanics import checked_states as states_module
from mechgrad.mechanics.reaction_derivatives import ConstrainedReactionDerivatives

LEVELS = {"z": "dz", "zd": "dzd", "zdd": "dzdd"}
# of forces on coordinates of the linkage that are driven as well: the drive makes up for them, the joint feels nothing
ON_DRIVEN_COORDINATES = ("rub.coulomb", "motor.torque.values.1")
derivatives_of = mg.terms.joint_reactions_derivatives


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return CASES[request.param]()


def stepped(case, path):
    """Model and loads with an imaginary step."""
    name, _, rest = path.partition(".")
    for k, load in enumerate(case.loads):
        if load.name == name:
            field, axis = rest.split(".")
            moved = np.asarray(getattr(load, field)) + 1j * STEP * np.eye(3)["xyz".index(axis)]
            return {"loads": [*case.loads[:k], replace(load, **{field: moved}), *case.loads[k + 1 :]]}
    return {"model": case.model.with_values({path: case.model.value(path) + 1j * STEP}, check=False)}


def stacked(found):
    return np.concatenate([found.couple, found.force], axis=-1)


def under_torques(case, driven, axes, **changes):
    """By another way: torques from forward dynamics alone, and what joints transmit under them."""
    model, loads = changes.get("model", case.model), changes.get("loads", case.loads)
    q, v, _ = case.state(**changes)
    tau = case.torques(driven, **changes)
    return stacked(mg.joint_reactions(model, q, v, tau=tau, t=case.t, loads=loads, axes=axes))


def compare(got, wanted):
    """To 1e-8 of the largest: the reference divides by differences of accelerations, the rest is rounding."""
    assert np.abs(wanted).max() > 1e-4
    np.testing.assert_allclose(got, wanted, atol=1e-8 * np.abs(wanted).max())


@pytest.mark.parametrize("axes", ["world", "parent", "child"])
def test_values_with_some_joints_driven(case, axes):
    """The torques of the drives, given as forces, lead to the same; other drives do not."""
    q, v, a = case.state()
    for driven in (case.driven, case.more):
        found = mg.joint_reactions(case.model, q, v, a, driven=driven, t=case.t, loads=case.loads, axes=axes)
        compare(stacked(found), under_torques(case, driven, axes))
    everything = mg.joint_reactions(case.model, q, v, a, t=case.t, loads=case.loads, axes=axes)
    some = mg.joint_reactions(case.model, q, v, a, driven=case.driven, t=case.t, loads=case.loads, axes=axes)
    assert np.abs(stacked(everything) - stacked(some)).max() > 1e-3 * np.abs(stacked(some)).max()


def test_virtual_work_of_hinges_and_slides(case):
    """Along its own freedom a joint of the tree transmits the torque of `inverse_dynamics`, less springs and motors."""
    q, v, a = case.state()
    model = case.model
    named = {"driven": case.more, "t": case.t, "loads": case.loads}
    found = mg.joint_reactions(model, q, v, a, axes="world", **named)
    tau = mg.inverse_dynamics(model, q, v, a, **named)
    bodies = mg.kinematics.body_motion(model, q)
    acting = set()  # on coordinates themselves
    for force in model.forces:
        acting |= {getattr(force, "joint", None), getattr(force, "coordinate", None)}
    checked = 0
    for joint in model.joints:
        if joint.name in model.cut or joint.name in acting or joint.type_name not in ("revolute", "prismatic"):
            continue
        if model.tree_joint(joint.name) is not joint:
            continue  # passed backwards
        R = np.eye(3) if joint.parent == "ground" else bodies.of(joint.parent).R
        axis = R @ (joint.axis / np.linalg.norm(joint.axis))
        wrench = found.of(joint.name)
        part = wrench.couple if joint.type_name == "revolute" else wrench.force
        assert axis @ part == pytest.approx(tau[model.v_slice(joint.name)][0], abs=1e-8 * np.abs(tau).max())
        checked += 1
    assert checked or case.model.name == "rolling wheel" or acting


def spring_on(model, body, q, v):
    """Force and moment about the world's origin of the springs between points on a body, by hand."""
    force, moment = np.zeros(3), np.zeros(3)
    for spring in (x for x in model.forces if isinstance(x, mg.forces.SpringDamper)):
        ends = mg.kinematics.marker_motion(model, [spring.point_a, spring.point_b], q, v)
        gap, rate = (x[0] - x[1] for x in (ends.position, ends.velocity))
        length = np.linalg.norm(gap)
        pull = spring.stiffness * (length - spring.free_length) + spring.damping * (gap @ rate) / length
        for k, (name, sign) in enumerate(((spring.point_a, -1.0), (spring.point_b, 1.0))):
            if model.point(name).body == body:
                f = sign * pull * gap / length
                force, moment = force + f, moment + np.cross(ends.position[k], f)
    return force, moment


@pytest.mark.parametrize("name", ["five-bar", "slider-crank", "linkage", "stewart"])
def test_every_body_is_in_balance_with_inertia_weight_loads_and_reactions(name):
    """Newton and Euler for each body, cut joints included: m (a - g), and moments about the world's origin. By second
    rates the force on a body changes as m a_com does."""
    case = CASES[name]()
    model, (q, v, a) = case.model, case.state()
    named = {"driven": case.driven, "t": case.t, "loads": case.loads}
    D = derivatives_of(model, q, v, a, independent=list(case.z), **named)
    R, bodies = D.reactions, mg.kinematics.body_motion(model, q, v, a)
    a_zdd = np.stack(
        [(case.state(zdd={**case.zdd, z: case.zdd[z] + 1j * STEP})[2]).imag / STEP for z in case.zdd], axis=1
    )
    largest = np.abs(R.force).max()
    for body in model.bodies:
        b = bodies.of(body.name)
        arm, inertia = b.R @ body.com, b.R @ body.inertia @ b.R.T
        force = body.mass * (b.a + np.cross(b.dw, arm) + np.cross(b.w, np.cross(b.w, arm)) - model.gravity)
        moment = inertia @ b.dw + np.cross(b.w, inertia @ b.w) + np.cross(b.p + arm, force)
        f, m = spring_on(model, body.name, q, v)
        for load in (x for x in case.loads if x.body == body.name):
            turn = b.R if load.axes == "body" else np.eye(3)
            point = model.body(body.name).com if isinstance(load.point, str) else np.asarray(load.point)
            pushed = turn @ load.force
            f, m = f + pushed, m + turn @ load.torque + np.cross(b.p + b.R @ point, pushed)
        changed = np.zeros((3, len(case.zdd)))
        for joint in model.joints:
            sign = (joint.child == body.name) - (joint.parent == body.name)
            child = bodies.of(joint.child)
            at = child.p + child.R @ joint.child_origin
            f = f + sign * R.of(joint.name).force
            m = m + sign * (R.of(joint.name).couple + np.cross(at, R.of(joint.name).force))
            changed += sign * D.of(joint.name, "zdd").force
        np.testing.assert_allclose(f, force, atol=1e-10 * largest)
        np.testing.assert_allclose(m, moment, atol=1e-10 * largest)
        J = mg.kinematics.marker_derivatives(model, [f"{body.name}.com"], q).x_q[0]
        np.testing.assert_allclose(changed, body.mass * J @ a_zdd, atol=1e-9 * largest)
    assert np.abs(D.dzdd).max() > 1e-2


@pytest.mark.parametrize("level", LEVELS)
def test_by_independent_coordinates(case, level):
    q, v, a = case.state()
    named = {"driven": case.more, "independent": list(case.z), "t": case.t, "loads": case.loads}
    D = derivatives_of(case.model, q, v, a, axes="child", **named)
    assert isinstance(D, ConstrainedReactionDerivatives)
    assert D.independent == tuple(case.z)
    given = getattr(case, level)
    block = getattr(D, LEVELS[level])
    for k, name in enumerate(given):
        moved = under_torques(case, case.more, "child", **{level: {**given, name: given[name] + 1j * STEP}})
        compare(block[..., k], moved.imag / STEP)
    joint = case.model.joint_names[-1]
    np.testing.assert_array_equal(np.concatenate(D.of(joint, level)), block[-1])


def test_by_parameters(case):
    q, v, a = case.state()
    named = {"driven": case.driven, "independent": list(case.z), "t": case.t, "loads": case.loads, "wrt": case.wrt}
    D = derivatives_of(case.model, q, v, a, axes="parent", **named)
    assert D.parameters == tuple(case.wrt)
    for k, path in enumerate(case.wrt):
        wanted = under_torques(case, case.driven, "parent", **stepped(case, path)).imag / STEP
        if path in ON_DRIVEN_COORDINATES:
            assert np.abs(wanted).max() < 1e-11
            assert np.abs(D.dp[..., k]).max() < 1e-11
        else:
            compare(D.dp[..., k], wanted)
    np.testing.assert_array_equal(np.concatenate(D.of(case.model.joint_names[0], case.wrt[-1])), D.dp[0, :, -1])


def test_a_parameter_by_differences_of_everything():
    """Assembly, torques and reactions again with another length: order h^2, and nothing of ours in between."""
    case = CASES["five-bar"]()
    path, h = "B.origin.y", 1e-5
    q, v, a = case.state()
    D = derivatives_of(case.model, q, v, a, driven=case.more, independent=list(case.z), loads=case.loads, wrt=[path])

    def at(s):
        model = case.model.with_values({path: case.model.value(path) + s * h})
        found = mg.joint_reactions(
            model, case.z, case.zd, case.zdd, driven=case.more, loads=case.loads, guess=case.guess
        )  # fmt: skip
        return stacked(found)

    wanted = (at(1) - at(-1)) / (2 * h)
    assert np.abs(wanted).max() > 1.0
    np.testing.assert_allclose(D.dp[..., 0], wanted, atol=1e-6 * np.abs(wanted).max())


def test_named_coordinates_and_many_states():
    case = CASES["five-bar"]()
    z = {"A": case.z["A"] + 0.05 * np.arange(3), "1": case.z["1"] + 0.0 * np.arange(3)}
    named = {"driven": case.more, "loads": case.loads, "guess": case.guess}
    found = mg.joint_reactions(case.model, z, case.zd, case.zdd, **named)
    D = derivatives_of(case.model, z, case.zd, case.zdd, wrt=case.wrt[:2], **named)
    assert D.independent == ("A", "1")
    assert D.dz.shape == (3, 5, 6, 2)
    assert repr(D) == "ConstrainedReactionDerivatives(3 samples, 5 joints, by A, 1 and their rates, parameters=2)"
    q, v, a = case.state()
    one = derivatives_of(
        case.model, q, v, a, driven=case.more, loads=case.loads, wrt=case.wrt[:2], independent=["A", "1"]
    )
    compare(stacked(found)[0], stacked(one.reactions))
    for name in ("dz", "dzd", "dzdd", "dp"):
        compare(getattr(D, name)[0], getattr(one, name))
    assert np.abs(D.dz[2] - D.dz[0]).max() > 1.0


def test_redundant_rows_turn_with_their_multipliers():
    """Bricard's linkage, and a five-bar closed twice: multipliers of least norm, against differences along z."""
    model = bricard()
    q, v, a = bricard_state(0.35, 0.8, -1.2)
    named = {"driven": [model.v_names[0]], "independent": [model.v_names[0]]}
    D = derivatives_of(model, q, v, a, **named)
    h = 1e-5
    up, down = (stacked(mg.joint_reactions(model, *bricard_state(0.35 + s * h, 0.8, -1.2), driven=named["driven"]))
                for s in (1, -1))  # fmt: skip
    wanted = (up - down) / (2 * h)
    assert np.abs(wanted).max() > 1.0
    np.testing.assert_allclose(D.dz[..., 0], wanted, atol=1e-5 * np.abs(wanted).max())
    twice, start = closed_twice(), five_bar_start()
    z = {"A": start[0] + 0.1, "1": start[1] - 0.07}
    D = derivatives_of(twice, z, guess=start, driven=["A", "1"])
    for k, name in enumerate(z):
        up, down = (
            stacked(mg.joint_reactions(twice, {**z, name: z[name] + s * h}, guess=start, driven=["A", "1"]))
            for s in (1, -1)
        )
        np.testing.assert_allclose(D.dz[..., k], (up - down) / (2 * h), atol=1e-5 * np.abs(D.dz).max())


def test_a_tree_with_force_elements_by_complex_steps():
    model, t = sprung_pendulum(), 0.3
    q, v, a = np.array([0.4, -0.9]), np.array([1.1, 0.6]), np.array([-2.0, 1.5])
    loads = [mg.Load(model.bodies[-1].name, (3.0, 1.0, -2.0), point=(0.1, 0, 0.2), name="push")]
    wrt = ["line.stiffness", f"{model.bodies[0].name}.mass", "knee.free_position", "gravity.z", "push.force.x"]

    def reactions(q=q, v=v, a=a, model=model, loads=loads):
        return stacked(mg.joint_reactions(model, q, v, a, t=t, loads=loads, axes="child")).ravel()

    D = derivatives_of(model, q, v, a, t=t, loads=loads, axes="child", wrt=wrt)
    assert isinstance(D, mg.terms.ReactionDerivatives)
    bare = tree_derivatives(model.open_tree(), q, v, a, loads=loads, axes="child")
    for block, wanted, tree in (
        (D.dq, by_q(lambda x: reactions(q=x), model, q), bare.dq),
        (D.dv, by_x(lambda x: reactions(v=x), v), bare.dv),
        (D.da, by_x(lambda x: reactions(a=x), a), None),
    ):
        assert np.abs(wanted).max() > 1e-2
        assert relative_error(block.dense(), wanted) < 1e-12
        assert tree is None or np.abs(tree.dense() - wanted).max() > 0.1  # springs are felt
    for k, path in enumerate(wrt[:-1]):
        wanted = by_parameter(lambda m: reactions(model=m), model, path)
        assert (
            np.abs(wanted).max() > 1e-3 or path == "knee.free_position"
        )  # inside a joint's own coordinate nothing else feels
        np.testing.assert_allclose(D.dp.dense()[:, k], wanted, atol=1e-11)
    many = derivatives_of(model, [q, q], [v, -v], [a, a], t=t, wrt=wrt[:1])
    assert many.dq.dense().shape == (2, 12, 2)


def test_the_general_way_agrees_with_the_kernels_of_trees():
    """A spring without stiffness makes a tree take the general way; its derivatives are those of the tree."""
    tree = random_tree(3, 6, massless=0.0)
    points = [mg.Point("P", tree.bodies[1].name), mg.Point("Q", tree.bodies[-1].name, (0.1, 0.2, 0.3))]
    model = mg.Model(
        "sprung", tree.bodies, tree.joints, points, gravity=tree.gravity,
        forces=[mg.forces.SpringDamper("idle", "P", "Q", 0.0, 0.0, 0.3)],
    )  # fmt: skip
    q, v, a = random_state(tree, 3, 4)
    loads, wrt = random_loads(tree, 3), [f"{tree.bodies[2].name}.mass", f"{tree.joint_names[1]}.origin.x", "gravity.y"]
    for axes in ("world", "parent", "child"):
        found = derivatives_of(model, q, v, a, loads=loads, wrt=wrt, axes=axes)
        wanted = derivatives_of(tree, q, v, a, loads=loads, wrt=wrt, axes=axes)
        for name in ("dq", "dv", "da", "dp"):
            x, y = getattr(found, name).dense(), getattr(wanted, name).dense()
            assert np.abs(y).max() > 0.1
            assert relative_error(x, y) < 1e-12


def test_a_joint_that_the_tree_passes_backwards():
    bodies = [mg.Body(name, 1.0, (0.2, 0.1, 0.3), (0.1, 0.2, 0.3)) for name in ("tube", "piston")]
    pin = mg.Revolute("pin", "ground", "piston", child_origin=(0.4, 0, 0), axis=(0, 1, 0))
    strut = mg.Prismatic("strut", "tube", "piston", (0.1, 0, 0.2), child_origin=(0, 0.3, 0), axis=(1, 0, 1))
    model = mg.Model("strut", bodies, [pin, strut])
    q, v, a = np.random.default_rng(2).uniform(-1, 1, (3, 2))
    wrt = ["strut.child_origin.y", "strut.origin.z", "tube.mass"]
    D = derivatives_of(model, q, v, a, wrt=wrt, axes="child")

    def reactions(q=q, model=model):
        return stacked(mg.joint_reactions(model, q, v, a, axes="child")).ravel()

    assert relative_error(D.dq.dense(), by_q(lambda x: reactions(x), model, q)) < 1e-12
    for k, path in enumerate(wrt):
        wanted = by_parameter(lambda m: reactions(model=m), model, path)
        assert np.abs(wanted).max() > 1e-2
        assert relative_error(D.dp.dense()[:, k], wanted) < 1e-12


def test_what_is_asked_wrongly_says_why(monkeypatch):
    case = CASES["five-bar"]()
    q, v, a = case.state()
    with pytest.raises(mg.InputError, match="complex numbers are not defined"):
        derivatives_of(case.model, q + 0j, v, a)
    with pytest.raises(mg.InputError, match="all of its coordinates are independent"):
        derivatives_of(sprung_pendulum(), [0.1, 0.2], independent=["elbow"])
    with pytest.raises(mg.InputError, match="axes is 'body'"):
        derivatives_of(case.model, q, v, a, axes="body")
    with pytest.raises(mg.ModelError, match="unknown joint 'knee'"):
        derivatives_of(case.model, q, v, a).of("knee", "z")
    monkeypatch.setattr("mechgrad.memory.UNASKED", 0)
    monkeypatch.setattr("mechgrad.memory.available_memory", lambda: 100.0)
    for verb in (mg.inverse_dynamics, mg.joint_reactions, derivatives_of, mg.inverse_dynamics_derivatives):
        with pytest.raises(TooLargeError, match=r"the balance of a single state of model 'five-bar' takes"):
            verb(five_bar(), q, v, a)
    with pytest.raises(TooLargeError, match="accelerations of 4 coordinates and 2 multipliers for 3 samples takes"):
        mg.forward_dynamics(case.model, [q] * 3)
    with pytest.raises(TooLargeError, match="second derivatives of 4 forces"):
        mg.terms.inverse_dynamics_hessian(case.model, q, v, a, v, multipliers=[1.0, 2.0])
    with pytest.raises(TooLargeError, match="mass matrices of 4 velocities"):
        mg.mass_matrix(case.model, q, independent=["A", "1"])
    assert states_module.room_of(five_bar(), 10**9) > 1e11
