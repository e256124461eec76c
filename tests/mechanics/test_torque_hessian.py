"""Weighted forces of mechanisms: gradients against complex steps of the forces, Hessians against complex steps of the
gradient by hand-made sums, differences, and the kernels of trees."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracles import STEP, by_parameter, by_q, by_x, relative_error
from support.random_trees import random_loads, random_state, random_tree
from torque_cases import CASES, sprung_pendulum

import mechgrad as mg
from mechgrad.dynamics.system import System
from mechgrad.kinematics.mechanism_record import row_report
from mechgrad.mechanics.checked_states import States

gradient_of, hessian_of = mg.terms.inverse_dynamics_gradient, mg.terms.inverse_dynamics_hessian


@pytest.fixture(scope="module", params=["five-bar", "slider-crank", "linkage", "wheel"])
def given(request):
    """A mechanism, a motion that need not meet its constraints, weights and multipliers."""
    case = CASES[request.param]()
    q, v, a = case.state()
    rng = np.random.default_rng(3)
    m = len(mg.terms.constraint_terms(case.model, q).names)
    return case, q, v, a, rng.normal(size=case.model.n_v), 5.0 * rng.normal(size=m)


def weighted(case, model, q, v, a, y, lam, loads):
    """y . tau from inverse dynamics, accelerations and rows by other functions; complex numbers pass."""
    free = mg.forward_dynamics(model.open_tree(), q, v, loads=loads)
    tau = mg.mass_matrix(model.open_tree(), q).dense() @ (a - free)
    system = np.asarray(constraint_jacobian(model, q, case.t))
    return y @ (tau - element_forces(model, q, v, case.t) + system.T @ lam)


def constraint_jacobian(model, q, t):
    states = States.of(model, q, None, None, t)
    system = System(model, rows=row_report(model).kept, dtype=complex)
    return system.constraints(states.q + 0j, None, None, states.t).J[0]


def element_forces(model, q, v, t):
    """Generalized forces of the elements: accelerations under them times the mass matrix, less those without. The
    constraints are left out of both."""
    alone = mg.Model(
        model.name, model.bodies, list(model.tree_joints), model.points, model.vectors, model.gravity,
        model.variables, (), model.forces,
    )  # fmt: skip
    M = mg.mass_matrix(model.open_tree(), q).dense()
    return M @ (mg.forward_dynamics(alone, q, v, t=t) - mg.forward_dynamics(model.open_tree(), q, v))


def test_gradient_of_every_mechanism(given):
    case, q, v, a, y, lam = given
    got = gradient_of(case.model, q, v, a, y, loads=case.loads, multipliers=lam, t=case.t)

    def L(q=q, v=v, a=a):
        return weighted(case, case.model, q, v, a, y, lam, case.loads)

    wanted = (by_q(lambda x: L(q=x), case.model, q), by_x(lambda x: L(v=x), v), by_x(lambda x: L(a=x), a))
    for x, w in zip(got, wanted, strict=True):
        assert np.abs(w).max() > 1e-2
        assert relative_error(x, w) < 1e-9  # the reference multiplies accelerations back with M
    assert relative_error(got[0], gradient_of(case.model, q, v, a, y, loads=case.loads, multipliers=0 * lam)[0]) > 1e-3


def test_hessian_of_every_mechanism(given):
    """By q, v, a: complex steps through the gradient, which stands on its own; by parameters: differences."""
    case, q, v, a, y, lam = given
    model = case.model
    wrt = [path for path in case.wrt if not path.startswith("motor")][-4:]
    H = hessian_of(model, q, v, a, y, loads=case.loads, multipliers=lam, t=case.t, wrt=wrt)

    def g(q=q, v=v, a=a, model=model, loads=case.loads):
        return gradient_of(model, q, v, a, y, loads=loads, multipliers=lam, t=case.t)

    for x, w in zip((H.q, H.v, H.a), g(), strict=True):
        assert relative_error(x, w) < 1e-12
    blocks = (
        (H.qq, by_q(lambda x: g(q=x)[0], model, q)),
        (H.qv, by_x(lambda x: g(v=x)[0], v)),
        (H.qa, by_x(lambda x: g(a=x)[0], a)),
        (H.vv, by_x(lambda x: g(v=x)[1], v)),
    )
    for got, want in blocks:
        assert relative_error(got.dense(), want) < 1e-11
    assert all(np.abs(want).max() > 1e-3 for _, want in blocks)
    for k, path in enumerate(wrt):
        if path in {p.path for p in model.parameters()}:
            for level, name in enumerate(("qp", "vp", "ap")):
                want = by_parameter(lambda m, level=level: g(model=m)[level], model, path)
                assert relative_error(getattr(H, name)[:, k], want) < 1e-11
    assert np.abs(H.qp).max() > 1e-2
    assert H.pp.shape == (4, 4)
    np.testing.assert_allclose(H.pp, H.pp.T)


def test_second_derivatives_by_parameters_against_the_force_of_a_spring():
    """y . tau of a spring k (l - l0) between points: by k and l0 it is -y . l_q, whatever the place."""
    model = sprung_pendulum()
    model = mg.Model(
        model.name, model.bodies, model.joints, model.points, gravity=model.gravity, forces=model.forces[:1]
    )
    q, v, a, y = np.array([[0.4, -0.9], [1.1, 0.6], [-2.0, 1.5], [0.7, -1.3]])
    H = hessian_of(model, q, v, a, y, wrt=["line.stiffness", "line.free_length", "wall.position.x"])
    J = mg.kinematics.marker_derivatives(model, ["tip", "wall"], q).x_q
    x = mg.kinematics.marker_motion(model, ["tip", "wall"], q).position
    unit = (x[0] - x[1]) / np.linalg.norm(x[0] - x[1])
    assert H.pp[0, 1] == pytest.approx(-y @ (J[0] - J[1]).T @ unit, rel=1e-10)
    assert H.pp[0, 0] == pytest.approx(0.0, abs=1e-10)
    h = 1e-4

    def first(s):
        moved = model.with_values({"wall.position.x": 1.0 + s * h})
        return mg.inverse_dynamics_derivatives(moved, q, v, a, wrt=["wall.position.x"]).by("wall.position.x") @ y

    assert H.pp[2, 2] == pytest.approx((first(1) - first(-1)) / (2 * h), rel=1e-6)
    assert abs(H.pp[2, 2]) > 0.1


def test_the_general_way_agrees_with_the_kernels_of_trees():
    """A spring without stiffness makes a tree take the general way, loads and parameters included."""
    tree = random_tree(3, 6, massless=0.0)
    points = [mg.Point("P", tree.bodies[1].name), mg.Point("Q", tree.bodies[-1].name, (0.1, 0.2, 0.3))]
    model = mg.Model(
        "sprung", tree.bodies, tree.joints, points, gravity=tree.gravity,
        forces=[mg.forces.SpringDamper("idle", "P", "Q", 0.0, 0.0, 0.3)],
    )  # fmt: skip
    q, v, a = random_state(tree, 3, 2)
    y = np.random.default_rng(1).normal(size=v.shape)
    loads = random_loads(tree, 3)
    wrt = [f"{tree.bodies[2].name}.mass", f"{tree.joint_names[1]}.origin.x", "gravity.y", f"{loads[0].name}.force.x"]
    got, want = (hessian_of(m, q, v, a, y, loads=loads, wrt=wrt) for m in (model, tree))
    for name in ("qq", "qv", "vv", "qa"):
        x, w = getattr(got, name).dense(), getattr(want, name).dense()
        assert np.abs(w).max() > 0.1
        assert relative_error(x, w) < 1e-11
    for name in ("q", "v", "a", "qp", "vp", "ap", "pp"):
        assert relative_error(getattr(got, name), getattr(want, name)) < 1e-9, name
    for x, w in zip(gradient_of(model, q, v, a, y, loads=loads), (want.q, want.v, want.a), strict=True):
        assert relative_error(x, w) < 1e-12


def test_what_is_asked_wrongly_says_why():
    case = CASES["five-bar"]()
    q, v, a = case.state()
    y = np.ones(4)
    for verb in (gradient_of, hessian_of):
        with pytest.raises(mg.InputError, match=r"has 2 constraint row\(s\), and their multipliers are part"):
            verb(case.model, q, v, a, y)
        with pytest.raises(mg.InputError, match="multipliers has shape"):
            verb(case.model, q, v, a, y, multipliers=[1.0])
        with pytest.raises(mg.InputError, match="no constraints and no multipliers"):
            verb(case.model.open_tree(), q, v, a, y, multipliers=[1.0, 2.0])
    with pytest.raises(mg.InputError, match="take real numbers"):
        hessian_of(case.model, q + 0j, v, a, y, multipliers=[1.0, 2.0])
    with pytest.raises(mg.InputError, match="laws in Python, whose second derivatives nobody states"):
        hessian_of(sprung_pendulum(), [0.1, 0.2], None, None, [1.0, 1.0])
    with pytest.raises(mg.InputError, match="laws in Python, whose partials take real"):
        gradient_of(sprung_pendulum(), [0.1, 0.2 + 1j * STEP], None, None, [1.0, 1.0])
    assert np.abs(gradient_of(sprung_pendulum(), [0.1, 0.2], None, None, [1.0, 1.0])[0]).max() > 1.0
