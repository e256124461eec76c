"""Sparse matrices of loops: the same motions and gradients as dense ones, and what becomes of lost digits."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery
from mechgrad.dynamics.ali3p import ALI3P
from mechgrad.dynamics.index1 import Index1
from mechgrad.dynamics.penalty import Penalty


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
