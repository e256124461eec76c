"""Sparse matrices of loops: the same motions and gradients as dense ones, and what becomes of lost digits."""

from __future__ import annotations

import hard_mechanisms as hard
import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery
from mechgrad.dynamics.ali3p import ALI3P
from mechgrad.dynamics.elimination import Elimination, eliminated
from mechgrad.dynamics.index1 import Index1
from mechgrad.dynamics.penalty import Penalty
from mechgrad.dynamics.states import linearised, linearised_entries
from mechgrad.dynamics.system import System, surely_independent
from mechgrad.errors import InputError


def _four_bars():
    model, start = gallery.four_bars(3)
    return model, mg.state(model, *start(1.9, -1.0))


def _with_start(make, start):
    model = make()
    return model, start(model)


def _five_bar_on_the_ground():
    """A sphere at its tip touches a bump while it moves; another one is out of reach of everything."""
    bar = gallery.five_bar()
    ground = mg.surfaces.Bump(centre=0.5, height=0.2, length=40.0, heading=(1.0, 0.0, 0.0))
    tip = mg.kinematics.marker_motion(bar, ["P2"], gallery.five_bar_start()).position[0]
    points = [*bar.points, mg.Point("floor", "ground", tip - (0.0, 0.3, 0.0)), mg.Point("away", "ground", (90, 0, 0))]
    forces = [
        mg.forces.SphereContact("touch", "P2", 0.12, "floor", "aloft", 40.0, exponent=1.0, friction=0.3, ground=ground),
        mg.forces.BodyContact("far", "P2", "away", 0.1, 0.1, 10.0),
    ]
    model = mg.Model(
        bar.name, bar.bodies, bar.joints, points, [*bar.vectors, mg.Vector("aloft", "ground", (0, 1, 0))],
        gravity=bar.gravity, cut=bar.cut, constraints=bar.constraints, forces=[*bar.forces, *forces],
    )  # fmt: skip
    return model, gallery.five_bar_start()


CASES = {
    "four-bars": _four_bars,
    "five-bar on the ground": _five_bar_on_the_ground,
    "five-bar": lambda: (gallery.five_bar(), gallery.five_bar_start()),
    "slider-crank": lambda: _with_start(
        gallery.slider_crank, lambda m: mg.assemble(m, {m.q_names[0]: 0.3}, {m.v_names[0]: 4.0})
    ),
    "seven bodies": lambda: _with_start(gallery.seven_body, gallery.seven_body_start),
    "stewart": lambda: _with_start(
        gallery.stewart_platform, lambda m: gallery.stewart_platform_start(m, rates=(0.3, -0.2, 0.1, 0.2, -0.1, 0.05))
    ),
    "delta": lambda: _with_start(gallery.delta_robot, gallery.delta_robot_start),
    "rolling bicycle": lambda: _with_start(
        lambda: gallery.bicycle("rolling"), lambda m: gallery.bicycle_start(m, lean=0.1)
    ),
}


def _motions(name, formulation=ALI3P, **how):
    model, start = CASES[name]()
    how = {"duration": 0.05, "step": 1e-3, "scheme": "trapezoidal", **how}
    return [mg.simulate(model, start, formulation=formulation(matrices=kind), **how) for kind in ("dense", "sparse")]


@pytest.mark.parametrize("name", CASES)
def test_sparse_motions_are_dense_ones(name):
    dense, sparse = _motions(name)
    assert np.ptp(dense.q, axis=0).max() > 1e-4
    # Newton's iteration ends at increments of 1e-10 of a step: accelerations and multipliers differ by more
    for what, share in {"q": 1e-11, "v": 1e-11, "a": 1e-9, "multipliers": 1e-8}.items():
        wanted, got = getattr(dense, what), getattr(sparse, what)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=share * max(1.0, np.abs(wanted).max()), err_msg=what)
    assert sparse.dense_steps == 0


