"""Gradient of equations of motion and rows by every number of the tables, against complex steps of single numbers."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "model"))
import row_values as plain
from support.random_trees import random_loads, random_tree

import mechgrad as mg
from mechgrad.dynamics.kernels.states import linearised_states
from mechgrad.dynamics.kernels.table_gradient import RowWeights, Totals, table_gradients
from mechgrad.dynamics.states import States
from mechgrad.dynamics.system import System
from mechgrad.dynamics.terms import motion_terms
from mechgrad.gallery import five_bar
from mechgrad.inverse.kernels.wrenches import L_IN_BODY_AXES
from mechgrad.kernels.host import LANES
from mechgrad.kinematics.mechanism_record import elements_of, evaluate_rows, row_report
from mechgrad.model.columns import expand_paths
from mechgrad.model.mechanism import (
    AT_FACTORS,
    AT_LAW_NUMBERS,
    AT_LAWS,
    AT_PIECES,
    AT_ROW_NUMBERS,
    AT_ROWS,
    AT_SURFACE_NUMBERS,
    AT_SURFACES,
    AT_TAU,
    L_KIND,
    LAW,
    LAW_NUMBERS,
    N_ALL,
    N_ATOMS,
    N_CONSTRAINTS,
    N_LAWS,
    N_MARKERS,
    P_KIND,
    PIECE,
    R_CONSTANT,
    R_DIRECTION,
    R_KIND,
    R_RADIUS,
    ROW,
    ROW_NUMBERS,
    S_FIRST,
    S_KIND,
    SURFACE,
    Mechanism,
)
from mechgrad.model.primitives import rows as R
from mechgrad.model.tree import BEYOND, COM, HAS_MASS, MASS, ORIGIN, X, Y, Z

STEP = 1e-30
# of the largest value of that number among the objectives; where samples cancel, of the largest number of the group
RELATIVE, ROUNDING = 1e-10, 1e-14
TABLES = ("atoms_f", "markers_f", "loads_f", "numbers")
OBJECTIVES = 3


class Case(NamedTuple):
    """A mechanism, samples and weights."""

    system: System
    twin: Mechanism
    laws: object  # keeps the laws in Python that the twin calls alive
    states: list[np.ndarray]  # q, v, a, lam, t
    weights: list[np.ndarray]  # mu, W0, W1, W2


def make_case(model, nt, *, seed=0, spread=0.7, independent=(), loads=(), rows=None, tau=True):
    rng = np.random.default_rng(seed)
    forces = rng.normal(size=model.n_v) if tau else None
    system, twin = (
        System(model, forces, loads, independent=independent, rows=rows, dtype=dtype) for dtype in (float, complex)
    )
    atoms_i = twin.T.atoms_i.copy()
    atoms_i[:, HAS_MASS] = 1  # a step makes mass where there was none
    atoms_i.setflags(write=False)
    q = np.asarray(model.integrate(np.tile(model.neutral(), (nt, 1)), rng.uniform(-spread, spread, (nt, model.n_v))))
    ints = system.T.ints
    states = [
        np.ascontiguousarray(q), rng.normal(size=(nt, model.n_v)), rng.normal(size=(nt, model.n_v)),
        rng.normal(size=(nt, ints[N_CONSTRAINTS])), rng.uniform(-0.1, 2.1, nt),
    ]  # fmt: skip
    weights = [rng.normal(size=(OBJECTIVES, nt, model.n_v))]
    weights += [rng.normal(size=(OBJECTIVES, nt, ints[N_ALL])) for _ in range(3)]
    return Case(system, twin.T._replace(atoms_i=atoms_i), twin.users, states, weights)


def gradients(case):
    T = case.system.T
    G = [np.zeros((len(case.weights[0]), *getattr(T, name).shape)) for name in TABLES]
    assert table_gradients(T, States(*case.states), RowWeights(*case.weights), Totals(*G)) == -1
    case.system.users.raise_pending()
    return dict(zip(TABLES, G, strict=True))


def stepped(case, name, change):
    """ds/d(table) along `change`, for every objective, by a complex step through residual and rows."""
    table = getattr(case.twin, name) + 1j * STEP * change
    table.setflags(write=False)
    T = case.twin._replace(**{name: table})
    q, v, a, lam, t = case.states
    nt, n = v.shape
    r, K, C, M = (np.zeros((nt, m), complex) for m in (n, n * n, n * n, n * n))
    assert linearised_states(T, q + 0j, v + 0j, a + 0j, lam + 0j, t, r, K, C, M) == -1
    rows = evaluate_rows(T, q, v, a, t, 0, int(T.ints[N_ALL]))
    mu, *weights = case.weights
    s = np.einsum("oij,ij->o", mu, r.imag)
    for weight, x in zip(weights, (rows.values, rows.rates, rows.seconds), strict=True):
        s += np.einsum("oik,ik->o", weight, x.imag)
    return s / STEP


def by_entries(case, name, lines):
    """The oracle for every entry of some lines (flat positions) of a table, (no, number of them)."""
    shape = getattr(case.twin, name).shape
    found = np.empty((OBJECTIVES, len(lines)))
    for k, at in enumerate(lines):
        change = np.zeros(shape)
        change.flat[at] = 1.0
        found[:, k] = stepped(case, name, change)
    return found


def assert_close(mine, oracle):
    """Number by number; the first axis are objectives."""
    size = np.abs(oracle).max(axis=0)
    allowed = np.broadcast_to(RELATIVE * size + ROUNDING * size.max(initial=1.0), oracle.shape)
    error = np.abs(mine - oracle)
    worst = np.unravel_index(np.argmax(error / allowed), error.shape)
    assert (error <= allowed).all(), f"{mine[worst]} instead of {oracle[worst]} at {worst}"


FREE = [
    R.Row(R.DOT, (R.vector("arm", (0.2, 0.5, 0.6)), R.vector("wheel", (0.4, 0.1, 0.3))), 0.2),
    R.Row(R.POINT, (R.point("ball", (0.2, 0.5, 0.6)), R.point("ground", (0.4, 0.1, 0.3))), 0.1, (0.3, 0.4, 0.5)),
]
SAMPLES = 2 * LANES + 3


@cache
def everything():
    """One of every constraint, force and kind of row, with loads; all constraint rows act."""
    model = plain.everything()
    return make_case(
        model, SAMPLES, independent=FREE, loads=random_loads(model, 5), rows=np.arange(elements_of(model).n_constraints)
    )


@cache
def turning():
    """Every row that has curvature, between bodies that all turn: on a body at rest some terms vanish."""
    bodies = [mg.Body(name, 1.0 + k, (0.1 * k, -0.2, 0.05 * k), (0.2, 0.3, 0.4)) for k, name in enumerate(plain.BODIES)]
    vectors = [
        *plain.VECTORS,
        mg.Vector("ball axis", "ball", (0.5, 0.3, -0.8)),
        mg.Vector("ball edge", "ball", (1, 2, 3)),
        mg.Vector("arm edge", "arm", (0.4, 0.3, 1.0)),
    ]
    constraints = [
        mg.constraints.AngleBetween("angle", "ball edge", "axle", "ball axis", angle=0.4),
        mg.constraints.Parallel("parallel", "axle", "arm axis"),
        mg.constraints.FixedDistance("distance", "on arm", "on ball", 0.9),
        mg.constraints.PointOnCurve("curve", "on ball", "on arm", "arm edge", "arm axis", plain.SPLINE),
        mg.constraints.PointInPlane("in plane", "hub", "on arm", "arm axis", 0.2),
        mg.constraints.Rolling("ball rolls", "ball.origin", 0.3, "arm axis", contact=True, plane_point="on arm"),
        mg.constraints.Rolling(
            "wheel rolls", "hub", 0.4, "arm axis", kind="wheel", axis="axle", contact=True, plane_point="on arm"
        ),
    ]
    forces = [
        mg.forces.SpringDamper("spring", "on arm", "on ball", 100.0, 3.0, 0.4),
        mg.forces.Bushing("bushing", "on arm", "on ball", (1, 2, 3), (0.1, 0.2, 0.3), (4, 5, 6), (0.4, 0.5, 0.6)),
        mg.forces.SphereContact("sphere", "on ball", 0.3, "on arm", "arm axis", 1e3, 0.2, 1.5, 0.3, 0.2),
        mg.forces.Tyre("tyre", "hub", "axle", 0.5, "on arm", "arm axis", 2e3, 0.1, 1.1, 1.0, 0.9, 0.12, 0.14, 0.2),
    ]
    model = mg.Model("turning", bodies, plain.JOINTS, plain.POINTS, vectors, constraints=constraints, forces=forces)
    return make_case(model, SAMPLES, seed=7, spread=1.0, rows=np.arange(elements_of(model).n_constraints))


@cache
def tree(seed):
    """Every kind of joint, branching, some links without mass."""
    model = random_tree(seed, 14, massless=0.5)
    return make_case(model, SAMPLES, seed=seed, loads=random_loads(model, seed + 1))


@cache
def found(make, *arguments):
    return gradients(make(*arguments))


CASES = {"everything": (everything,), "turning": (turning,), "tree 1": (tree, 1), "tree 2": (tree, 2)}
every_case = pytest.mark.parametrize("which", CASES.values(), ids=CASES)
LOADED = [name for name in CASES if name != "turning"]
loaded_case = pytest.mark.parametrize("which", [CASES[name] for name in LOADED], ids=LOADED)
with_rows = pytest.mark.parametrize("make", [everything, turning], ids=["everything", "turning"])


def case_of(which):
    return which[0](*which[1:])


@every_case
def test_masses(which):
    case, G = case_of(which), found(*which)["atoms_f"]
    n_atoms, width = case.system.T.ints[N_ATOMS], G.shape[2]
    for part in (range(MASS, COM), range(COM, COM + 3), range(COM + 3, BEYOND)):
        lines = [i * width + k for i in range(n_atoms) for k in part]
        oracle = by_entries(case, "atoms_f", lines)
        assert_close(G.reshape(OBJECTIVES, -1)[:, lines], oracle)
        assert np.abs(oracle).max(axis=1).min() > 1e-2
    assert not G[:, :, BEYOND].any()


@every_case
def test_placements(which):
    """Rotations and translations of every rest frame, in the axes of the frame before."""
    case, G = case_of(which), found(*which)["atoms_f"]
    table = case.system.T.atoms_f
    turns, shifts, wanted = [], [], np.zeros_like(G)
    for i in range(case.system.T.ints[N_ATOMS]):
        by_turn = np.empty((OBJECTIVES, 3))
        for k, axis in enumerate(np.eye(3)):
            change = np.zeros(table.shape)
            change[i, ORIGIN + k] = 1.0
            wanted[:, i, ORIGIN + k] = stepped(case, "atoms_f", change)
            change = np.zeros(table.shape)
            for at in (X, Y, Z):
                change[i, at : at + 3] = np.cross(axis, table[i, at : at + 3])
            by_turn[:, k] = stepped(case, "atoms_f", change)
            assert_close(np.sum(G * change, axis=(1, 2)), by_turn[:, k])
        for at in (X, Y, Z):
            wanted[:, i, at : at + 3] = np.cross(by_turn, table[i, at : at + 3]) / 2
        turns.append(np.abs(by_turn).max())
        shifts.append(np.abs(wanted[:, i, ORIGIN : ORIGIN + 3]).max())
    assert_close(G[:, :-1, X:MASS], wanted[:, :-1, X:MASS])
    assert min(turns) > 1e-2
    assert np.median(shifts) > 1e-2  # where nothing but joints holds it, the whole mechanism can be shifted freely


@loaded_case
def test_gravity_and_loads(which):
    case, G = case_of(which), found(*which)
    n_atoms = case.system.T.ints[N_ATOMS]
    lines = [n_atoms * (BEYOND + 1) + k for k in range(3)]
    oracle = by_entries(case, "atoms_f", lines)
    assert_close(G["atoms_f"][:, n_atoms, :3], oracle)
    assert not G["atoms_f"][:, n_atoms, 3:].any()
    assert np.abs(oracle).min() > 1e-3
    oracle = by_entries(case, "loads_f", range(case.twin.loads_f.size))
    assert_close(G["loads_f"].reshape(OBJECTIVES, -1), oracle)
    size = np.abs(oracle).max(axis=0).reshape(-1, 3, 3).max(axis=2)
    for in_body_axes in (0, 1):  # force, couple and point of some load in either axes
        assert size[case.twin.loads_i[:, L_IN_BODY_AXES] == in_body_axes].max(axis=0).min() > 1e-1


@with_rows
def test_markers(make):
    case, G = make(), found(make)["markers_f"]
    oracle = by_entries(case, "markers_f", range(G[0].size)).reshape(G.shape)
    for m in range(len(oracle[0])):
        assert_close(G[:, m], oracle[:, m])
    assert len(oracle[0]) == case.system.T.ints[N_MARKERS]
    assert np.abs(oracle).max(axis=(0, 2)).min() > 1e-3


def numbers_of(kind_of, count, start, width, wanted, columns):
    """Positions of some columns of the lines of a kind."""
    return [start + k * width + c for k in range(count) if kind_of(k) == wanted for c in columns]


def check_numbers(lines):
    case, G = everything(), found(everything)["numbers"]
    oracle = by_entries(case, "numbers", lines)
    assert_close(G[:, lines], oracle)
    return np.abs(oracle).max(axis=0)


def row_lines(kind, columns):
    ints = everything().system.T.ints
    return numbers_of(
        lambda k: ints[ints[AT_ROWS] + k * ROW + R_KIND], ints[N_ALL], ints[AT_ROW_NUMBERS], ROW_NUMBERS, kind, columns
    )


@pytest.mark.parametrize("kind", range(R.ADVANCE + 1))
def test_numbers_of_rows(kind):
    """Constants, directions (of POINT) and radii, of constraints, laws and free rows."""
    assert check_numbers(row_lines(kind, [R_CONSTANT])).min() > 1e-3
    directions = check_numbers(row_lines(kind, range(R_DIRECTION, R_DIRECTION + 3)))
    radii = check_numbers(row_lines(kind, [R_RADIUS]))
    assert directions.size
    assert (directions.min() > 1e-3) == (kind == R.POINT)
    assert (radii.min() > 1e-4) == (kind in (R.CIRCLE, R.SLIP, R.ROLL_ALONG, R.ROLL_ACROSS))


def test_all_numbers_between_turning_bodies():
    case, G = turning(), found(turning)["numbers"]
    oracle = by_entries(case, "numbers", range(case.twin.numbers.size))
    assert_close(G, oracle)
    used = np.abs(oracle).max(axis=0) > 1e-6
    ints = case.system.T.ints
    for kind in set(range(R.ADVANCE + 1)) - {R.POINT, R.LINEAR}:
        rows = [k for k in range(ints[N_ALL]) if ints[ints[AT_ROWS] + k * ROW + R_KIND] == kind]
        assert rows, kind
        assert used[[ints[AT_ROW_NUMBERS] + k * ROW_NUMBERS + R_CONSTANT for k in rows]].all()
    start = ints[AT_LAW_NUMBERS]
    assert used[start : start + ints[N_LAWS] * LAW_NUMBERS].sum() >= 3 + 3 * 6 + 5 + 8


def test_factors_and_generalized_forces():
    ints = everything().system.T.ints
    assert check_numbers(range(ints[AT_FACTORS], ints[AT_LAW_NUMBERS])).min() > 1e-3
    assert check_numbers(range(ints[AT_TAU], ints[AT_TAU] + everything().system.model.n_v)).min() > 1e-3


USED = {
    R.CAPSULES: 13,
    R.SPRING: 3, R.CURVE: 1, R.MOTOR: 0, R.FRICTION: 3, R.CONTACT: 9, R.TYRE: 12, R.USER: 0, R.GROUND_SPHERE: 10,
    R.GROUND_WHEEL: 10, R.GROUND_TYRE: 13, R.GROUND_TANH: 13, R.GROUND_MAGIC: 22,
}  # fmt: skip


@pytest.mark.parametrize("kind", USED)
def test_numbers_of_laws(kind):
    ints = everything().system.T.ints
    lines = numbers_of(
        lambda k: ints[ints[AT_LAWS] + k * LAW + L_KIND],
        ints[N_LAWS],
        ints[AT_LAW_NUMBERS],
        LAW_NUMBERS,
        kind,
        range(LAW_NUMBERS),
    )
    size = check_numbers(lines).reshape(-1, LAW_NUMBERS)
    assert len(size)
    assert (size[:, : USED[kind]].max(axis=0) > 1e-6).all()
    assert not size[:, USED[kind] :].any()


def test_numbers_of_surfaces():
    """A bump, a step, and maps: their grids too, and the heights that something touched."""
    T = everything().system.T
    first, last = int(T.ints[AT_SURFACE_NUMBERS]), int(T.ints[AT_PIECES])
    size = check_numbers(range(first, last))
    lines = T.ints[int(T.ints[AT_SURFACES]) :][: SURFACE * 6].reshape(-1, SURFACE)
    kinds = lines[:, S_KIND].tolist()
    assert sorted(kinds) == [R.PLANE_SURFACE, R.STEP, R.BUMP, R.HEIGHT_MAP, R.HEIGHT_MAP, R.HULL]
    for kind, start in zip(kinds, lines[:, S_FIRST].tolist(), strict=True):
        assert size[start] == 0.0  # the greatest height only says where to look
        if kind != R.PLANE_SURFACE:
            assert size[start + 1 : start + (5 if kind == R.HEIGHT_MAP else 4)].min() > 1e-3
        if kind == R.HEIGHT_MAP:
            assert np.count_nonzero(size[start + 5 : start + 5 + 7 * 6] > 1e-3) >= 16


def test_pieces_of_functions():
    """Splines, tables, polynomials, harmonics; start and coefficients of the pieces in use."""
    T = everything().system.T
    lines = np.arange(T.ints[AT_PIECES], T.ints[AT_TAU])
    size = check_numbers(lines).reshape(-1, PIECE)
    kinds = T.numbers[lines].reshape(-1, PIECE)[:, P_KIND]
    assert set(kinds) == {0.0, 1.0}
    cubic, harmonic = size[kinds == 0], size[kinds == 1]
    assert (cubic[:, :5].max(axis=0) > 1e-3).all()
    assert (harmonic[:, 1:5].min(axis=0) > 1e-3).all()
    assert (size[:, 1] > 1e-6).sum() > 10


def test_samples_add_up_and_outputs_are_added_to():
    """The sum over blocks of any length is the same: lanes past the last sample do not count."""
    case, whole = everything(), found(everything)
    T, total = case.system.T, {name: np.ones_like(x) for name, x in found(everything).items()}
    start = 0
    for count in (1, LANES, 2, LANES):
        part = slice(start, start + count)
        states, weights = [x[part].copy() for x in case.states], [x[:, part].copy() for x in case.weights]
        assert table_gradients(T, States(*states), RowWeights(*weights), Totals(*total.values())) == -1
        start += count
    assert start == SAMPLES
    for name in TABLES:
        # the ones cost digits of small entries
        scale = np.abs(whole[name]).max(initial=1.0)
        np.testing.assert_allclose(total[name] - 1, whole[name], rtol=1e-10, atol=1e-13 * scale)


def test_a_bad_number_is_reported_and_leaves_the_outputs_alone():
    case = tree(1)
    states = [x.copy() for x in case.states]
    bad = LANES + 2
    states[1][bad, 0] = np.nan
    G = [np.zeros((OBJECTIVES, *getattr(case.system.T, name).shape)) for name in TABLES]
    found = table_gradients(case.system.T, States(*states), RowWeights(*case.weights), Totals(*G))
    assert found == bad // LANES * LANES
    assert not any(x.any() for x in G)


@pytest.mark.parametrize("name", ["five-bar", "everything", "tree"])
def test_all_parameters(name):
    """With the derivatives of the tables by the parameters of a model it gives mu . r_p."""
    model = {"five-bar": five_bar, "everything": plain.everything, "tree": lambda: random_tree(3, 12)}[name]()
    rows = row_report(model).kept
    case = make_case(model, LANES + 1, rows=rows, tau=False)
    mu, *others = case.weights
    for weight in others:
        weight[:] = 0.0
    G = gradients(case)
    paths = expand_paths(model, "*")
    q, v, a, lam, t = case.states
    by_parameter = np.einsum("oij,ijp->op", mu, motion_terms(model, q, v, a, lam, t=t, wrt=paths).r_p)
    mine = np.zeros_like(by_parameter)
    for p, path in enumerate(paths):
        T = System(model.stepped({path: model.value(path) + 1j * STEP}), rows=rows, dtype=complex).T
        for table in TABLES:
            change = getattr(T, table).imag / STEP
            mine[:, p] += np.sum(G[table] * change, axis=tuple(range(1, G[table].ndim)))
    assert_close(mine, by_parameter)
    assert len(paths) > 20
    assert (np.abs(by_parameter).max(axis=0) > 1e-9).mean() > 0.4  # the five-bar is planar
