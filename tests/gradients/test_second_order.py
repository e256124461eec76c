"""Gradient and Hessian of y . tau: against first derivatives, complex steps of those, and differences of torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import by_q, by_x, relative_error
from support.random_trees import ALL_KINDS, random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import human, human_motion
from mechgrad.inverse.second_order import inverse_dynamics_gradient, inverse_dynamics_hessian

TOLERANCE = 1e-12


def check(model, q, v, a, y, loads):
    def contracted(q, v, a):
        D = mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads)
        return [np.swapaxes(x.dense(), -1, -2) @ y for x in (D.dq, D.dv, D.da)]

    H = inverse_dynamics_hessian(model, q, v, a, y, loads=loads)
    for got, want in zip((H.q, H.v, H.a), contracted(q, v, a), strict=True):
        assert relative_error(got, want) < TOLERANCE
    for got, want in zip(inverse_dynamics_gradient(model, q, v, a, y, loads=loads), (H.q, H.v, H.a), strict=True):
        assert relative_error(got, want) < 1e-14
    blocks = (
        (H.qq, by_q(lambda x: contracted(x, v, a)[0], model, q)),
        (H.qv, by_x(lambda x: contracted(q, x, a)[0], v)),
        (H.vv, by_x(lambda x: contracted(q, x, a)[1], v)),
        (H.qa, by_x(lambda x: contracted(q, v, x)[0], a)),
    )
    for got, want in blocks:
        assert relative_error(got.dense(), want) < TOLERANCE
        outside = np.ones(want.shape, bool)
        outside[got.pattern.rows, got.pattern.cols] = False
        assert np.all(want[outside] == 0)
    assert np.max(np.abs(by_x(lambda x: contracted(q, v, x)[1], a))) == 0
    assert np.max(np.abs(by_x(lambda x: contracted(q, v, x)[2], a))) == 0
    return blocks


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20))
def test_random_trees_of_all_kinds_with_loads(seed, n):
    model = random_tree(seed, n)
    if model.n_v:
        y = np.random.default_rng(seed).standard_normal(model.n_v)
        check(model, *random_state(model, seed), y, random_loads(model, seed))


@pytest.mark.parametrize("axes", ["world", "body", None])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_each_joint_kind_between_two_hinges(kind, axes):
    model = random_tree(17, 3, ("revolute", kind, "revolute"), massless=0.0, branching=0.0)
    y = np.random.default_rng(1).standard_normal(model.n_v)
    loads = random_loads(model, 2, axes=axes) if axes else None
    for _, want in check(model, *random_state(model, 8), y, loads):
        assert np.max(np.abs(want)) > 1e-3


def test_human_and_its_symmetry():
    model = human()
    _, q, v, a = human_motion(samples=40)
    y = np.random.default_rng(0).standard_normal(q.shape)
    H = inverse_dynamics_hessian(model, q, v, a, y)
    check(model, q[7], v[7], a[7], y[7], random_loads(model, 3))
    dense = H.dense()
    assert dense.shape == (40, 129, 129)
    assert relative_error(dense, dense.swapaxes(-1, -2)) < 1e-13
    one = inverse_dynamics_hessian(model, q[33], v[33], a[33], y[33])
    assert relative_error(one.dense(), dense[33]) < 1e-13


def test_the_power_of_inertia_is_quadratic_in_velocities():
    """L(v) - L(0) = v . L_vv v / 2 where h is quadratic in v: a closed form for one block."""
    model = random_tree(5, 8, ("revolute", "spherical", "cardan"), massless=0.0)
    q, v, a = random_state(model, 3)
    y = np.random.default_rng(2).standard_normal(model.n_v)
    H = inverse_dynamics_hessian(model, q, v, a, y)
    change = y @ (mg.inverse_dynamics(model, q, v, a) - mg.inverse_dynamics(model, q, None, a))
    assert v @ H.vv.dense() @ v / 2 == pytest.approx(change, rel=1e-12)
    assert abs(change) > 0.1


def test_complex_step_through_the_gradient_gives_parameter_columns():
    model = random_tree(5, 8, massless=0.0)
    q, v, a = random_state(model, 3)
    y = np.random.default_rng(2).standard_normal(model.n_v)
    stepped = model.with_values({"b3.mass": model.value("b3.mass") + 1e-30j})
    got = [x.imag / 1e-30 for x in inverse_dynamics_gradient(stepped, q, v, a, y)]
    h = 1e-4
    ahead, behind = (model.with_values({"b3.mass": model.value("b3.mass") + s * h}) for s in (1, -1))
    for k in range(3):  # linear in the mass: the difference quotient is exact up to rounding
        want = (inverse_dynamics_gradient(ahead, q, v, a, y)[k] - inverse_dynamics_gradient(behind, q, v, a, y)[k]) / (
            2 * h
        )
        assert relative_error(got[k], want) < 1e-8
        assert np.max(np.abs(got[k])) > 1e-2


# ------------------------------------------------------------------------------------------------------ parameters

EIGHTH_ORDER = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))


def difference(function, h):
    """f'(0) by central differences of eighth order."""
    return sum(w * (function(k * h) - function(-k * h)) for k, w in EIGHTH_ORDER) / h