@pytest.mark.parametrize("formulation", [Index1, Penalty])
@pytest.mark.parametrize("name", ["five-bar", "rolling bicycle"])
def test_other_formulations(name, formulation):
    dense, sparse = _motions(name, formulation)
    np.testing.assert_allclose(sparse.q, dense.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(sparse.v, dense.v, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "formulation", "parameters"),
    [
        ("five-bar", ALI3P, ["S1.stiffness", "A1.mass", "A1.com.x"]),
        ("five-bar", Index1, ["S1.stiffness", "A1.mass", "A1.com.x"]),
        ("stewart", ALI3P, ["plate.mass", "cylinder 1.mass"]),
    ],
)
def test_sparse_gradients_are_dense_ones(name, formulation, parameters):
    """Both sweeps; sums over all coordinates, so that no entry of a matrix is without influence."""
    dense, sparse = _motions(name, formulation)
    goal = mg.AtEnd(mg.measures.KineticEnergy())
    wanted = mg.gradient(dense, goal, parameters, method="adjoint")
    assert np.abs(wanted.array).min() > 1e-8
    for method in ("adjoint", "direct"):
        got = mg.gradient(sparse, goal, parameters, method=method)
        np.testing.assert_allclose(got.array, wanted.array, rtol=1e-9)


@pytest.mark.parametrize("how", [{"scheme": "rk4"}, {"scheme": "dop853", "step": None, "rtol": 1e-10, "atol": 1e-10}])
@pytest.mark.parametrize("name", ["five-bar", "stewart"])
def test_explicit_methods(name, how):
    dense, sparse = _motions(name, Index1, **how)
    np.testing.assert_allclose(sparse.q, dense.q, rtol=0, atol=1e-11)
    assert sparse.dense_steps == 0


@pytest.mark.parametrize("formulation", [ALI3P, Index1])
def test_error_control_of_implicit_steps(formulation):
    """The same steps, to rounding, and gradients through them."""
    how = {"step": None, "rtol": 1e-6, "atol": 1e-6, "duration": 0.2, "samples": 11}
    dense, sparse = _motions("five-bar", formulation, **how)
    assert sparse.steps == dense.steps > 20
    assert sparse.dense_steps == 0
    np.testing.assert_allclose(sparse.q, dense.q, rtol=0, atol=1e-9)
    goal = mg.AtEnd(mg.measures.KineticEnergy())
    wanted, got = (mg.gradient(x, goal, ["A1.mass", "S1.stiffness"]).array for x in (dense, sparse))
    assert np.abs(wanted).min() > 1e-8
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_error_control_whose_factors_lose_digits_goes_with_dense_ones(monkeypatch):
    model, start = CASES["five-bar"]()
    how = {"duration": 0.05, "rtol": 1e-6, "atol": 1e-6, "scheme": "trapezoidal"}
    taken = mg.simulate(model, start, formulation=ALI3P(matrices="dense"), **how)
    plain = Elimination.record

    def record(self, dtype):
        found = plain(self, dtype)
        found.lost[0] = 1
        return found

    monkeypatch.setattr(Elimination, "record", record)
    motion = mg.simulate(model, start, formulation=ALI3P(matrices="sparse"), **how)
    assert motion.dense_steps == motion.steps == taken.steps
    np.testing.assert_allclose(motion.q, taken.q, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["parallelogram", "Bennett"])
def test_hard_cases_pass_with_sparse_matrices(name):
    """Change points on the way of a row of parallelograms, against its closed form; and rows that always depend on each
    other."""
    if name == "parallelogram":
        model, start = gallery.four_bars(2)
        motion = mg.simulate(
            model, mg.state(model, *start(np.pi / 2, -1.0)), 2.0, step=1e-3, formulation=ALI3P(matrices="sparse")
        )
        wanted = gallery.four_bars_angle(2, np.pi / 2, -1.0, motion.t)
        assert wanted.min() < -np.pi / 2 - 0.1  # past both of them
        np.testing.assert_allclose(motion.q[:, 0], wanted, rtol=0, atol=1e-4)
    else:
        model, q = hard.bennett()
        start = mg.assemble(model, {"1": q[0]}, {"1": 0.5}, guess=q)
        motion = mg.simulate(model, start, 0.3, step=5e-4, samples=7, formulation=ALI3P(matrices="sparse"))
        exact = np.array([hard.bennett(start=angle)[1] for angle in motion.q[:, 0]])
        assert abs(motion.q[-1, 0] - q[0]) > 0.5
        np.testing.assert_allclose(motion.q, exact, rtol=0, atol=1e-7)
    assert motion.dense_steps == 0


