"""Certificates of models: random trees pass in all families, and every falsified family is found."""

from __future__ import annotations

import numpy as np
import pytest
from support.random_trees import ALL_KINDS, random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.errors import CertificateError, InputError, UnknownNameError
from mechgrad.gallery import arm7, double_pendulum, human
from mechgrad.sensitivities import certify_model, model_check

TITLES = [
    *(f"inverse dynamics by {x}" for x in ("coordinates", "velocities", "accelerations", "parameters")),
    *(f"forward dynamics by {x}" for x in ("coordinates", "velocities", "forces", "parameters")),
    *(f"markers by {x}" for x in ("coordinates", "velocities", "accelerations", "parameters")),
]


@pytest.mark.parametrize("seed", range(3))
def test_random_trees_pass_in_all_families(seed):
    model = random_tree(seed, 5, kinds=tuple(np.roll(ALL_KINDS, 4 * seed)), massless=0.0, branching=0.3)
    loads = random_loads(model, seed)
    result = certify_model(model, loads=loads, seed=seed, samples=2)
    assert result.passed, str(result)
    assert [c.title for c in result] == TITLES
    assert all(c.passed and c.judge == "complex step" for c in result)
    assert all(np.max(c.influence) > 0.1 for c in result)
    by_numbers = result["inverse dynamics by parameters"]
    assert set(by_numbers.names) == {p.path for p in model.parameters()} | {
        f"{load.name}.{field}.{axis}" for load in loads for field in ("force", "torque", "point") for axis in "xyz"
    }
    assert by_numbers.outputs[:2] == (f"{model.v_names[0]} @0", f"{model.v_names[1]} @0")
    assert result.worst.error < 1e-9


def scaled(result, key, factor):
    """A result of the library with one of its matrices falsified."""

    class Falsified:
        def __getattr__(self, name):
            value = getattr(result, name)
            if name != key:
                return value
            if isinstance(value, mg.terms.Packed):
                return mg.terms.Packed(value.values * factor, value.pattern)
            return value * factor

    return Falsified()


@pytest.mark.parametrize(
    ("function", "key", "title"),
    [
        *(("inverse_dynamics_derivatives", k, t) for k, t in zip(("dq", "dv", "da", "dp"), TITLES[:4], strict=True)),
        *(("forward_dynamics_derivatives", k, t) for k, t in zip(("dq", "dv", "dtau", "dp"), TITLES[4:8], strict=True)),
        *(("marker_derivatives", k, t) for k, t in zip(("xd_q", "xdd_v", "x_q", "xdd_p"), TITLES[8:], strict=True)),
    ],
)
def test_one_part_in_a_million_is_seen_in_every_family(monkeypatch, function, key, title):
    honest = getattr(model_check, function)
    monkeypatch.setattr(model_check, function, lambda *a, **k: scaled(honest(*a, **k), key, 1 + 1e-6))
    result = certify_model(arm7(), wrt=["link4.*", "bend.*"], steps=())
    assert not result.passed
    assert result[title].outcome == "failed"
    assert 1e-8 < result[title].worst.error < 1e-5
    assert title in result.verdict
    with pytest.raises(CertificateError, match=title):
        result.raise_if_failed()
    if key != "x_q":  # which is the derivative of position by q, of velocity by v and of acceleration by a
        assert sum(c.outcome == "failed" for c in result) == 1


def test_the_human_passes():
    result = certify_model(human(), wrt=["thigh_right.*", "dh.9.*", "gravity.*"], seed=4)
    assert result.passed, result.verdict
    assert len(result) == 8
    assert result["inverse dynamics by coordinates"].worst.error < 1e-11


def test_a_singular_mass_matrix_is_said_and_the_rest_is_checked():
    result = certify_model(human(radius=0.0), wrt=["dh.9.a"], steps=())
    assert result.passed
    assert [c.title for c in result] == TITLES[:4]
    assert any("forward dynamics is not checked: the mass matrix is singular" in note for note in result.notes)


def test_state_and_families_can_be_chosen():
    model = random_tree(5, 4, ("revolute", "spherical"), massless=0.0)
    q, v, a = random_state(model, 2, 3)
    result = certify_model(model, q=q, v=v[0], a=a, wrt=(), families=["inverse dynamics"], steps=())
    assert result.passed
    assert len(result) == 3
    tau_a = result["inverse dynamics by accelerations"]
    assert tau_a.analytic.shape == (3 * model.n_v, model.n_v)
    assert np.allclose(tau_a.analytic.reshape(3, model.n_v, -1), mg.mass_matrix(model, q).dense())
    assert tau_a.differences is None


def test_the_seed_chooses_the_state():
    one, same, other = (certify_model(double_pendulum(), wrt=(), seed=seed, steps=())[0] for seed in (1, 1, 2))
    assert np.array_equal(one.analytic, same.analytic)
    assert not np.array_equal(one.analytic, other.analytic)