def moved(model, loads, steps):
    """Model and loads with steps added to numbers; a load's path starts with its name, "L3"."""
    values, loads = {}, list(loads or ())
    for path, step in steps:
        owner, *rest = path.split(".")
        if owner in (names := [load.name for load in loads]):
            k, (field, axis) = names.index(owner), rest
            now = getattr(loads[k], field)
            vector = np.array(model.point(now).position if isinstance(now, str) else now, complex)
            vector[..., "xyz".index(axis)] += step
            loads[k] = replace(loads[k], **{field: vector})
        else:
            values[path] = values.get(path, model.value(path)) + step
    return model.with_values(values, check=False), loads


def check_parameters(model, q, v, a, y, loads, wrt):
    """Mixed blocks from the other side, complex steps in q, v, a through tau_p; L_pp from torques alone."""
    H = inverse_dynamics_hessian(model, q, v, a, y, loads=loads, wrt=wrt)

    def by_p(q, v, a):
        return y @ mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads, wrt=wrt).dp.dense()

    blocks = (
        (H.qp, by_q(lambda x: by_p(x, v, a), model, q)),
        (H.vp, by_x(lambda x: by_p(q, x, a), v)),
        (H.ap, by_x(lambda x: by_p(q, v, x), a)),
    )
    for got, want in blocks:
        assert got.shape == (model.n_v, len(H.parameters))
        assert relative_error(got, want.T) < TOLERANCE

    def slope(path, other, step):
        stepped, forces = moved(model, loads, [(path, step), (other, 1e-30j)])
        return y @ mg.inverse_dynamics(stepped, q, v, a, loads=forces).imag / 1e-30

    pp = np.array(
        [
            [difference(lambda step: slope(i, j, step), 1 / 256) for j in H.parameters]  # noqa: B023
            for i in H.parameters
        ]
    )
    assert relative_error(H.pp, pp) < 1e-10
    assert np.array_equal(H.pp, H.pp.T)
    return H


@pytest.mark.parametrize("seed", range(12, 24))
def test_parameters_of_random_trees_with_loads(seed):
    model = random_tree(seed, 9)
    rng = np.random.default_rng(seed)
    names = [p.path for p in model.parameters()]
    wrt = [*rng.choice(names, 6, replace=False), "L1.force.x", "L4.torque.y", "L3.point.z"]
    y = rng.standard_normal(model.n_v)
    check_parameters(model, *random_state(model, seed), y, random_loads(model, seed), wrt)


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("revolute", ("axis.x", "origin.y", "child_origin.z", "orientation.w")),
        ("dh-revolute", ("theta", "d", "a", "alpha")),
        ("dh-modified", ("theta", "d", "a", "alpha")),
        ("prismatic", ("axis.x", "axis.y", "child_origin.x", "orientation.x")),
        ("cardan", ("axis1.x", "axis2.y", "orientation.x")),
        ("planar", ("normal.x", "direction.z")),
        ("spherical", ("origin.x", "orientation.y")),
        ("floating", ("origin.x", "orientation.y")),
    ],
)
def test_every_parameter_kind_has_an_influence(kind, numbers):
    model = random_tree(17, 3, ("revolute", kind, "revolute"), massless=0.0, branching=0.0)
    y = np.random.default_rng(1).standard_normal(model.n_v)
    joint = [f"j1.{name}" for name in numbers]
    wrt = [*joint, "b1.mass", "b2.com.x", "b2.inertia.xy", "gravity.y", "L2.force.x", "L2.point.y"]
    H = check_parameters(model, *random_state(model, 8), y, random_loads(model, 2), wrt)
    assert H.parameters == tuple(wrt)
    assert np.all(np.max(np.abs(H.qp), axis=0) > 1e-6)
    assert np.all(np.max(np.abs(H.pp), axis=0) > 1e-6)
    inertial = [wrt.index(p) for p in (*joint, "b1.mass", "b2.com.x", "b2.inertia.xy")]
    assert np.all(np.max(np.abs(H.vp[:, inertial]), axis=0) > 1e-6)
    assert np.all(np.max(np.abs(H.ap[:, inertial]), axis=0) > 1e-6)