def test_steps_whose_factors_lose_digits_are_taken_with_pivoting(monkeypatch):
    """With a bound that nothing meets every step is a dense one: counted, and the same motion."""
    model, start = CASES["five-bar"]()
    taken = mg.simulate(model, start, 0.02, step=1e-3, formulation=ALI3P(matrices="dense"))
    lost = Elimination.record

    def record(self, dtype):
        found = lost(self, dtype)
        found.lost[0] = 1  # as if a solution had too few digits
        return found

    monkeypatch.setattr(Elimination, "record", record)
    motion = mg.simulate(model, start, 0.02, step=1e-3, formulation=ALI3P(matrices="sparse"))
    assert motion.dense_steps >= 1
    np.testing.assert_allclose(motion.q, taken.q, rtol=0, atol=1e-11)
    goal = mg.AtEnd(mg.measures.KineticEnergy())
    for method in ("adjoint", "direct"):
        wanted, got = (mg.gradient(x, goal, ["A1.mass"], method=method).array for x in (taken, motion))
        np.testing.assert_allclose(got, wanted, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["adjoint", "direct"])
def test_marches_of_complex_numbers_take_sparse_matrices(method):
    """Certificates repeat the motion of a large mechanism with complex numbers."""
    model, state = gallery.four_bars(20)
    motion = mg.simulate(model, mg.state(model, *state(-1.0, 0.5)), 0.02, step=1e-3)
    assert motion.system.elimination() is not None
    paths = [f"{model.bodies[k].name}.mass" for k in (0, 7)]
    gradient = mg.gradient(motion, mg.AtEnd(mg.measures.KineticEnergy()), paths, method=method)
    certificate = gradient.certify()
    assert certificate.influence.min() > 0.0
    assert certificate.passed


def test_large_loops_take_sparse_matrices_by_themselves():
    model, _ = gallery.four_bars(40)
    found = System(model).elimination()
    assert found is not None
    assert found.work < 0.01 * found.size**3 / 3
    assert System(gallery.five_bar()).elimination() is None
    with pytest.raises(InputError, match="matrices is 'spares'"):
        ALI3P(matrices="spares")


def test_factors_of_matrices_by_entries():
    """A x = b of the entries of K, C and M beside dense ones, with springs, balls and wheels."""
    for name in ("five-bar", "stewart", "rolling bicycle"):
        model, start = CASES[name]()
        motion = mg.simulate(model, start, 0.002, step=1e-3)
        system, states = motion.system, motion.record.states()
        by = eliminated(system.T)
        dense, entries = linearised(system.T, states), linearised_entries(system.T, states, by)
        for what in ("K", "C", "M"):
            full = np.zeros_like(dense.K)
            full[:, by.tables["entry_rows"], by.tables["entry_cols"]] = getattr(entries, what)
            wanted = getattr(dense, what)
            np.testing.assert_allclose(
                full, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max(), err_msg=f"{name} {what}"
            )
        for what in ("J", "J_rate"):
            full = np.zeros_like(dense.J)
            full[:, by.tables["row_of"], by.tables["row_columns"]] = getattr(entries, what)
            wanted = getattr(dense, what)
            np.testing.assert_allclose(
                full, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max(), err_msg=f"{name} {what}"
            )


def test_rows_that_depend_on_each_other_are_not_called_independent():
    rng = np.random.default_rng(3)
    J = rng.normal(size=(50, 60)) * (rng.random((50, 60)) < 0.1)
    J[np.arange(50), np.arange(50)] += 3.0
    assert surely_independent(J)
    J[-1] = J[0] + 1e-9 * J[1]
    assert not surely_independent(J)
