"""sincos against 64-bit mantissas: within 2 ulp below 1e4, the C library's answer beyond, on every scalar."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_scalars import NAMES, on_every_scalar

from mechgrad.kernels.elementary import sincos
from mechgrad.kernels.lanes import LANES, load, store, width

LIMIT = 1.0e4
ULPS = 2.0  # what the docstring promises
HALF_PI = np.longdouble("1.57079632679489661923132169163975144")
QUARTERS = np.arange(-6366, 6367)  # every k with |k pi/2| < LIMIT

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long double is no wider than double here: no reference"
)


def _run(scalar, x, s, c):
    for k in range(x.size // width(scalar)):
        sine, cosine = sincos(load(x, k, scalar))
        store(s, k, sine)
        store(c, k, cosine)


KERNELS = on_every_scalar(_run)


def run(scalar: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(sin x, cos x) by our kernel."""
    padded = np.resize(x, -(-x.size // LANES) * LANES).astype(complex if scalar == "complex" else float)
    s, c = np.empty_like(padded), np.empty_like(padded)
    KERNELS[scalar](padded, s, c)
    return s[: x.size], c[: x.size]


def ulps(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Error in units of the last place of the true value."""
    return np.asarray(np.abs(got - wanted) / np.spacing(np.abs(wanted.astype(float))), float)


def random_signs(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return x * rng.choice([-1.0, 1.0], x.shape)


def neighbours(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])


def halfway() -> np.ndarray:
    """Next to odd multiples of pi/4, where the quadrant changes."""
    return neighbours(((QUARTERS + np.longdouble(0.5)) * HALF_PI).astype(float))


def behind_powers_of_two(rng: np.random.Generator) -> np.ndarray:
    """Reduced angles just beyond 1/2, 1/4, ...: their last place is twice that of their sine, the hardest case."""
    quarters = (QUARTERS * HALF_PI)[:, None, None]
    powers = np.longdouble(2.0) ** np.array([-1, -2, -3, -4])[:, None]
    stretch = 1 + rng.uniform(-0.005, 0.03, (QUARTERS.size, 4, 8))
    return random_signs(rng, (quarters + powers * stretch).astype(float).ravel())


def arguments() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    n = 200_000
    sets = {
        "a few turns": rng.uniform(-7.0, 7.0, n),
        "all magnitudes alike": rng.uniform(-LIMIT, LIMIT, n),
        "logarithmic magnitudes": random_signs(rng, 10.0 ** rng.uniform(-20.0, 4.0, n)),
        "next to k pi/2": neighbours((QUARTERS * HALF_PI).astype(float)),
        "next to (k + 1/2) pi/2": halfway(),
        "reduced angle behind a power of two": behind_powers_of_two(rng),
        # Found by a search of 2e7 arguments: 2.40 ulp if the reduced angle is rounded to one double. If what was
        # cut off is carried along, the worst of the whole search is 0.87 ulp; complex numbers, by the C library:
        # 0.56 ulp.
        "worst of a single-word reduction": np.array([9509.726258636674, -9883.575772911534, 9982.535807267595]),
        "tiny": random_signs(rng, np.array([0.0, 5e-324, 1e-310, 2.3e-308, *(10.0 ** np.linspace(-300.0, -8.0, 500))])),
        "zeros and the ends": np.array([0.0, -0.0, np.nextafter(LIMIT, 0.0), -np.nextafter(LIMIT, 0.0)]),
    }
    return {name: x[np.abs(x) < LIMIT] for name, x in sets.items()}


ARGUMENTS = arguments()


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("scalar", NAMES)
def test_within_two_ulp_below_ten_thousand(scalar: str, name: str) -> None:
    x = ARGUMENTS[name]
    for what, got, function in zip(("sin", "cos"), run(scalar, x), (np.sin, np.cos), strict=True):
        if scalar == "complex":
            assert not got.imag.any()
        error = ulps(got.real, function(x.astype(np.longdouble)))
        worst = int(np.argmax(error))
        assert error[worst] <= ULPS, (
            f"{what}({x[worst]!r}) is off by {error[worst]:.3f} ulp, the worst of {x.size}; "
            f"{np.count_nonzero(error > ULPS)} are beyond {ULPS}"
        )


def test_the_measure_sees_one_wrong_bit() -> None:
    x = ARGUMENTS["a few turns"]
    exact = np.sin(x.astype(np.longdouble))
    wrong = exact.astype(float)
    wrong[7] = np.nextafter(np.nextafter(np.nextafter(wrong[7], 2.0), 2.0), 2.0)
    error = ulps(wrong, exact)
    assert np.max(np.delete(error, 7)) <= 0.5
    assert error[7] > ULPS


@pytest.mark.parametrize("scalar", NAMES)
def test_symmetries_hold_exactly(scalar: str) -> None:
    x = ARGUMENTS["all magnitudes alike"]
    (s, c), (s_minus, c_minus) = run(scalar, x), run(scalar, -x)
    np.testing.assert_array_equal(s_minus.real, -s.real)
    np.testing.assert_array_equal(c_minus.real, c.real)


@pytest.mark.parametrize("scalar", NAMES)
def test_larger_arguments_are_the_c_library_s(scalar: str) -> None:
    rng = np.random.default_rng(2)
    x = random_signs(
        rng, np.array([LIMIT, 22.0 * LIMIT, 1e15, 1e22, 1e300, *(10.0 ** rng.uniform(4.0, 300.0, 20_000))])
    )
    s, c = run(scalar, x)
    for got, function in ((s.real, math.sin), (c.real, math.cos)):
        wanted = np.array([function(v) for v in x])
        assert np.max(np.abs(got - wanted) / np.spacing(np.abs(wanted))) <= 1.0


@pytest.mark.parametrize("scalar", NAMES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_no_angle_gives_no_number(scalar: str, bad: float) -> None:
    x = np.linspace(-3.0, 3.0, 3 * LANES)
    x[LANES + 1] = bad
    s, c = run(scalar, x)
    wanted = np.arange(x.size) == LANES + 1
    np.testing.assert_array_equal(np.isnan(s.real), wanted)
    np.testing.assert_array_equal(np.isnan(c.real), wanted)


@pytest.mark.parametrize("lane", range(LANES))
def test_one_far_angle_among_near_ones(lane: int) -> None:
    x = np.linspace(-5.0, 9.0, LANES)
    x[lane] = 1e9 + 0.5
    s, c = run("lanes", x)
    exact = x.astype(np.longdouble)
    assert np.max(ulps(s, np.sin(exact))) <= ULPS
    assert np.max(ulps(c, np.cos(exact))) <= ULPS


def test_complex_step_is_the_derivative() -> None:
    """Imaginary parts are products of two roundings and a cosine within 1 ulp each: 2 ulp."""
    x, h = ARGUMENTS["all magnitudes alike"][:50_000], 1e-30
    s, c = run("complex", x + 1j * h)
    exact = x.astype(np.longdouble)
    assert np.max(ulps(s.imag, np.cos(exact) * np.longdouble(h))) <= 2.0
    assert np.max(ulps(c.imag, -np.sin(exact) * np.longdouble(h))) <= 2.0


def test_complex_angles() -> None:
    """sin(a + ib) = sin a cosh b + i cos a sinh b: 1 ulp of the C library's sine, 2 of its cosh, 1 of the product."""
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-100.0, 100.0, 20_000), rng.uniform(-5.0, 5.0, 20_000)
    s, c = run("complex", a + 1j * b)
    al, bl = a.astype(np.longdouble), b.astype(np.longdouble)
    pairs = (
        (s.real, np.sin(al) * np.cosh(bl)),
        (s.imag, np.cos(al) * np.sinh(bl)),
        (c.real, np.cos(al) * np.cosh(bl)),
        (c.imag, -np.sin(al) * np.sinh(bl)),
    )
    for got, wanted in pairs:
        assert np.max(ulps(got, wanted)) <= 4.0
