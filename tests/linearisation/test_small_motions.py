"""A against independent ways: Pinocchio, complex steps through accelerations, marched sensitivities of motions."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation
from support.oracles import STEP
from support.pinocchio_twin import Twin
from support.random_trees import ONE_DOF, random_state, random_tree

sys.path.insert(0, str(Path(__file__).parent))
from linearised_cases import CASES

import mechgrad as mg
from mechgrad.gallery import arm7, chain, five_bar, five_bar_start, heavy_top, human


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_trees_against_pinocchio(seed: int) -> None:
    model = random_tree(seed, 6, (*ONE_DOF, "cardan", "planar"), massless=0.0)
    q, v, _ = random_state(model, seed)
    a = mg.forward_dynamics(model, q, v)
    lin = mg.linearise(model, mg.state(model, q, v))
    K, C, M = Twin(model).derivatives(q, v, a)
    n = model.n_v
    wanted = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    assert np.abs(wanted[n:]).min() >= 0.0
    assert np.abs(wanted[n:]).max() > 1.0
    order = [lin.states.index(name) for name in (*model.q_names, *(f"rate of {x}" for x in model.q_names))]
    np.testing.assert_allclose(lin.A[np.ix_(order, order)], wanted, atol=1e-10 * np.abs(wanted).max())
    np.testing.assert_allclose(lin.drift[n:], a[lin.columns.rates])


@pytest.mark.parametrize("make", [arm7, lambda: chain(5), human], ids=["arm7", "chain", "human"])
def test_trees_of_the_gallery_against_forward_dynamics(make) -> None:
    """At a random state, by the derivatives of elimination, which share no code with what constraints need."""
    model = make()
    rng = np.random.default_rng(5)
    q = model.integrate(model.neutral(), rng.uniform(-0.5, 0.5, model.n_v))
    v = rng.uniform(-1, 1, model.n_v)
    lin = mg.linearise(model, mg.state(model, q, v), independent=model.v_names)
    D = mg.forward_dynamics_derivatives(model, q, v)
    n = model.n_v
    size = np.abs(D.dq).max()
    np.testing.assert_allclose(lin.A[n:, :n], D.dq, atol=1e-9 * size)
    np.testing.assert_allclose(lin.A[n:, n:], D.dv, atol=1e-9 * size)
    assert size > 1.0


def by_accelerations(model: mg.Model, start: mg.State, names: list[str], loops: bool) -> np.ndarray:
    """A by complex steps through assembly and forward dynamics, in named coordinates of hinges and sliders."""
    at, rates = (dict(zip(names, x, strict=True)) for x in (
        [start.q[model.q_names.index(n)] for n in names], [start.v[model.v_names.index(n)] for n in names],
    ))  # fmt: skip
    columns = [model.v_names.index(n) for n in names]
    n = len(names)
    A = np.zeros((2 * n, 2 * n))
    for j in range(2 * n):
        moved_at, moved_rates = dict(at), dict(rates)
        which = moved_at if j < n else moved_rates
        which[names[j % n]] += 1j * STEP
        if loops:
            state = mg.assemble(model, moved_at, moved_rates, guess=start.q, t=start.t)
            q, v = state.q, state.v
        else:
            q, v = np.array([moved_at[x] for x in names]), np.array([moved_rates[x] for x in names])
        a = mg.forward_dynamics(model, q.astype(complex), v.astype(complex), t=start.t)
        A[:, j] = np.concatenate([v[columns], a[columns]]).imag / STEP
    return A


@pytest.mark.parametrize(
    ("case", "names"),
    [
        ("moving_five_bar", ["A", "1"]),
        ("driven_and_rubbed", ["A", "1"]),
        ("stated_twice", ["A", "1"]),
        ("slider_crank", ["crank axis"]),
        ("linkage", ["h0", "h1", "h2"]),
        (
            "every_constraint",
            ["dot cross.angle1", "angle cross.angle2", "plane cross.angle1", "rope cross.angle1", "first slide",
             "a slide", "c plane.angle", "d cross.angle1", "s plane.x", "s plane.angle"],
        ),
    ],
)  # fmt: skip
def test_loops_against_complex_steps_through_accelerations(case: str, names: list[str]) -> None:
    model, start = CASES[case]()
    lin = mg.linearise(model, start, independent=names)
    assert lin.coordinates == tuple(names)
    wanted = by_accelerations(model, start, names, True)
    size = np.abs(wanted).max()
    assert size > 1.0
    np.testing.assert_allclose(lin.A, wanted, atol=2e-10 * size)


def test_found_coordinates_have_the_same_eigenvalues() -> None:
    model, start = CASES["moving_five_bar"]()
    one, other = mg.linearise(model, start), mg.linearise(model, start, independent=["2", "3"])
    assert one.coordinates != other.coordinates
    # about a passing state only the motion as a whole is the same: the change of coordinates moves with time
    rest = mg.equilibrium(five_bar(), five_bar_start())
    one, other = (mg.linearise(rest.model, rest, independent=x) for x in (None, ["2", "3"]))
    np.testing.assert_allclose(
        np.sort_complex(one.eigenvalues), np.sort_complex(other.eigenvalues), atol=1e-10
    )  # fmt: skip


def test_equilibria_against_marched_sensitivities() -> None:
    """exp(A t) is the derivative of the motion by its start, marched step by step from an equilibrium of a loop."""
    model = five_bar()
    rest = mg.equilibrium(model, five_bar_start())
    names = ["A", "1"]
    lin = mg.linearise(model, rest, independent=names)
    at = {name: float(rest.q[model.q_names.index(name)]) for name in names}
    start = mg.assemble(model, at, dict.fromkeys(names, 0.0), guess=rest.q)
    motion = mg.simulate(model, start, 0.5, step=0.0025, samples=2, scheme="rk4", formulation="index1")
    wrt = [f"start.{kind}.{name}" for kind in ("position", "velocity") for name in names]
    slopes = mg.motion_sensitivities(motion, wrt)
    columns = [model.v_names.index(name) for name in names]
    marched = np.concatenate([slopes.q[-1][columns], slopes.v[-1][columns]])
    wanted = expm(0.5 * lin.A)
    assert np.abs(wanted - np.eye(4)).max() > 0.5
    np.testing.assert_allclose(marched, wanted, atol=1e-7 * np.abs(wanted).max())


def test_a_ball_against_motions_of_its_own() -> None:
    """The heavy top on the move: A(t) is the rate of small rotations between two motions, differences of order two."""
    model, q, v = heavy_top()
    start = mg.state(model, q, v)
    lin = mg.linearise(model, start)
    rotation = lambda e: Rotation.from_quat(e, scalar_first=True)  # noqa: E731
    dt, size = 1e-5, 1e-4

    def between(x: np.ndarray) -> np.ndarray:
        """(small rotation, difference of rates) a moment later, for states beside the start by +-x."""
        ends = []
        for sign in (1.0, -1.0):
            beside = mg.state(model, model.integrate(q, sign * x[:3]), v + sign * x[3:])
            end = mg.simulate(model, beside, dt, step=dt / 4, scheme="rk4")
            ends.append((rotation(end.q[-1]), end.v[-1]))
        turn = (ends[0][0] * ends[1][0].inv()).as_rotvec()
        return np.concatenate([turn, ends[0][1] - ends[1][1]]) / (2 * size)

    moved = np.array([between(size * e) for e in np.eye(6)]).T
    wanted = expm(dt * lin.A)
    assert np.abs(lin.A).max() > 100.0
    # A changes over dt as well: an error of order dt^2 A'
    np.testing.assert_allclose((moved - np.eye(6)) / dt, (wanted - np.eye(6)) / dt, atol=2e-3 * np.abs(lin.A).max())


def test_an_instant_of_a_motion() -> None:
    model, start = CASES["moving_five_bar"]()
    motion = mg.simulate(model, start, 0.4, step=1e-3, tau=[0.0, 0.3, 0.0, 0.0])
    lin = mg.linearise(model, motion, t=0.25)
    same = mg.linearise(model, motion.at(0.25), tau=motion.tau)
    np.testing.assert_array_equal(lin.A, same.A)
    assert np.abs(lin.A - mg.linearise(model, motion.at(0.25)).A).max() > 1e-3
    assert lin.about == "a passing state"
    assert "the state passes" in str(lin)
