"""Dual numbers through NumPy: every function of the list against a complex step or differences, and the list's end."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mechgrad.sensitivities.duals import FLAT, FUNCTIONS, RULES, Dual, Unsupported

RNG = np.random.default_rng(5)
X = RNG.uniform(0.2, 0.8, (6, 3))
Y = RNG.uniform(0.2, 0.8, (6, 3))
SLOPES = RNG.normal(size=(2, 6, 3))
TABLE = RNG.normal(size=(3, 4))


def dual(x=X, slopes=SLOPES):
    value = x.copy()
    value.setflags(write=False)
    return Dual(value, slopes)


def differences(f, step=1e-5):
    """Central differences along both directions, fourth order: error about 1e-11 for functions of size one."""

    def along(d, h):
        return (np.asarray(f(X + h * d), float) - np.asarray(f(X - h * d), float)) / (2 * h)

    return np.stack([(4 * along(d, step) - along(d, 2 * step)) / 3 for d in SLOPES])


SHIFTED = {np.arccosh: 1.0}


@pytest.mark.parametrize("ufunc", RULES, ids=lambda u: u.__name__)
def test_elementwise_functions(ufunc):
    """Both arguments carry slopes, one does, and the other does."""
    shift = SHIFTED.get(ufunc, 0.0)
    calls = [lambda x: ufunc(x + shift)]
    if ufunc.nin == 2:
        calls = [
            lambda x: ufunc(x, x[::-1] * 1.3),
            lambda x: ufunc(x, Y),
            lambda x: ufunc(Y, x),
            lambda x: ufunc(x, 0.7),
        ]
    seen = 0.0
    for call in calls:
        found = call(dual())
        assert isinstance(found, Dual)
        np.testing.assert_allclose(found.value, call(X), rtol=1e-15)
        np.testing.assert_allclose(found.slopes, differences(call), rtol=1e-8, atol=1e-8)
        seen = max(seen, np.abs(found.slopes).max())
    assert seen > 1e-3


CASES = {
    np.sum: lambda x: np.sum(x, axis=-1) + x.sum() + np.add.reduce(x, axis=1),
    np.mean: lambda x: np.mean(x * x, axis=1, keepdims=True) + x.mean(),
    np.var: lambda x: np.var(x, axis=1) + x.var(-1, ddof=1),
    np.std: lambda x: np.std(x, axis=1),
    np.prod: lambda x: np.prod(x - X[0], axis=-1) + np.prod(x, axis=1, keepdims=True)[:, 0],
    np.max: lambda x: np.max(x, axis=-1) + x.max() + np.max(x, axis=1, keepdims=True)[:, 0],
    np.min: lambda x: np.min(x, axis=0) + x.min(),
    np.nanmax: lambda x: np.nanmax(x, axis=-1),
    np.nanmin: lambda x: np.nanmin(x, axis=-1),
    np.cumsum: lambda x: np.cumsum(x * x, axis=1),
    np.diff: lambda x: np.diff(x * x, axis=1),
    np.dot: lambda x: np.dot(x * x, [1.0, 2.0, 3.0]) + x.dot(np.ones(3)),
    np.vdot: lambda x: np.vdot(x[0], x[1]),
    np.inner: lambda x: np.inner(x, Y[0]),
    np.outer: lambda x: np.outer(x[0], x[1]),
    np.matmul: lambda x: (x * x) @ TABLE + (Y[0] @ x.T)[:4] @ (x[:4] @ TABLE) + Y[1] @ x[2],
    np.einsum: lambda x: np.einsum("ti,ti->t", x, x) + np.einsum("...i,ij,...k", x, TABLE, x).sum((-1, -2)),
    np.linalg.norm: lambda x: (
        np.linalg.norm(x, axis=-1)
        + np.linalg.norm(x)
        + np.linalg.norm(x, 1, axis=1)
        + np.linalg.norm(x, np.inf, axis=1)
    ),
    np.cross: lambda x: np.cross(x, Y) + np.cross(Y[0], x) + np.cross(x, x[::-1]),
    np.stack: lambda x: np.stack([x[:, 0], Y[:, 0], x[:, 1] ** 2], axis=-1),
    np.concatenate: lambda x: np.concatenate([x, Y, x * x], axis=0),
    np.vstack: lambda x: np.vstack([x, x * x]),
    np.hstack: lambda x: np.hstack([x, x * x]),
    np.dstack: lambda x: np.dstack([x, x * x]),
    np.column_stack: lambda x: np.column_stack([x[:, 0], x[:, 1] ** 2]),
    np.reshape: lambda x: np.reshape(x * x, (3, 6)) + x.reshape(3, 6) + x.reshape((3, -1)),
    np.ravel: lambda x: np.ravel(x * x) + x.flatten(),
    np.transpose: lambda x: np.transpose(x * x) + x.T + x.transpose(1, 0) + x.transpose(),
    np.swapaxes: lambda x: np.swapaxes(x * x, 0, 1),
    np.moveaxis: lambda x: np.moveaxis(x * x, 0, -1),
    np.rollaxis: lambda x: np.rollaxis(x * x, 1),
    np.squeeze: lambda x: np.squeeze((x * x)[:, None, :], axis=1) + x[None].squeeze(),
    np.expand_dims: lambda x: np.expand_dims(x * x, axis=1),
    np.broadcast_to: lambda x: np.broadcast_to(x[0] ** 2, (5, 3)),
    np.flip: lambda x: np.flip(x * x, axis=0),
    np.roll: lambda x: np.roll(x * x, 1, axis=1),
    np.tile: lambda x: np.tile(x[0], 3),
    np.repeat: lambda x: np.repeat(x, 2, axis=0),
    np.take: lambda x: np.take(x, [0, 2], axis=1),
    np.trace: lambda x: np.trace(x[:3] @ x[3:]),
    np.atleast_1d: lambda x: np.atleast_1d(x[0, 0] ** 2),
    np.atleast_2d: lambda x: np.atleast_2d(x[0] ** 2),
    np.copy: lambda x: np.copy(x) * x.copy(),
    np.real: lambda x: np.real(x) * x.real + np.imag(x) + x.conj(),
    np.real_if_close: lambda x: np.real_if_close(x * x),
    np.zeros_like: lambda x: filled(np.zeros_like(x), x),
    np.empty_like: lambda x: filled(np.empty_like(x), x),
    np.ones_like: lambda x: filled(np.ones_like(x), x),
    np.full_like: lambda x: filled(np.full_like(x, 2.0), x),
    np.clip: lambda x: np.clip(x * x, 0.1, 0.3) + x.clip(None, 0.5) + np.clip(x, min=0.4),
    np.where: lambda x: np.where(x > 0.5, x * x, 0.0) + np.where(x[:, :1] < 0.4, 1.0, x),
    np.select: lambda x: np.select([x > 0.6, x > 0.4], [x * x, 3 * x], 0.1),
    np.interp: lambda x: np.interp(x, [0.3, 0.45, 0.7], [1.0, -2.0, 5.0]),
    np.polyval: lambda x: np.polyval([1.0, -2.0, 0.5], x),
    np.nan_to_num: lambda x: np.nan_to_num(x * x),
}
PLAIN = {
    np.shape, np.ndim, np.size, np.any, np.all, np.argmax, np.argmin, np.argsort, np.round, np.fix, np.count_nonzero,
    np.nonzero, np.isclose, np.allclose, np.array_equal, np.searchsorted, np.imag, np.iscomplexobj, np.isrealobj,
    np.result_type, np.argwhere, np.flatnonzero, np.may_share_memory, np.shares_memory, np.digitize,
}  # fmt: skip


def filled(out, x):
    out[:, 0] = x[:, 0] ** 2
    out[:, 1:] = 0.5
    out[1] *= 3.0
    return out


def test_every_function_of_the_list_has_a_case():
    aliases = {np.amax: np.max, np.amin: np.min}
    assert {aliases.get(f, f) for f in FUNCTIONS} == set(CASES) | PLAIN


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_functions_of_whole_arrays(function):
    call = CASES[function]
    found = call(dual())
    assert isinstance(found, Dual)
    np.testing.assert_allclose(found.value, call(X), rtol=1e-14)
    assert found.slopes.shape == (2, *found.shape)
    np.testing.assert_allclose(found.slopes, differences(call), rtol=1e-8, atol=1e-8)
    assert np.abs(found.slopes).max() > 1e-3


def test_comparisons_and_counts_are_plain():
    x = dual()
    for ufunc in FLAT:
        assert not isinstance(ufunc(x) if ufunc.nin == 1 else ufunc(x, 0.5), Dual)
    assert np.array_equal(x > 0.5, X > 0.5)
    assert (np.shape(x), np.ndim(x), np.size(x), len(x)) == ((6, 3), 2, 18, 6)
    assert np.argmax(x) == np.argmax(X)
    assert x.dtype == float
    assert not np.any(x > 1)


INDICES = [0, -1, slice(1, 4), (slice(None), 0), (slice(None), [0, 2]), (Ellipsis, None), ([0, 1], [1, 2]),
           X[:, 0] > 0.5, (0, slice(None)), (slice(None, None, -1), -1)]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing(index):
    found = (dual() ** 2)[index]
    np.testing.assert_array_equal(found.value, (X**2)[index])
    np.testing.assert_allclose(found.slopes, np.stack([(2 * X * s)[index] for s in SLOPES]))


def test_separated_indices():
    """NumPy puts their axes in front; directions stay where they are."""
    x = Dual(RNG.normal(size=(2, 3, 4)), RNG.normal(size=(5, 2, 3, 4)))
    assert x[0, :, [1, 2]].slopes.shape == (5, 2, 3)


def test_kinks_take_one_branch():
    x = Dual(np.array([-1.0, 0.0, 2.0]), np.ones((1, 3)))
    assert np.abs(x).slopes.tolist() == [[-1.0, 0.0, 1.0]]
    assert np.maximum(x, 0.0).slopes.tolist() == [[0.0, 1.0, 1.0]]
    assert np.minimum(0.0, x).slopes.tolist() == [[1.0, 0.0, 0.0]]
    still = Dual(np.zeros((1, 3)), np.eye(3)[:, None, :])
    assert np.linalg.norm(still, axis=-1).slopes.tolist() == [[0.0], [0.0], [0.0]]
    with np.errstate(all="ignore"):
        assert np.isinf(np.sqrt(Dual(0.0, [1.0])).slopes[0])


def test_nothing_is_written_to_what_was_handed_out():
    x = dual()
    before = x.slopes.copy()
    for write in (lambda x: x.__isub__(0.5), lambda x: x[:, 0].__imul__(2.0), lambda x: x.__setitem__(0, 1.0)):
        with pytest.raises(ValueError, match="read-only"):
            write(x)
    y = x + 1.0
    y *= 2.0
    z = x.copy()
    z[:, 0] -= x[:, 1]
    np.testing.assert_array_equal(x.slopes, before)
    np.testing.assert_array_equal(z.slopes[:, :, 0], before[:, :, 0] - before[:, :, 1])
    np.testing.assert_array_equal(y.slopes, 2.0 * before)


ENDS = {
    "asarray": lambda x: np.asarray(x),
    "list of rows": lambda x: np.array([x[:, 0], x[:, 1]]),
    "list of numbers": lambda x: np.array([x[0, 0], x[1, 1]]),
    "nested": lambda x: np.array([[x[0, 0]]]),
    "float": lambda x: float(x[0, 0]),
    "int": lambda x: int(x[0, 0]),
    "math": lambda x: math.sin(x[0, 0]),
    "tolist": lambda x: x.tolist(),
    "item": lambda x: x[0, 0].item(),
    "assignment": lambda x: np.zeros(6).__setitem__(0, x[0, 0]),
    "out": lambda x: np.add(x, 1.0, out=np.zeros((6, 3))),
    "plain +=": lambda x: np.zeros((6, 3)).__iadd__(x),
    "fft": lambda x: np.fft.fft(x),
    "gradient": lambda x: np.gradient(x),
    "integers": lambda x: x.astype(int),
    "where=": lambda x: np.sum(x, where=X > 0.5),
    "sort": lambda x: np.sort(x),
    "accumulate": lambda x: np.add.accumulate(x),
    "ufunc of another library": lambda x: np.frompyfunc(math.sin, 1, 1)(x),
    "complex": lambda x: x * 1j,
}


@pytest.mark.parametrize("name", ENDS)
def test_where_the_list_ends_nothing_is_lost(name):
    with pytest.raises((Unsupported, ValueError)):  # NumPy words some of them itself
        ENDS[name](dual())
