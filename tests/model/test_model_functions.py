import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline

import mechgrad as mg
from mechgrad.errors import ModelError, ShapeError, UnknownNameError, ValueRangeError
from mechgrad.model.functions import FUNCTION_TYPES, as_function
from mechgrad.model.primitives.fields import entries, entry, replaced

H = 1e-30
TIMES = np.array([-0.5, 0.2, 1.0, 1.3, 2.5, 3.0])
VALUES = np.array([0.4, -0.3, 1.2, 0.8, -0.5, 0.9])
FUNCTIONS = {
    "constant": mg.functions.Constant(2.5),
    "polynomial": mg.functions.Polynomial((0.5, -1.0, 0.3, 0.2)),
    "harmonic": mg.functions.Harmonic(1.5, 0.8, phase=0.4, offset=0.3),
    "table": mg.functions.Table(TIMES, VALUES),
    "spline": mg.functions.Spline(TIMES, VALUES, ends="not-a-knot"),
}
# inside, on no knot, and beyond both ends
SAMPLES = np.array([-1.7, -0.4, 0.3, 1.1, 1.29, 2.6, 4.2])


@pytest.mark.parametrize("ends", ["natural", "clamped", "not-a-knot"])
def test_spline_is_that_of_scipy(ends):
    ours, theirs = mg.functions.Spline(TIMES, VALUES, ends=ends), CubicSpline(TIMES, VALUES, bc_type=ends)
    x = np.linspace(TIMES[0], TIMES[-1], 201)[:-1]
    assert_allclose(ours(x), theirs(x), atol=1e-13)
    assert_allclose(ours.rate(x), theirs(x, 1), atol=1e-12)
    assert_allclose(ours.second(x), theirs(x, 2), atol=1e-11)


@pytest.mark.parametrize("ends", ["natural", "clamped", "not-a-knot"])
def test_spline_goes_on_as_a_line(ends):
    spline = mg.functions.Spline(TIMES, VALUES, ends=ends)
    inside = CubicSpline(TIMES, VALUES, bc_type=ends)
    for end, beyond in ((TIMES[0], -0.7), (TIMES[-1], 0.9)):
        assert_allclose(spline(end + beyond), inside(end) + beyond * inside(end, 1), atol=1e-13)
        assert_allclose(spline.rate(end + beyond), inside(end, 1), atol=1e-13)
        assert spline.second(end + beyond) == 0.0


def test_two_knots_make_a_line_or_a_smooth_step():
    assert_allclose(mg.functions.Spline((0, 2), (1, 5))([0.5, 1.0, 3.0]), [2, 3, 7])
    s = np.array([0.25, 0.5])
    assert_allclose(mg.functions.Spline((0, 1), (0, 1), ends="clamped")(s), 3 * s**2 - 2 * s**3, atol=1e-15)


def test_table_is_linear_and_goes_on():
    table = mg.functions.Table(TIMES, VALUES)
    x = np.linspace(TIMES[0], TIMES[-1], 57)
    assert_allclose(table(x), np.interp(x, TIMES, VALUES), atol=1e-15)
    assert_allclose(table(TIMES[-1] + 2.0), VALUES[-1] + 2.0 * 1.4 / 0.5)
    assert_allclose(table(TIMES[0] - 1.4), VALUES[0] + 1.4)


def test_closed_forms():
    x = SAMPLES
    assert_allclose(FUNCTIONS["constant"](x), 2.5)
    assert_allclose(FUNCTIONS["polynomial"](x), np.polynomial.Polynomial((0.5, -1.0, 0.3, 0.2))(x), atol=1e-14)
    assert_allclose(FUNCTIONS["harmonic"](x), 0.3 + 1.5 * np.sin(2 * np.pi * 0.8 * x + 0.4), atol=1e-14)


@pytest.mark.parametrize("kind", FUNCTION_TYPES)
def test_rates_are_derivatives(kind):
    f = FUNCTIONS[kind]
    # 1e-13: a few hundred roundings of values of order one
    assert_allclose(f.rate(SAMPLES), f(SAMPLES + 1j * H).imag / H, atol=1e-13)
    assert_allclose(f.second(SAMPLES), f.rate(SAMPLES + 1j * H).imag / H, atol=1e-13)


@pytest.mark.parametrize("kind", FUNCTION_TYPES)
def test_every_number_carries_a_complex_step(kind):
    f = FUNCTIONS[kind]
    for field, index, _ in entries(f).values():
        x = entry(f, field, index)
        slope = replaced(f, {(field, index): x + 1j * H})(SAMPLES).imag / H
        up, down = (replaced(f, {(field, index): x + h})(SAMPLES) for h in (1e-5, -1e-5))
        assert np.abs(slope).max() > 1e-3
        # h**2 times third derivatives: (2 pi t)^3 of the harmonic by its frequency is below 2e4
        assert_allclose(slope, (up - down) / 2e-5, atol=1e-5)
        assert np.iscomplexobj(replaced(f, {(field, index): x + 1j * H}).pieces())