def test_nothing_to_see_is_said_and_is_no_failure_of_the_rest():
    """The torque of a pendulum does not depend on its velocity."""
    model = mg.Model(
        "pendulum", [mg.Body("bob", 2.0, (0, 0, -1))], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))]
    )
    result = certify_model(model, wrt=["bob.mass"])
    assert result.passed
    assert result["inverse dynamics by velocities"].outcome == "no influence"
    assert "Nothing to see, influence is zero: inverse dynamics by velocities" in result.verdict
    floating = mg.Model("ball", [mg.Body("b", 1.0)], [mg.Prismatic("x", "ground", "b", axis=(1, 0, 0))])
    result = certify_model(floating, a=[1.0], wrt=["gravity.y"], families=["inverse dynamics"])
    assert [c.outcome for c in result] == ["no influence", "no influence", "passed", "no influence"]


def test_design_variables_are_checked_instead_of_what_they_drive():
    base = double_pendulum()
    variable = mg.DesignVariable(
        "length", {"elbow.origin.z": -1.0, "lower.com.z": -0.5, "tip.position.z": -1.0}, value=1.0
    )
    model = mg.Model("driven", base.bodies, base.joints, base.points, base.vectors, base.gravity, [variable])
    result = certify_model(model)
    assert result.passed
    names = result["inverse dynamics by parameters"].names
    assert "length" in names
    assert "elbow.origin.z" not in names
    assert "checked through it: length" in result.notes[0]
    assert "length" in result["markers by parameters"].names


def test_loads_at_named_points_and_per_sample():
    model = random_tree(21, 3, ("revolute", "spherical"), massless=0.0)
    q, v, a = random_state(model, 1, 2)
    loads = [
        mg.Load("b2", force=(3.0, -4.0, 5.0), point="Pb2"),
        mg.Load("b1", force=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], axes="body"),
    ]
    result = certify_model(model, q=q, v=v, a=a, loads=loads, wrt=["load.*", "Pb2.*"], families=["inverse dynamics"])
    assert result.passed, str(result)
    by_numbers = result["inverse dynamics by parameters"]
    assert set(np.array(by_numbers.names)[by_numbers.influence > 0.1]) >= {
        "load.0.point.x", "load.1.force.y", "load.1.torque.z", "Pb2.position.y",
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------ users' derivatives
def users(model, q, v, a):
    D = mg.inverse_dynamics_derivatives(model, q, v, a, wrt=["lower.mass", "elbow.origin.z"])
    return {"dq": D.dq, "dv": D.dv.dense(), "dp": {path: D.by(path) for path in D.parameters}}


def test_users_derivatives_are_what_is_judged():
    result = certify_model(double_pendulum(), derivatives=users, samples=2)
    assert result.passed
    assert [c.title for c in result] == [TITLES[0], TITLES[1], TITLES[3]]
    assert result[2].names == ("lower.mass", "elbow.origin.z")
    assert result.notes == ("not given, so not checked: da.",)

    def wrong(model, q, v, a):
        given = users(model, q, v, a)
        given["dp"]["elbow.origin.z"][1] *= 1 - 1e-6
        return given

    result = certify_model(double_pendulum(), derivatives=wrong)
    assert result.worst[:2] == ("elbow", "elbow.origin.z")
    assert result[2].outcome == "failed"


def test_users_parameters_as_a_matrix_follow_wrt():
    paths = ["lower.mass", "gravity.z"]

    def matrix(model, q, v, a):
        return {"dp": mg.inverse_dynamics_derivatives(model, q, v, a, wrt=paths).dp.dense()}

    assert certify_model(double_pendulum(), derivatives=matrix, wrt=paths).passed
    assert not certify_model(double_pendulum(), derivatives=matrix, wrt=paths[::-1]).passed
    with pytest.raises(InputError, match=r"dp has shape \(2, 2\); it must be \(2, 52\)"):
        certify_model(double_pendulum(), derivatives=matrix)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"families": ["inverse"]}, UnknownNameError, "unknown family 'inverse'"),
        ({"wrt": ["lower.weight"]}, UnknownNameError, "weight"),
        ({"samples": 0}, InputError, "at least 1"),
        ({"q": np.zeros(3)}, InputError, r"q has shape \(1, 3\); it must be \(2,\)"),
        ({"q": np.zeros((3, 2)), "v": np.zeros((2, 2))}, InputError, r"\[2, 3\] samples"),
        ({"derivatives": lambda *state: 3}, InputError, "returned int; a dict"),
        ({"derivatives": lambda *state: {"dx": 3}}, UnknownNameError, "unknown key 'dx'"),
        ({"derivatives": lambda *state: {"dq": np.zeros(2)}}, InputError, r"dq has shape \(2,\); it must be \(2, 2\)"),
    ],
)
def test_unusable_input_is_explained(arguments, error, message):
    with pytest.raises(error, match=message):
        certify_model(double_pendulum(), **arguments)


def test_a_model_that_cannot_move_is_refused():
    with pytest.raises(InputError, match="no coordinates"):
        certify_model(mg.Model("rock", [mg.Body("b", 1.0)], [mg.Fixed("f", "ground", "b")]))


def test_unknown_family_names_the_known_ones():
    result = certify_model(double_pendulum(), wrt=(), steps=())
    with pytest.raises(UnknownNameError, match="markers by velocities"):
        result["markers by velocity"]
    assert len(list(result)) == len(result) == 9
    assert "9 families, passed" in repr(result)
    assert result.verdict in str(result)