def test_mixed_blocks_by_differences_of_real_numbers_only():
    model = random_tree(5, 8, massless=0.0)
    q, v, a = random_state(model, 3)
    y = np.random.default_rng(2).standard_normal(model.n_v)
    wrt = ["b3.mass", "b7.com.y", "j2.alpha", "j5.axis.x", "gravity.z"]
    H = inverse_dynamics_hessian(model, q, v, a, y, wrt=wrt)

    def by_p(q, v, a):
        return y @ mg.inverse_dynamics_derivatives(model, q, v, a, wrt=wrt).dp.dense()

    for i, e in enumerate(np.eye(model.n_v)):
        assert relative_error(H.qp[i], difference(lambda h: by_p(model.integrate(q, h * e), v, a), 1 / 32)) < 1e-9  # noqa: B023
        assert relative_error(H.vp[i], difference(lambda h: by_p(q, v + h * e, a), 1 / 32)) < 1e-9  # noqa: B023
        assert relative_error(H.ap[i], difference(lambda h: by_p(q, v, a + h * e), 1 / 32)) < 1e-9  # noqa: B023


@pytest.mark.parametrize("length", [1e-3, 1e3])
def test_steps_follow_the_length_of_an_axis(length):
    """L depends on the direction of an axis only: scaled by s, an axis has second derivatives 1/s^2 of the old."""
    hinge = mg.Revolute("j", "ground", "b", axis=(0.3, 0.5, 0.8))
    model = mg.Model("one", [mg.Body("b", 2.0, (0.3, 0.2, -0.4))], [hinge])
    long = mg.Model("one", model.bodies, [replace(hinge, axis=length * hinge.axis)])
    wrt = ["j.axis.x", "j.axis.y", "j.axis.z"]
    want = inverse_dynamics_hessian(model, [0.4], [1.0], [2.0], [1.0], wrt=wrt)
    got = inverse_dynamics_hessian(long, [0.4], [1.0], [2.0], [1.0], wrt=wrt)
    assert np.max(np.abs(want.pp)) > 1
    assert relative_error(got.pp * length**2, want.pp) < 1e-10
    assert relative_error(got.qp * length, want.qp) < 1e-12


