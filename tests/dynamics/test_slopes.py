"""Residual and rows in dual lanes against the same in complex numbers, sample by sample."""

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

from mechgrad.dynamics.kernels.slopes import force_slopes, slopes
from mechgrad.dynamics.kernels.states import linearised_states
from mechgrad.dynamics.states import Slopes, States
from mechgrad.dynamics.system import System
from mechgrad.gallery import five_bar
from mechgrad.kernels.host import LANES
from mechgrad.kinematics.mechanism_record import elements_of, evaluate_rows
from mechgrad.model.mechanism import AT_LAW_NUMBERS, AT_PIECES, AT_TAU, N_ALL, N_CONSTRAINTS, N_V, Mechanism
from mechgrad.model.primitives import rows as R
from mechgrad.model.tree import MASS

STEP = 1e-30
RELATIVE = 1e-13  # of the largest number of a column: rounding of a few hundred operations
CANCELLED = 1e-14  # what terms of the size 1 leave of zero
TABLES = ("atoms_f", "markers_f", "loads_f", "numbers")
STATES = ("q", "v", "a", "L")
SAMPLES = 2 * LANES + 3
FREE = [
    R.Row(R.DOT, (R.vector("arm", (0.2, 0.5, 0.6)), R.vector("wheel", (0.4, 0.1, 0.3))), 0.2),
    R.Row(R.POINT, (R.point("ball", (0.2, 0.5, 0.6)), R.point("ground", (0.4, 0.1, 0.3))), 0.1, (0.3, 0.4, 0.5)),
]


class Case(NamedTuple):
    """A mechanism in complex numbers, and states q, v, a, L, t."""

    system: System
    states: list[np.ndarray]


class Found(NamedTuple):
    """Residuals and rows."""

    r: np.ndarray
    values: np.ndarray
    rates: np.ndarray
    seconds: np.ndarray


def make_case(model, seed, samples=SAMPLES, **options):
    rng = np.random.default_rng(seed)
    system = System(model, rng.normal(size=model.n_v), dtype=complex, **options)
    q = model.integrate(np.tile(model.neutral(), (samples, 1)), rng.uniform(-0.7, 0.7, (samples, model.n_v)))
    v, a = rng.normal(size=(samples, model.n_v)), rng.normal(size=(samples, model.n_v))
    L = rng.normal(size=(samples, system.T.ints[N_CONSTRAINTS]))
    return Case(system, [*(np.array(x, complex) for x in (q, v, a, L)), rng.uniform(-0.1, 2.1, samples)])


@cache
def everything(reference="root"):
    """One of every constraint, force and kind of row, a law in Python, free rows and loads; all rows act."""
    model = plain.everything()
    return make_case(
        model, 1, independent=FREE, loads=random_loads(model, 5), rows=np.arange(elements_of(model).n_constraints),
        reference=reference,
    )  # fmt: skip


@cache
def tree(reference="root"):
    """Every kind of joint, branching, some links without mass, loads; no rows at all."""
    model = random_tree(1, 14, massless=0.5)
    return make_case(model, 2, loads=random_loads(model, 3), reference=reference)


@cache
def loop():
    return make_case(five_bar(), 3)


CASES = {
    "everything": everything,
    "everything about com": lambda: everything("com"),
    "everything about the origin": lambda: everything("origin"),
    "tree": tree,
    "tree about com": lambda: tree("com"),
    "five-bar": loop,
}
every_case = pytest.mark.parametrize("name", CASES)


def moved(case: Case, what, seed=0) -> tuple[Mechanism, list[np.ndarray]]:
    """The case with random slopes in some tables and states."""
    rng = np.random.default_rng(seed)
    T, states = case.system.T, list(case.states)
    for name in TABLES:
        x = getattr(T, name) + (1j * STEP * rng.normal(size=getattr(T, name).shape) if name in what else 0.0)
        x.setflags(write=False)
        T = T._replace(**{name: x})
    for k, name in enumerate(STATES):
        if name in what:
            states[k] = states[k] + 1j * STEP * rng.normal(size=states[k].shape)
    return T, states


def in_lanes(T, states, residual=True):
    nt, n_v, rows = len(states[4]), states[1].shape[1], int(T.ints[N_ALL])
    shapes = [(nt if residual else 0, n_v, 2), *[(nt, rows, 2)] * 3]
    out = [np.full(shape, 7.0) for shape in shapes]
    assert slopes(T, States(*states), Slopes(*out), 1) == -1
    assert all((x[:, :, 0] == 7.0).all() for x in out)
    return Found(*(x[:, :, 1] for x in out))


def one_by_one(T, states):
    nt, n = states[1].shape
    r, K, C, M = (np.zeros((nt, m), complex) for m in (n, n * n, n * n, n * n))
    assert linearised_states(T, *states, r, K, C, M) == -1
    q, v, a, _, t = states
    rows = evaluate_rows(T, q, v, a, t, 0, int(T.ints[N_ALL]))
    return Found(*(x.imag / STEP for x in (r, rows.values, rows.rates, rows.seconds)))


