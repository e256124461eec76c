"""Probed models: wrenches of joints and of the ground as generalized forces, with their first and second
derivatives."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import STEP, by_parameter, by_q, by_x, relative_error
from support.random_trees import ALL_KINDS, ONE_DOF, random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import human, human_motion
from mechgrad.inverse.probes import probed
from mechgrad.model import REVOLUTE, Atom, Joint

TOLERANCE = 1e-12


def wide(P, q, v, a):
    return P.widen_q(q), P.widen(v), P.widen(a)


def reactions(model, q, v, a, loads, joints):
    """Couple and force of the joints in child axes, one after the other."""
    R = mg.joint_reactions(model, q, v, a, loads=loads, joints=joints, axes="child")
    return np.concatenate([R.couple, R.force], axis=-1).reshape(*q.shape[:-1], 6 * len(joints))


def ground_wrench(model, q, v, a, loads=()):
    """Moment about the world's origin and force that keep all bodies moving as they do: a sum over bodies."""
    motion = mg.kinematics.body_motion(model, q, v, a)
    force, moment = np.zeros(3), np.zeros(3)
    for body in model.bodies:
        b = motion.of(body.name)
        arm = b.R @ body.com
        a_com = b.a + np.cross(b.dw, arm) + np.cross(b.w, np.cross(b.w, arm))
        inertia = b.R @ body.inertia @ b.R.T
        f = body.mass * (a_com - model.gravity)
        force = force + f
        moment = moment + np.cross(b.p + arm, f) + inertia @ b.dw + np.cross(b.w, inertia @ b.w)
        for load in loads:
            if load.body == body.name:
                turn = b.R if load.axes == "body" else np.eye(3)
                f = turn @ load.force
                force = force - f
                moment = moment - turn @ load.torque - np.cross(b.p + b.R @ load.point, f)
    return np.concatenate([moment, force])