def test_a_pendulum_in_closed_form():
    """tau = m l^2 a + m g l sin q for a bob at l below a hinge."""
    m, l, g = 2.0, 1.5, 9.81  # noqa: E741
    bob = mg.Body("bob", m, (0, 0, -l))
    model = mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))],
                     variables=[mg.DesignVariable("l", {"bob.com.z": -1.0}, l),
                                mg.DesignVariable("u", {"bob.mass": lambda u: u**3}, m ** (1 / 3))])  # fmt: skip
    q, a, y = 0.7, 3.0, 2.0
    H = inverse_dynamics_hessian(model, [q], None, [a], [y], wrt=["l", "u", "bob.mass", "gravity.z"])
    by_m = y * np.array([g * l * np.cos(q), 0, l**2])  # L_qm, L_vm, L_am
    m_u, m_uu = 3 * m ** (2 / 3), 6 * m ** (1 / 3)
    assert H.qp[0] == pytest.approx([y * m * g * np.cos(q), by_m[0] * m_u, by_m[0], -y * m * l * np.cos(q)])
    assert np.max(np.abs(H.vp)) < 1e-15
    assert H.ap[0] == pytest.approx([2 * y * m * l, by_m[2] * m_u, by_m[2], 0])
    L_m = y * (l**2 * a + g * l * np.sin(q))
    L_lm = y * (2 * l * a + g * np.sin(q))
    want = np.zeros((4, 4))
    want[0, :] = 2 * y * m * a, L_lm * m_u, L_lm, -y * m * np.sin(q)
    want[1, 1:] = L_m * m_uu, 0, -y * l * np.sin(q) * m_u
    want[2, 2:] = 0, -y * l * np.sin(q)
    want += np.triu(want, 1).T
    assert H.pp == pytest.approx(want, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("value", [1e-3, 1e3])
def test_steps_follow_the_value_of_a_variable(value):
    """tau = m l^2 a with m = 1 / u^2 has the second derivative 6 l^2 a / u^4."""
    bob = mg.Body("bob", 1.0, (0, 0, -1.5))
    pin = mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))
    drive = mg.DesignVariable("u", {"bob.mass": lambda u: u**-2}, value, scale=value)
    model = mg.Model("pendulum", [bob], [pin], gravity=(0, 0, 0), variables=[drive])
    H = inverse_dynamics_hessian(model, [0.2], None, [3.0], [1.0], wrt="u")
    assert H.pp[0, 0] == pytest.approx(6 * 1.5**2 * 3 / value**4, rel=1e-10)


def test_a_variable_is_the_weighted_sum_of_what_it_drives():
    plain = random_tree(5, 8, massless=0.0)
    start = plain.value("j2.a")
    drive = {"b3.mass": lambda x: plain.value("b3.mass") * (x / start) ** 2, "j2.a": 1.0, "b6.com.x": -0.4}
    model = mg.Model(plain.name, plain.bodies, plain.joints, plain.points, plain.vectors, plain.gravity,
                     [mg.DesignVariable("size", drive, start)])  # fmt: skip
    q, v, a = random_state(model, 3)
    y = np.random.default_rng(2).standard_normal(model.n_v)
    driven = ["b3.mass", "j2.a", "b6.com.x"]
    H = inverse_dynamics_hessian(model, q, v, a, y, wrt=["size", *driven, "j5.axis.x"])
    weights = np.array([w for _, w in model.path_derivative("size")])
    curved = 2 * model.value("b3.mass") / start**2
    for block in (H.qp, H.vp, H.ap):
        assert relative_error(block[:, 0], block[:, 1:4] @ weights) < TOLERANCE
        assert np.all(np.max(np.abs(block), axis=0) > 1e-3)
    slope = y @ mg.inverse_dynamics_derivatives(model, q, v, a, wrt="b3.mass").by("b3.mass")
    assert abs(slope) > 0.1
    assert H.pp[0, 0] == pytest.approx(weights @ H.pp[1:4, 1:4] @ weights + slope * curved, rel=1e-9)
    assert H.pp[0, 1:] == pytest.approx(weights @ H.pp[1:4, 1:], rel=1e-9, abs=1e-9)
    # driven numbers are moved alone, as if there were no variable
    without = inverse_dynamics_hessian(
        mg.Model(plain.name, model.bodies, model.joints, gravity=model.gravity), q, v, a, y, wrt=driven
    )
    assert relative_error(H.pp[1:4, 1:4], without.pp) < 1e-10
    assert relative_error(H.qp[:, 1:4], without.qp) < TOLERANCE