def assert_close(got, wanted):
    """Column by column."""
    for name, mine, oracle in zip(Found._fields, got, wanted, strict=True):
        assert mine.shape == oracle.shape
        size = np.abs(oracle).max(axis=0, initial=0.0)
        error = np.abs(mine - oracle).max(axis=0, initial=0.0)
        excess = error - (RELATIVE * size + CANCELLED)
        worst = int(np.argmax(excess)) if excess.size else 0
        assert np.all(excess <= 0), f"{name}[{worst}]: {error[worst]:.3g} of {size[worst]:.3g}"


def sizes(found):
    """The largest slope of residual, values, rates and second rates."""
    return [np.abs(x).max(initial=0.0) for x in found]


@every_case
def test_all_directions_together(name):
    case = CASES[name]()
    T, states = moved(case, TABLES + STATES)
    got, wanted = in_lanes(T, states), one_by_one(T, states)
    case.system.users.raise_pending()
    assert_close(got, wanted)
    assert min(size for size, x in zip(sizes(wanted), wanted, strict=True) if x.size) > 1e-2


@pytest.mark.parametrize("what", TABLES + STATES)
@pytest.mark.parametrize("name", ["everything", "everything about com"])
def test_each_direction_alone(name, what):
    """What has no slope leaves none: a slope from elsewhere would be seen beside the oracle's zeros."""
    case = CASES[name]()
    T, states = moved(case, (what,), seed=4)
    got, wanted = in_lanes(T, states), one_by_one(T, states)
    assert_close(got, wanted)
    assert sizes(wanted)[0] > 1e-2


@pytest.mark.parametrize("samples", [1, LANES - 1, LANES, LANES + 1])
def test_any_number_of_samples(samples):
    T, states = moved(everything(), TABLES + STATES)
    few = [np.ascontiguousarray(x[:samples]) for x in states]
    whole = in_lanes(T, states)
    for mine, all_of_them in zip(in_lanes(T, few), whole, strict=True):
        np.testing.assert_array_equal(mine, all_of_them[:samples])


def test_rows_without_residual():
    T, states = moved(everything(), TABLES + STATES)
    rows, whole = in_lanes(T, states, residual=False), in_lanes(T, states)
    assert rows.r.shape[0] == 0
    for mine, wanted in zip(rows[1:], whole[1:], strict=True):
        np.testing.assert_array_equal(mine, wanted)


@pytest.mark.parametrize("samples", [1, LANES + 3])
@every_case
def test_directions_of_masses_and_laws_share_their_frames(name, samples):
    """As `slopes` one by one; tables change where frames, markers and rows do not feel it."""
    case, rng = CASES[name](), np.random.default_rng(5)
    T = case.system.T._replace(**{name: getattr(case.system.T, name).real.copy() for name in TABLES})
    for name in TABLES:
        getattr(T, name).setflags(write=False)
    laws = np.zeros(T.numbers.size, bool)
    laws[T.ints[AT_LAW_NUMBERS] : T.ints[AT_PIECES]] = True
    laws[T.ints[AT_TAU] : T.ints[AT_TAU] + T.ints[N_V]] = True
    moved = []
    for k in range(3):
        atoms, numbers = T.atoms_f.astype(complex), T.numbers.astype(complex)
        if k != 1:
            atoms[:-1, MASS:] += 1j * STEP * rng.normal(size=atoms[:-1, MASS:].shape)
        if k != 0:
            numbers[laws] += 1j * STEP * rng.normal(size=laws.sum())
        for x in (atoms, numbers):
            x.setflags(write=False)
        rest = {name: getattr(T, name).astype(complex) for name in ("markers_f", "loads_f")}
        for x in rest.values():
            x.setflags(write=False)
        moved.append(T._replace(atoms_f=atoms, numbers=numbers, **rest))
    states = [np.ascontiguousarray(x[:samples]) for x in case.states]
    wanted = np.stack([in_lanes(one, states).r for one in moved], axis=2)
    tables = [np.stack([getattr(one, name) for one in moved]) for name in ("atoms_f", "numbers")]
    for x in tables:
        x.setflags(write=False)
    real = [np.ascontiguousarray(x.real) for x in states[:4]]
    found = np.full((samples, states[1].shape[1], 4), 7.0)
    assert force_slopes(T, *tables, np.array([2, 0, 3]), States(*real, states[4]), found) == -1
    case.system.users.raise_pending()
    for k, column in enumerate((2, 0, 3)):
        size = np.abs(wanted[:, :, k]).max()
        np.testing.assert_allclose(found[:, :, column], wanted[:, :, k], rtol=0, atol=1e-12 * size)
    assert np.abs(wanted[:, :, 0]).max() > 1e-2
    assert (found[:, :, 1] == 7.0).all()


@pytest.mark.parametrize("sample", [0, LANES + 1, SAMPLES - 1])
@pytest.mark.parametrize("bad", [complex(np.nan, 0.0), complex(1.0, np.nan), complex(np.inf, 0.0)])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_first_bad_sample_is_named(which, bad, sample):
    T, states = moved(loop(), ())
    states = [x.copy() for x in states]
    states[which][sample:, 1] = bad
    rows = int(T.ints[N_ALL])
    out = [np.zeros((SAMPLES, m, 1)) for m in (states[1].shape[1], rows, rows, rows)]
    assert slopes(T, States(*states), Slopes(*out), 0) == sample