@pytest.mark.parametrize("kind", FUNCTION_TYPES)
def test_pieces_are_what_the_module_says(kind):
    """Evaluate the table as a kernel does."""
    f = FUNCTIONS[kind]
    pieces = f.pieces()
    assert pieces.shape[1] == 6
    assert (np.diff(pieces[:, 0]) >= 0).all()
    for x in SAMPLES:
        start, c0, c1, c2, c3, shape = pieces[max(np.flatnonzero(pieces[:, 0] <= x), default=0)]
        s = x - start
        expected = c0 + c1 * np.sin(c2 * x + c3) if shape == 1 else c0 + c1 * s + c2 * s**2 + c3 * s**3
        assert_allclose(f(x), expected, atol=1e-14)


def test_numbers_and_tables_become_functions():
    assert as_function(2, "torque") == mg.functions.Constant(2.0)
    assert as_function(2 + 1j * H, "torque").value == 2 + 1j * H
    assert as_function(np.float64(2), "torque") == mg.functions.Constant(2.0)
    spline = {"type": "spline", "times": [0, 1, 2], "values": [0, 1, 0], "ends": "clamped"}
    assert as_function(spline, "torque") == mg.functions.Spline((0, 1, 2), (0, 1, 0), ends="clamped")
    assert mg.functions.Spline((0, 1, 2), (0, 1, 0)) != mg.functions.Spline((0, 1, 2), (0, 1, 0), ends="clamped")
    assert mg.functions.Constant(1.0) != mg.functions.Polynomial((1.0,))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: mg.functions.Polynomial((1, 2, 3, 4, 5)), ValueRangeError, "5 coefficients make degree 4; at most 3"),
        (
            lambda: mg.functions.Polynomial(()),
            ShapeError,
            "polynomial: coefficients must be a list of numbers, at least one",
        ),
        (lambda: mg.functions.Table((0, 1, 1), (0, 1, 2)), ValueRangeError, "times[2] = 1 follows times[1] = 1"),
        (lambda: mg.functions.Spline((0, 1, 2), (0, 1)), ShapeError, "spline: 3 times but 2 values"),
        (lambda: mg.functions.Spline((0, 1, 2), (0, 1, 2), ends="not-a-knot"), ShapeError, "at least 4 real numbers"),
        (
            lambda: mg.functions.Spline((0, 1, 2), (0, 1, 2), ends="natrual"),
            UnknownNameError,
            "Did you mean 'natural'?",
        ),
        (lambda: mg.functions.Table((0, np.nan), (0, 1)), ModelError, "table: times = (0, nan) is not finite"),
        (lambda: as_function("fast", "force 'm': torque"), ShapeError, "force 'm': torque = 'fast' must be a number"),
        (lambda: mg.forces.Motor("m", "a", lambda t: 3 * t), ShapeError, "force 'm': torque is a lambda"),
        (lambda: mg.forces.Motor("m", "a", np.sin), ShapeError, "the Python function 'sin'"),
        (
            lambda: mg.constraints.Driver("d", "a", np.sin),
            ShapeError,
            "Constant, Polynomial, Harmonic, Table, Spline. Make",
        ),
        (lambda: mg.constraints.Driver("d", "a", [0, 1, 2]), ShapeError, "a list of 3 values without their times"),
        (lambda: as_function(True, "x"), ShapeError, "x = True must be a number"),
        (lambda: as_function({"type": "splin"}, "x"), UnknownNameError, "Did you mean 'spline'?"),
        (lambda: as_function({"type": "constant", "valeu": 1}, "x"), UnknownNameError, "Did you mean 'value'?"),
        (lambda: as_function({"type": "table", "times": [0, 1]}, "x"), ModelError, "x: the field 'values' of Table"),
        (
            lambda: as_function({"type": "table", "times": [1, 0], "values": [1, 2]}, "force 'm': torque"),
            ValueRangeError,
            "force 'm': torque: table: times must increase",
        ),
    ],
)
def test_errors_say_what_and_where(make, error, message):
    with pytest.raises(error, match=re.escape(message)):
        make()


def test_advice_on_python_functions_can_be_followed():
    """What the message says, done: a sampled sine is the sine to the order of the spline, h^4 = 1e-8 over 384."""
    x = np.linspace(0, 1, 101)
    motor = mg.forces.Motor("m", "a", mg.functions.Spline(x, [np.sin(s) for s in x]))
    assert_allclose(motor.torque(0.505), np.sin(0.505), atol=1e-9)