# ---- joints


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20), ground=st.booleans())
def test_probes_give_the_reactions_and_leave_the_drives_alone(seed, n, ground):
    model = random_tree(seed, n)
    chosen = [model.joint_names[k] for k in np.random.default_rng(seed).permutation(n)[: 1 + n // 2]]
    P = probed(model, chosen, ground)
    q, v, a = random_state(model, seed, 5)
    loads = random_loads(model, seed, 5)
    tau = mg.inverse_dynamics(P.model, *wide(P, q, v, a), loads=loads)
    assert relative_error(tau[:, P.columns], mg.inverse_dynamics(model, q, v, a, loads=loads)) < TOLERANCE
    want = reactions(model, q, v, a, loads, chosen)
    for k, name in enumerate(chosen):
        assert relative_error(tau[:, P.probes[name]], want[:, 6 * k : 6 * k + 6]) < TOLERANCE, name


@pytest.mark.parametrize("axes", ["world", "body", None])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_values_and_derivatives_for_each_joint_kind(kind, axes):
    """By q, v, a and by every number of the model, for the joint's own wrench and for those of its neighbours."""
    model = random_tree(17, 4, ("revolute", kind, kind, "revolute"), massless=0.0, branching=0.0)
    q, v, a = random_state(model, 8)
    loads = random_loads(model, 2, axes=axes) if axes else []
    wrt = [p.path for p in model.parameters() if p.kind not in ("point", "vector")]
    wrt += [f"{load.name}.{part}.{x}" for load in loads for part in ("force", "torque", "point") for x in "xyz"]
    P = probed(model, model.joint_names)
    D = mg.inverse_dynamics_derivatives(P.model, *wide(P, q, v, a), loads=loads, wrt=wrt)
    R = mg.terms.joint_reactions_derivatives(model, q, v, a, loads=loads, axes="child", wrt=wrt)
    rows = np.concatenate([P.probes[name] for name in model.joint_names])
    assert relative_error(D.tau[rows], reactions(model, q, v, a, loads, model.joint_names)) < TOLERANCE
    for got, want in ((D.dq, R.dq), (D.dv, R.dv), (D.da, R.da)):
        assert relative_error(got.dense()[np.ix_(rows, P.columns)], want.dense()) < TOLERANCE
        assert np.max(np.abs(want.dense())) > 1e-2
    assert D.parameters == R.parameters
    assert relative_error(D.dp.dense()[rows], R.dp.dense()) < TOLERANCE
    own = [k for k, path in enumerate(wrt) if path.startswith(("j1.", "j2."))]
    silent = [wrt[k] for k in own if np.max(np.abs(R.dp.dense()[:, k])) < 1e-6]
    assert silent == [], "numbers that move nothing test nothing"


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_in_batches_of_trees(seed):
    model = random_tree(seed, len(ALL_KINDS) + 2)
    q, v, a = random_state(model, seed, 11)
    loads = random_loads(model, seed)
    wrt = [p.path for p in model.parameters() if p.kind not in ("point", "vector")][::3]
    joints = ["j7", "j2", "j12"]
    P = probed(model, joints, ground=True)
    D = mg.inverse_dynamics_derivatives(P.model, *wide(P, q, v, a), loads=loads, wrt=wrt)
    R = mg.terms.joint_reactions_derivatives(model, q, v, a, loads=loads, joints=joints, axes="child", wrt=wrt)
    rows = np.concatenate([P.probes[name] for name in joints])
    for got, want in ((D.dq, R.dq), (D.dv, R.dv), (D.da, R.da)):
        assert relative_error(got.dense()[:, rows][..., P.columns], want.dense()) < TOLERANCE
    assert relative_error(D.dp.dense()[:, rows], R.dp.dense()) < TOLERANCE


@pytest.mark.parametrize("method", ["newton-euler", "lagrange"])
def test_other_methods_read_the_probes_too(method):
    model = random_tree(3, 8, (*ONE_DOF, "cardan", "planar", "fixed"))
    q, v, a = random_state(model, 1, 4)
    P = probed(model, ["j5", "j7"], ground=True)
    fast, other = (mg.inverse_dynamics(P.model, *wide(P, q, v, a), method=m) for m in ("spatial", method))
    assert relative_error(other, fast) < TOLERANCE


# ---- second derivatives


def check_hessian(P, q, v, a, y, loads):
    H = mg.terms.inverse_dynamics_hessian(P.model, q, v, a, y, loads=loads)

    def gradient(q, v, a):
        return mg.terms.inverse_dynamics_gradient(P.model, q, v, a, y, loads=loads)

    for got, want in (
        (H.qq, by_q(lambda x: gradient(x, v, a)[0], P.model, q)),
        (H.qv, by_x(lambda x: gradient(q, x, a)[0], v)),
        (H.vv, by_x(lambda x: gradient(q, x, a)[1], v)),
        (H.qa, by_x(lambda x: gradient(q, v, x)[0], a)),
    ):
        assert relative_error(got.dense(), want) < 1e-11
        assert np.max(np.abs(want)) > 1e-2


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_hessian_is_the_complex_step_of_the_gradient(kind):
    model = random_tree(11, 3, ("revolute", kind, "revolute"), massless=0.0, branching=0.0)
    q, v, a = random_state(model, 5)
    P = probed(model, ["j1"], ground=True)
    y = np.random.default_rng(3).standard_normal(P.model.n_v)
    check_hessian(P, *wide(P, q, v, a), y, random_loads(model, 4))


@pytest.mark.parametrize("seed", range(3))
def test_hessian_of_wrenches_in_trees(seed):
    """Multipliers at the probes alone; the gradient is that of `joint_reactions_derivatives`, and differences of it,
    computed without any probe, come near the Hessian."""
    model = random_tree(seed, len(ALL_KINDS) + 2)
    q, v, a = random_state(model, seed)
    loads = random_loads(model, seed)
    joints = ["j3", "j8", "j11"]
    P = probed(model, joints, ground=True)
    rows = np.concatenate([P.probes[name] for name in joints])
    y = np.zeros(P.model.n_v)
    y[[*rows, *P.probes["ground"]]] = np.random.default_rng(seed).standard_normal(rows.size + 6)
    check_hessian(P, *wide(P, q, v, a), y, loads)
    y[P.probes["ground"]] = 0.0
    H = mg.terms.inverse_dynamics_hessian(P.model, *wide(P, q, v, a), y, loads=loads)

    def gradient(q, v):
        R = mg.terms.joint_reactions_derivatives(model, q, v, a, loads=loads, joints=joints, axes="child")
        return y[rows] @ R.dq.dense()

    assert relative_error(H.q[P.columns], gradient(q, v)) < TOLERANCE
    h, qq, qv = 1e-5, [], []
    for e in np.eye(model.n_v):
        qq.append((gradient(model.integrate(q, h * e), v) - gradient(model.integrate(q, -h * e), v)) / (2 * h))
        qv.append((gradient(q, v + h * e) - gradient(q, v - h * e)) / (2 * h))
    for got, want in ((H.qq, qq), (H.qv, qv)):
        assert relative_error(got.dense()[np.ix_(P.columns, P.columns)], np.stack(want, axis=-1)) < 1e-7


# ---- the ground


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_ground_carries_the_sum_over_all_bodies(seed):
    """Several roots, loads on every body; derivatives by complex steps of that sum."""
    model = random_tree(seed, 12, branching=0.7)
    assert sum(joint.parent == "ground" for joint in model.joints) > 1
    q, v, a = random_state(model, seed)
    loads = random_loads(model, seed)
    P = probed(model, ground=True)
    wrt = [p.path for p in model.parameters() if p.kind not in ("point", "vector")][::5]
    D = mg.inverse_dynamics_derivatives(P.model, *wide(P, q, v, a), loads=loads, wrt=[*wrt, "gravity.y"])
    rows = P.probes["ground"]
    assert relative_error(D.tau[rows], ground_wrench(model, q, v, a, loads)) < TOLERANCE
    for got, want in (
        (D.dq, by_q(lambda x: ground_wrench(model, x, v, a, loads), model, q)),
        (D.dv, by_x(lambda x: ground_wrench(model, q, x, a, loads), v)),
        (D.da, by_x(lambda x: ground_wrench(model, q, v, x, loads), a)),
    ):
        assert relative_error(got.dense()[np.ix_(rows, P.columns)], want) < TOLERANCE
        assert np.max(np.abs(want)) > 1e-2
    for path in D.parameters:
        want = by_parameter(lambda m: ground_wrench(m, q, v, a, loads), model, path)
        assert relative_error(D.by(path)[rows], want) < 1e-11, path


def test_the_force_on_three_slides_along_world_axes_is_that_of_the_slides():
    names = ("x", "y", "z")
    bodies = [
        mg.Body("bx"),
        mg.Body("by"),
        mg.Body("bz", 3.0, (0.1, 0.2, 0.3), (1, 2, 2.5)),
        mg.Body("arm", 2, (1, 0, 0)),
    ]
    joints = [
        mg.Prismatic(n, p, f"b{n}", origin=(0.3, -0.2, 0.7), axis=axis)
        for n, p, axis in zip(names, ("ground", "bx", "by"), np.eye(3), strict=True)
    ]
    model = mg.Model("crane", bodies, [*joints, mg.Spherical("hook", "bz", "arm")])
    q, v, a = random_state(model, 1, 6)
    P = probed(model, ground=True)
    tau = mg.inverse_dynamics(P.model, *wide(P, q, v, a))
    assert relative_error(tau[:, P.probes["ground"][3:]], tau[:, P.columns[:3]]) < 1e-14


def test_the_weight_of_a_fixed_model_without_coordinates():
    model = mg.Model("table", [mg.Body("top", 4.0, (0.5, 0, 1))], [mg.Fixed("feet", "ground", "top", origin=(1, 2, 0))])
    P = probed(model, ["feet"], ground=True)
    tau = mg.inverse_dynamics(P.model, P.widen_q(np.zeros(0)))
    weight = 4 * 9.81
    assert tau[P.probes["ground"]] == pytest.approx([2 * weight, -1.5 * weight, 0, 0, 0, weight])
    assert tau[P.probes["feet"]] == pytest.approx([0, -0.5 * weight, 0, 0, 0, weight])
    assert P.columns.size == 0


def test_the_walking_human_on_the_ground():
    model = human()
    _, q, v, a = human_motion(samples=25)
    P = probed(model, ground=True)
    tau = mg.inverse_dynamics(P.model, *wide(P, q, v, a))
    for k in (0, 11, 24):
        assert relative_error(tau[k, P.probes["ground"]], ground_wrench(model, q[k], v[k], a[k])) < TOLERANCE


# ---- parameters and names


def designed():
    """An arm with a variable that drives the joint's own tail, a body and, by a function, another joint."""
    bodies = [
        mg.Body("upper", 2.0, (0.2, 0, 0), (0.1, 0.2, 0.2)),
        mg.Body("lower", 1.0, (0.2, 0, 0.1), (0.1, 0.1, 0.1)),
    ]
    joints = [
        mg.Revolute("shoulder", "ground", "upper", origin=(0, 0, 1), axis=(0, 1, 0)),
        mg.Cardan("elbow", "upper", "lower", origin=(0.4, 0, 0), child_origin=(0.1, 0.05, 0), axis2=(0.1, 1, 0)),
    ]
    size = mg.DesignVariable("size", {"elbow.child_origin.x": 0.5, "upper.com.x": 1.0, "elbow.origin.x": np.exp}, 0.2)
    return mg.Model("arm", bodies, joints, [mg.Point("hand", "lower", (0.3, 0, 0))], variables=[size])


def test_parameters_and_names_are_those_of_the_original():
    for model in (designed(), random_tree(4, 13)):
        P = probed(model, model.joint_names, ground=True)
        assert P.model.parameters() == model.parameters()
        assert set(model.body_names) < set(P.model.body_names)
        assert P.model.joint_names == ("ground.probe", *model.joint_names)
        assert [P.model.v_names[k] for k in P.columns] == list(model.v_names)
        assert [P.model.q_names[k] for k in P.q_columns] == list(model.q_names)
        labels = ("mx", "my", "mz", "fx", "fy", "fz")
        for name, columns in P.probes.items():
            assert [P.model.v_names[k] for k in columns] == [f"{name}.probe.{label}" for label in labels]
        taken = [*P.columns, *(k for columns in P.probes.values() for k in columns)]
        assert sorted(taken) == list(range(P.model.n_v))
        assert list(P.probes) == ["ground", *model.joint_names]


@pytest.mark.parametrize(
    "path", ["size", "lower.mass", "elbow.axis1.y", "elbow.child_origin.y", "gravity.x", "elbow.orientation.x"]
)
def test_columns_and_complex_steps_through_parameters(path):
    model = designed()
    q, v, a = random_state(model, 2)
    loads = [mg.Load("lower", (1.0, 2.0, 3.0), point="hand")]
    P = probed(model, ["elbow"], ground=True)
    rows = P.probes["elbow"]
    D = mg.inverse_dynamics_derivatives(P.model, *wide(P, q, v, a), loads=loads, wrt=[path])
    want = by_parameter(lambda m: reactions(m, q, v, a, loads, ["elbow"]), model, path)
    assert relative_error(D.by(path)[rows], want) < TOLERANCE
    assert np.max(np.abs(want)) > 1e-3
    # a complex model may be probed, or a probed one made complex; the gradient carries the step to second order
    moved = {path: model.value(path) + 1j * STEP}
    y = P.widen(np.zeros(model.n_v))
    y[rows] = np.random.default_rng(1).standard_normal(6)
    R = mg.terms.joint_reactions_derivatives
    h = 1e-5
    for stepped in (P.at(moved), probed(model.with_values(moved), ["elbow"], ground=True)):
        tau = mg.inverse_dynamics(stepped.model, *wide(P, q, v, a), loads=loads)
        assert relative_error(tau.imag[rows] / STEP, want) < TOLERANCE
        second = mg.terms.inverse_dynamics_gradient(stepped.model, *wide(P, q, v, a), y, loads=loads)[0].imag / STEP
        ahead, behind = (
            y[rows]
            @ np.concatenate(
                R(model.with_values({path: model.value(path) + s * h}), q, v, a, loads=loads, axes="child").of(
                    "elbow", "q"
                )
            )
            for s in (1, -1)
        )
        assert relative_error(second[P.columns], (ahead - behind) / (2 * h)) < 1e-7


def test_other_numbers_on_the_same_probes():
    model = designed()
    P = probed(model, ["elbow", "shoulder"], ground=True)
    values = {"size": 0.3, "lower.mass": 7.0, "shoulder.axis.x": 0.4}
    moved = P.at(values)
    assert moved.model == probed(model.with_values(values), ["elbow", "shoulder"], ground=True).model
    assert moved.model.value("elbow.origin.x") == np.exp(0.3)
    assert moved.model.parameters() == model.with_values(values).parameters()
    assert moved.columns is P.columns
    assert P.model.value("size") == 0.2
    with pytest.raises(mg.ModelError, match="negative"):
        P.at({"lower.mass": -1.0})
    assert P.at({"lower.mass": -1.0}, check=False).model.value("lower.mass") == -1.0
    odd = model.with_values({"lower.mass": -1.0, "shoulder.axis.y": 0.0}, check=False)
    assert probed(odd, ["shoulder"]).model.value("shoulder.axis.y") == 0.0


def test_probing_leaves_the_model_as_it_was():
    model = designed()
    before = model.parameters()
    P = probed(model, ["elbow"], ground=True)
    assert model.parameters() == before
    assert [joint.parent for joint in model.joints] == ["ground", "upper"]
    assert model.n_v == 3
    assert P.model.n_v == 15
    assert [joint.parent for joint in P.model.joints] == ["ground", "ground.probe.body", "upper"]
    assert probed(model, ["elbow"]).model.body_names == model.body_names
    assert probed(model, ["elbow", "elbow"]).model == probed(model, ["elbow"]).model


def test_probed_models_can_be_pickled_and_are_not_mistaken_for_plain_ones():
    model = designed()
    P = probed(model, ["elbow", "shoulder"], ground=True)
    again = pickle.loads(pickle.dumps(P))
    assert again.model == P.model
    assert again.model != model
    q, v, a = wide(P, *random_state(model, 1))
    assert np.array_equal(mg.inverse_dynamics(again.model, q, v, a), mg.inverse_dynamics(P.model, q, v, a))
    assert "ProbedCardan('elbow', 'upper', 'lower'" in repr(P.model.joint("elbow"))
    data = probed(mg.Model("arm", model.bodies, model.joints), ["elbow"]).model.to_dict()
    with pytest.raises(mg.ModelError, match="probed cardan"):
        mg.Model.from_dict(data)


def test_taken_names_are_avoided():
    bodies = [mg.Body("ground.probe", 1.0), mg.Body("ground.probe.body", 1.0, (1, 0, 0))]
    joints = [mg.Revolute("a", "ground", "ground.probe"), mg.Revolute("b", "ground", "ground.probe.body")]
    P = probed(mg.Model("m", bodies, joints), ground=True)
    assert P.model.v_names[0] == "ground.probe'.mx"
    twice = probed(P.model, ["a"], ground=True)
    tau = mg.inverse_dynamics(twice.model, np.zeros(twice.model.n_q))
    inner = twice.columns[P.probes["ground"]]
    assert np.array_equal(tau[inner], tau[twice.probes["ground"]])
    assert tau[inner] == pytest.approx([0, -9.81, 0, 0, 0, 2 * 9.81])


def test_widening():
    model = random_tree(2, 12)
    assert model.n_q > model.n_v
    P = probed(model, ["j8", "j9"], ground=True)
    q, v, _ = random_state(model, 1, 3)
    for x, columns, widen, n in ((q, P.q_columns, P.widen_q, P.model.n_q), (v, P.columns, P.widen, P.model.n_v)):
        for narrow in (x, x[1], x.astype(complex), x.tolist()):
            got = widen(narrow)
            assert got.shape == (*np.shape(narrow)[:-1], n)
            assert got.dtype == np.asarray(narrow).dtype
            assert np.array_equal(got[..., columns], narrow)
            assert np.count_nonzero(got) == np.count_nonzero(narrow)
    assert P.widen(np.ones(model.n_v, int)).dtype == float
    assert np.array_equal(P.widen_q(model.neutral()), P.model.neutral())
    step = np.random.default_rng(0).standard_normal(v.shape)
    assert np.array_equal(P.widen_q(model.integrate(q, step)), P.model.integrate(P.widen_q(q), P.widen(step)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Crooked(Joint):
    """A joint kind that the package does not know: a hinge before a bent arm."""

    type_name: ClassVar[str] = "crooked"

    @property
    def kinds(self):
        return (REVOLUTE,)

    def atoms(self):
        return (Atom(REVOLUTE, np.eye(3), np.array([0.1, 0.2, 0.3])),)

    def tail(self):
        return np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.array([0.5, 0.6, 0.7])


def test_a_joint_kind_of_the_user():
    model = mg.Model("m", [mg.Body("b", 2.0, (0.3, 0.1, 0), (1, 1, 1))], [Crooked("j", "ground", "b")])
    q, v, a = np.array([0.4]), np.array([1.5]), np.array([-2.0])
    P = probed(model, ["j"])
    got = mg.inverse_dynamics(P.model, *wide(P, q, v, a))[P.probes["j"]]
    assert relative_error(got, reactions(model, q, v, a, None, ["j"])) < TOLERANCE


def test_bad_input_is_named():
    model = designed()
    with pytest.raises(mg.ModelError, match=r"unknown joint 'elbw'.*Did you mean 'elbow'.*shoulder"):
        probed(model, ["elbw"])
    with pytest.raises(mg.InputError, match="nothing to probe"):
        probed(model)
    with pytest.raises(mg.InputError, match=r"give a list of names: \['elbow'\]"):
        probed(model, "elbow")
    P = probed(model, ["elbow"])
    with pytest.raises(mg.InputError, match="'elbow' has a probe already"):
        probed(P.model, ["elbow"])
    with pytest.raises(mg.InputError, match=r"x has shape \(4,\); the model without probes needs \(3,\) or \(nt, 3\)"):
        P.widen(np.zeros(4))
    with pytest.raises(mg.InputError, match=r"q has shape \(2, 2, 3\)"):
        P.widen_q(np.zeros((2, 2, 3)))
    with pytest.raises(ValueError, match="read-only"):
        P.columns[0] = 1