def test_patterns_batches_and_loads_per_sample():
    model = human()
    _, q, v, a = human_motion(samples=9)
    y = np.random.default_rng(0).standard_normal(model.n_v)  # one for all samples
    rng = np.random.default_rng(1)
    loads = [
        mg.Load("foot_right", force=rng.uniform(-300, 300, (9, 3)), point=(0.1, 0, 0)),
        mg.Load("hand_left", torque=(1, 2, 3), axes="body", name="left"),
    ]
    wrt = ["thigh_*.mass", "dh.9.a", "load.0.force.z", "left.torque.x", "dh.9.a"]
    H = inverse_dynamics_hessian(model, q, v, a, y, loads=loads, wrt=wrt)
    assert H.parameters == (
        "thigh_right.mass", "thigh_left.mass", "dh.9.a", "load.0.force.z", "left.torque.x"
    )  # fmt: skip
    assert H.qp.shape == H.vp.shape == H.ap.shape == (9, 43, 5)
    assert H.pp.shape == (9, 5, 5)
    first = inverse_dynamics_hessian(model, q, v, a, y, loads=loads)
    assert np.array_equal(first.qq.values, H.qq.values)
    loads[0] = replace(loads[0], force=loads[0].force[4])
    one = inverse_dynamics_hessian(model, q[4], v[4], a[4], y, loads=loads, wrt=wrt)
    for name in ("qp", "vp", "ap", "pp"):
        assert getattr(one, name).shape == getattr(H, name).shape[1:]
        assert relative_error(getattr(one, name), getattr(H, name)[4]) < 1e-11
    alone = inverse_dynamics_hessian(model, q, v, a, y, wrt="thigh_right.mass")
    assert alone.parameters == ("thigh_right.mass",)
    assert np.max(np.abs(H.qp[..., 0] - alone.qp[..., 0])) < 1e-10


def test_a_named_point_moves_the_load_that_acts_there():
    model = random_tree(4, 6, massless=0.0)
    loads = [mg.Load("b4", force=(3, 4, 5), point="Pb4", name="L0"), mg.Load("b5", force=(1, 2, -5), axes="body")]
    q, v, a = random_state(model, 3)
    y = np.random.default_rng(2).standard_normal(model.n_v)
    H = check_parameters(model, q, v, a, y, loads, ["Pb4.position.x", "L0.point.x", "L0.force.y", "j3.theta"])
    assert np.max(np.abs(H.qp[:, 0])) > 1e-2
    assert relative_error(H.qp[:, 0], H.qp[:, 1]) < TOLERANCE
    assert abs(H.pp[0, 2]) > 1e-2


def test_bodies_on_the_border_of_the_possible_can_be_stepped():
    rod = mg.Body("rod", 1.0, (0.5, 0, 0), (0.0, 1 / 12, 1 / 12))
    model = mg.Model("rod", [rod], [mg.Revolute("pin", "ground", "rod", axis=(0, 1, 0))])
    H = inverse_dynamics_hessian(model, [0.1], [1.0], [2.0], [3.0], wrt="rod.*")
    assert len(H.parameters) == 10
    assert H.ap[0, H.parameters.index("rod.inertia.yy")] == pytest.approx(3.0)


def test_without_parameters_there_are_no_columns():
    model = random_tree(1, 3)
    q, v, a = random_state(model, 1)
    H = inverse_dynamics_hessian(model, q, v, a, v)
    assert H.parameters == ()
    assert H.qp.shape == H.vp.shape == H.ap.shape == (model.n_v, 0)
    assert H.pp.shape == (0, 0)
    batch = inverse_dynamics_hessian(model, q[None], v, a, v)
    assert batch.qp.shape == (1, model.n_v, 0)
    assert batch.pp.shape == (1, 0, 0)


def test_bad_parameters_are_named():
    model = random_tree(1, 3)
    q, v, a = random_state(model, 1)
    for wrt, text in (
        ("b1.mss", "mss"),
        (["b1.mass", "nothing.mass"], "nothing"),
        ("load.0.force.x", "load"),
        ("*.weight", "nothing matches the pattern"),
    ):
        with pytest.raises(mg.MechgradError, match=text):
            inverse_dynamics_hessian(model, q, v, a, v, wrt=wrt)
    stepped = model.with_values({"b1.mass": 1 + 1e-30j})
    for model_, v_ in ((stepped, v), (model, v + 0j)):
        with pytest.raises(mg.InputError, match="not defined for complex numbers"):
            inverse_dynamics_hessian(model_, q, v_, a, v, wrt="b1.mass")


# ------------------------------------------------------------------------------------------------------------ input


def test_bad_input_is_named():
    model = random_tree(1, 3)
    q, v, a = random_state(model, 1)
    with pytest.raises(mg.InputError, match="y is nan at column 0"):
        inverse_dynamics_hessian(model, q, v, a, np.full(model.n_v, np.nan))
    with pytest.raises(mg.InputError, match=r"y has shape \(2,\)"):
        inverse_dynamics_gradient(model, q, v, a, [1.0, 2.0])
