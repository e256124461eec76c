"""Mass matrices: of the tree whatever closes its loops, and of independent coordinates by their kinetic energy."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracles import STEP, relative_error

import mechgrad as mg
from mechgrad.gallery import bicycle, bicycle_start, bricard, five_bar, five_bar_start, slider_crank


def held_twice() -> mg.Model:
    """Three hinges: the first is held by two rows that come first, a gear couples the others."""
    bodies = [mg.Body(x, 1.0 + k, (0.3, 0.1, 0.2), (0.2, 0.3, 0.4)) for k, x in enumerate("abc")]
    parents = ("ground", "a", "b")
    joints = [mg.Revolute(f"h{k}", parents[k], "abc"[k], (0.4 * k, 0, 0), axis=(0, 1, 0)) for k in range(3)]
    held = [mg.constraints.Driver(name, "h0", mg.functions.Constant(0.4)) for name in ("once", "twice")]
    return mg.Model("held", bodies, joints, constraints=[*held, mg.constraints.Gear("gear", "h1", "h2", 2.0)])


@pytest.mark.parametrize(
    ("model", "q", "names"),
    [
        (five_bar(), five_bar_start(), ["A", "1"]),
        (five_bar(), five_bar_start(), ["P2.x", "2"]),
        (slider_crank(axial_inertia=1e-3), None, ["crank axis"]),
        (bricard(), None, None),
        (held_twice(), None, ["h2"]),
    ],
    ids=["five-bar", "by a point", "slider-crank", "redundant rows", "redundant rows first"],
)
def test_kinetic_energy_of_independent_rates(model, q, names) -> None:
    """Of velocities that another function finds from the same rates."""
    q = mg.assemble(model).q if q is None else q
    names = names or mg.kinematics.independent_coordinates(model, q)
    z = np.random.default_rng(3).uniform(0.5, 1.5, len(names))
    v = mg.kinematics.solve_velocities(model, q, dict(zip(names, z, strict=True)))
    v = v.v if isinstance(v, mg.State) else v
    M, reduced = mg.mass_matrix(model, q).dense(), mg.mass_matrix(model, q, independent=names)
    assert M.shape == (model.n_v, model.n_v)
    assert reduced.dense().shape == (len(z), len(z))
    assert v @ M @ v > 1e-4
    assert z @ reduced.dense() @ z == pytest.approx(v @ M @ v, rel=1e-10)
    np.testing.assert_allclose(reduced.dense(), reduced.dense().T, rtol=0, atol=1e-14)
    many = mg.mass_matrix(model, [q, q], independent=names)
    assert many.values.shape == (2, len(z) ** 2)
    np.testing.assert_allclose(many.dense()[1], reduced.dense(), rtol=1e-12, atol=1e-14)


def test_rolling_wheels_have_two_freedoms_and_rates_of_balls_have_names() -> None:
    model = bicycle("rolling")
    start = bicycle_start(model)
    names = ["root.wx", "steering", "rear axle"]
    reduced = mg.mass_matrix(model, start.q, independent=names).dense()
    M = mg.mass_matrix(model, start.q).dense()
    # straight ahead: what the start says of the speed is the inertia of the rear wheel's turn
    speed = start.v[model.v_names.index("rear axle")]
    assert reduced[2, 2] * speed**2 == pytest.approx(start.v @ M @ start.v, rel=1e-9)
    assert np.linalg.eigvalsh(reduced).min() > 1e-3


def test_complex_steps_pass() -> None:
    model, q = five_bar(), five_bar_start()
    moved = mg.mass_matrix(model.with_values({"23.mass": 1.5 + 1j * STEP}), q, independent=["A", "1"]).dense()
    ends = [mg.mass_matrix(model.with_values({"23.mass": 1.5 + s}), q, independent=["A", "1"]).dense() for s in (1, 0)]
    assert relative_error(moved.imag / STEP, ends[0] - ends[1]) < 1e-12  # linear in masses
    assert np.abs(moved.imag / STEP).max() > 0.1
    turned = mg.mass_matrix(model, q + 1j * STEP * np.array([0.3, 0.1, -0.2, 0.5]), independent=["A", "1"]).dense()
    h = 1e-6 * np.array([0.3, 0.1, -0.2, 0.5])
    ends = [mg.mass_matrix(model, q + s * h, independent=["A", "1"]).dense() for s in (1, -1)]
    assert relative_error(turned.imag / STEP, (ends[0] - ends[1]) / 2e-6) < 1e-8
    assert np.abs(turned.imag / STEP).max() > 0.1


def test_names_that_do_not_fix_the_motion_are_refused() -> None:
    model, q = five_bar(), five_bar_start()
    for names, fixed in ((["A"], 1), (["A", "1", "2"], 2), (["A", "P1.x"], 1)):
        with pytest.raises(mg.InputError, match=rf"{len(names)} names .* fix {fixed} of the 2 freedoms"):
            mg.mass_matrix(model, q, independent=names)
    with pytest.raises(mg.ModelError, match="unknown quantity 'elbow'"):
        mg.mass_matrix(model, q, independent=["A", "elbow"])
    with pytest.raises(mg.InputError, match="give a list of names"):
        mg.mass_matrix(model, q, independent="A")
    with pytest.raises(mg.InputError, match="out serves the mass matrix of the tree"):
        mg.mass_matrix(model, q, independent=["A", "1"], out=mg.mass_matrix(model, q))
