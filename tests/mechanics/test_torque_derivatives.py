"""Derivatives of torques along constraints, against complex steps through assembly and forward dynamics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.oracles import by_parameter, by_q, by_x
from torque_cases import CASES, bricard_state, closed_twice, sprung_pendulum

import mechgrad as mg
from mechgrad.errors import AssemblyError
from mechgrad.gallery import bricard, five_bar, human, human_motion
from mechgrad.inverse.spatial import inverse_dynamics as tree_torques
from mechgrad.inverse.spatial import inverse_dynamics_derivatives as tree_derivatives
from mechgrad.mechanics.torque_derivatives import ConstrainedDerivatives

H = 1e-30
LEVELS = {"z": "dz", "zd": "dzd", "zdd": "dzdd"}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return CASES[request.param]()


def stepped(case, path):
    """Model and loads with an imaginary step."""
    name, _, rest = path.partition(".")
    for k, load in enumerate(case.loads):
        if load.name == name:
            field, axis = rest.split(".")
            moved = np.asarray(getattr(load, field)) + 1j * H * np.eye(3)["xyz".index(axis)]
            return {"loads": [*case.loads[:k], replace(load, **{field: moved}), *case.loads[k + 1 :]]}
    return {"model": case.model.with_values({path: case.model.value(path) + 1j * H}, check=False)}


def derivatives(case, driven, **options):
    q, v, a = case.state()
    options = {"independent": list(case.z), "wrt": case.wrt, **options}
    return mg.inverse_dynamics_derivatives(case.model, q, v, a, driven=driven, t=case.t, loads=case.loads, **options)


def oracle(case, driven, level):
    """One column per independent coordinate, rate or second rate."""
    given = getattr(case, level)
    return np.stack(
        [case.torques(driven, **{level: {**given, name: given[name] + 1j * H}}).imag / H for name in given], axis=1
    )


def compare(got, wanted):
    """To 1e-9 of the largest: the reference divides by differences of accelerations, the rest is rounding."""
    assert np.abs(wanted).max() > 1e-4
    np.testing.assert_allclose(got, wanted, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("which", ["driven", "more"])
@pytest.mark.parametrize("level", LEVELS)
def test_by_independent_coordinates(case, which, level):
    driven = getattr(case, which)
    D = derivatives(case, driven, wrt=())
    assert D.independent == tuple(case.z)
    wanted = oracle(case, driven, level)
    compare(getattr(D, LEVELS[level]), wanted)
    assert (np.abs(wanted).max(axis=0) > 1e-6 * np.abs(wanted).max()).all()  # each of them is felt


@pytest.mark.parametrize("which", ["driven", "more"])
def test_by_parameters(case, which):
    driven = getattr(case, which)
    D = derivatives(case, driven)
    assert D.parameters == tuple(case.wrt)
    for path in case.wrt:
        compare(D.by(path), case.torques(driven, **stepped(case, path)).imag / H)


def test_a_choice_of_its_own(case):
    D = derivatives(case, case.driven, independent=None)
    assert set(D.independent) <= set(case.model.q_names)
    q, v, a = case.state()
    names, rates = D.independent, D.independent_rates
    assert (len(names), len(rates)) == (len(case.z), len(case.zd))
    where = {name: case.model.v_names.index(name) for name in names}
    other = replace(
        case,
        z={name: q[case.model.q_names.index(name)] for name in names},
        zd={name: v[where[name]] for name in rates},
        zdd={name: a[where[name]] for name in rates},
        guess=q,
    )
    for level, block in LEVELS.items():
        compare(getattr(D, block), oracle(other, case.driven, level))
    for path in case.wrt[:3]:
        compare(D.by(path), other.torques(case.driven, **stepped(case, path)).imag / H)


def test_complex_steps_through_named_coordinates_are_exact(case):
    """The verb by itself: assembly, torques and multipliers with complex numbers."""

    def torques(**changes):
        given = {name: changes.get(name, getattr(case, name)) for name in ("model", "z", "zd", "zdd", "loads")}
        return mg.inverse_dynamics(
            given["model"], given["z"], given["zd"], given["zdd"], driven=case.more, t=case.t, guess=case.guess,
            loads=given["loads"], return_multipliers=True,
        )  # fmt: skip

    D = derivatives(case, case.more)
    np.testing.assert_allclose(torques()[0], D.tau, atol=1e-11 * np.abs(D.tau).max())
    for level, block in LEVELS.items():
        name = next(iter(getattr(case, level)))
        given = getattr(case, level)
        compare(torques(**{level: {**given, name: given[name] + 1j * H}})[0].imag / H, getattr(D, block)[:, 0])
    for path in case.wrt:
        compare(torques(**stepped(case, path))[0].imag / H, D.by(path))
    # multipliers: central differences, error of the order h^2
    name, h = next(iter(case.z)), 1e-5
    step = torques(z={**case.z, name: case.z[name] + 1j * H})[1].imag / H
    up, down = (torques(z={**case.z, name: case.z[name] + s * h})[1] for s in (1, -1))
    assert np.abs(step).max() > 1e-2
    np.testing.assert_allclose(step, (up - down) / (2 * h), atol=1e-6 * max(1.0, np.abs(step).max()))


def test_many_states_are_many_single_ones():
    case = CASES["five-bar"]()
    states = [case.state(z={"A": case.z["A"] + 0.05 * k, "1": case.z["1"]}) for k in range(3)]
    q, v, a = (np.stack(x) for x in zip(*states, strict=True))
    options = {"driven": case.more, "wrt": case.wrt, "loads": case.loads, "independent": ["1", "3"]}
    D = mg.inverse_dynamics_derivatives(case.model, q, v, a, **options)
    for k in range(3):
        one = mg.inverse_dynamics_derivatives(case.model, q[k], v[k], a[k], **options)
        for name in ("tau", "multipliers", "dz", "dzd", "dzdd", "dp"):
            x = getattr(one, name)
            np.testing.assert_allclose(getattr(D, name)[k], x, atol=1e-12 * np.abs(x).max())
    assert np.abs(D.dz[2] - D.dz[0]).max() > 1.0
    assert repr(D) == "ConstrainedDerivatives(3 samples, n_v=4, by 1, 3 and their rates, parameters=14)"
    z, zd, zdd = ({"A": x[:, 0], "1": x[:, 1]} for x in (q, v, a))
    options["independent"] = None
    named = mg.inverse_dynamics_derivatives(case.model, z, zd, zdd, guess=case.guess, **options)
    assert named.independent == ("A", "1")
    wanted = mg.inverse_dynamics_derivatives(case.model, q, v, a, **{**options, "independent": ["A", "1"]})
    np.testing.assert_allclose(named.dz, wanted.dz, atol=1e-9 * np.abs(wanted.dz).max())


# ---- rows that depend on each other


def test_bricard_in_closed_form():
    def torque(x, xd, xdd, model=None):
        model = model or bricard()
        q, v, a = bricard_state(x, xd, xdd)
        _, direction, _ = bricard_state(x, 1.0, 0.0)
        return tree_torques(model.open_tree(), q, v, a) @ direction

    at = (0.4, 1.3, -2.0)
    D = mg.inverse_dynamics_derivatives(
        bricard(), *bricard_state(*at), driven=["A"], independent=["A"], wrt=["bar 3.mass", "bar 2.com.x"]
    )
    for k, block in enumerate((D.dz, D.dzd, D.dzdd)):
        wanted = np.imag(torque(*(x + 1j * H * (i == k) for i, x in enumerate(at)))) / H
        assert abs(wanted) > 1e-2
        assert block[0, 0] == pytest.approx(wanted, rel=1e-9)
        assert not block[1:].any()
    for path in D.parameters:
        moved = bricard().with_values({path: bricard().value(path) + 1j * H}, check=False)
        assert D.by(path)[0] == pytest.approx(np.imag(torque(*at, moved)) / H, rel=1e-9)
        assert abs(D.by(path)[0]) > 1e-2
    with pytest.raises(AssemblyError, match=r"cannot follow a change of 'B.origin.x'"):
        mg.inverse_dynamics_derivatives(bricard(), *bricard_state(*at), driven=["A"], wrt=["bar 3.mass", "B.origin.x"])


def test_the_shortest_multipliers_of_dependent_rows_by_complex_step():
    """The range of Gamma turns along the motion; differences of real numbers see that too, to the order h^2."""

    def multipliers(x):
        return mg.inverse_dynamics(bricard(), *bricard_state(x, 1.3, -2.0), driven=["A"], return_multipliers=True)[1]

    step, h = multipliers(0.4 + 1j * H).imag / H, 1e-5
    assert np.abs(step).max() > 1.0
    np.testing.assert_allclose(step, (multipliers(0.4 + h) - multipliers(0.4 - h)) / (2 * h), atol=1e-6)


def test_a_closure_stated_twice_changes_no_derivative():
    case = CASES["five-bar"]()
    post = mg.DesignVariable("post", ["B.origin.x", "PB.position.x"], 1.0)
    m = five_bar()
    once = mg.Model(
        m.name, m.bodies, m.joints, m.points, gravity=m.gravity, forces=m.forces, variables=[post]
    )  # fmt: skip
    q, v, a = case.state()
    options = {"driven": case.more, "independent": ["A", "1"], "wrt": ["post", "23.mass", "S1.stiffness"]}
    wanted = mg.inverse_dynamics_derivatives(once, q, v, a, **options)
    found = mg.inverse_dynamics_derivatives(closed_twice([post]), q, v, a, **options)
    assert len(found.multipliers) > len(wanted.multipliers)
    for name in ("dz", "dzd", "dzdd", "dp"):
        x = getattr(wanted, name)
        assert np.abs(x).max() > 0.1
        np.testing.assert_allclose(getattr(found, name), x, atol=1e-10 * np.abs(x).max())
    with pytest.raises(AssemblyError, match=r"cannot follow a change of 'B.origin.x'"):
        mg.inverse_dynamics_derivatives(closed_twice(), q, v, a, wrt=["23.mass", "B.origin.x"])
    with pytest.raises(AssemblyError, match=r"'B.origin.z' cannot change: .*tears"):  # a row that always holds
        mg.inverse_dynamics_derivatives(five_bar(), q, v, a, wrt=["B.origin.z"])


# ---- trees


def test_a_tree_with_springs():
    model, rng = sprung_pendulum(), np.random.default_rng(4)
    q, v, a = (rng.normal(size=2) for _ in range(3))
    loads = [mg.Load("lower", (3.0, 1.0, -2.0), point=(0.1, 0.2, -0.3), name="push")]
    wrt = [
        "upper.mass",
        "line.stiffness",
        "knee.free_position",
        "wall.position.x",
        "push.force.x",
        "motor.torque.coefficients.1",
    ]
    t = 0.3

    def torques(q=q, v=v, a=a, model=model, loads=loads):
        return mg.inverse_dynamics(model, q, v, a, t=t, loads=loads)

    D = mg.inverse_dynamics_derivatives(model, q, v, a, t=t, loads=loads, wrt=wrt)
    assert isinstance(D, mg.results.InverseDynamicsDerivatives)
    np.testing.assert_allclose(D.tau, torques(), rtol=1e-13)
    bare = tree_derivatives(model.open_tree(), q, v, a, loads=loads)
    for block, wanted, tree in (
        (D.dq, by_q(lambda x: torques(q=x), model, q), bare.dq),
        (D.dv, by_x(lambda x: torques(v=x), v), bare.dv),
        (D.da, by_x(lambda x: torques(a=x), a), None),
    ):
        assert np.abs(wanted).min() > 1e-2
        np.testing.assert_allclose(block.dense(), wanted, atol=1e-11 * np.abs(wanted).max())
        assert tree is None or np.abs(tree.dense() - wanted).max() > 0.1  # springs are felt
    for path in wrt:
        if path.startswith("push"):
            wanted = torques(loads=[replace(loads[0], force=(3.0 + 1j * H, 1.0, -2.0))]).imag / H
        else:
            wanted = by_parameter(lambda m: torques(model=m), model, path)
        assert np.abs(wanted).max() > 1e-2
        np.testing.assert_allclose(D.by(path), wanted, atol=1e-11 * np.abs(wanted).max())
    many = mg.inverse_dynamics_derivatives(model, [q, q], [v, -v], [a, a], t=t, wrt=wrt[:1])
    assert many.dq.dense().shape == (2, 2, 2)
    assert many.dp.dense().shape == (2, 2, 1)


def test_plain_trees_go_their_old_way():
    model = human()
    _, q, v, a = human_motion(samples=5)
    got, wanted = (f(model, q, v, a, wrt="*.mass") for f in (mg.inverse_dynamics_derivatives, tree_derivatives))
    for name in ("dq", "dv", "da", "dp"):
        np.testing.assert_array_equal(getattr(got, name).values, getattr(wanted, name).values)
        assert getattr(got, name).pattern.nnz < 43 * 43
    assert mg.inverse_dynamics_derivatives(model, q, v, a, wrt="*.mass", out=got) is got
    assert not isinstance(got, ConstrainedDerivatives)
