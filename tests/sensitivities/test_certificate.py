"""The judge judged: right derivatives pass, wrong ones are named, and nothing passes silently."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from mechgrad.errors import CertificateError, InputError, MechgradError
from mechgrad.sensitivities import certify

X = np.array([0.7, -1.3, 2.1, 0.4])
EPS = np.finfo(float).eps


def function(x):
    return np.array([x[0] * np.sin(x[1]), np.exp(x[2] * x[3]), x[0] ** 3 - x[3] / x[2], np.cos(x[1] + x[2] * x[0])])


def jacobian(x):
    s = -np.sin(x[1] + x[2] * x[0])
    e = np.exp(x[2] * x[3])
    return np.array(
        [
            [np.sin(x[1]), x[0] * np.cos(x[1]), 0, 0],
            [0, 0, x[3] * e, x[2] * e],
            [3 * x[0] ** 2, 0, x[3] / x[2] ** 2, -1 / x[2]],
            [x[2] * s, s, x[0] * s, 0],
        ]
    )


def real_only(x):
    """The same function, written so that a complex step cannot pass."""
    return [float(value) for value in function(np.asarray([float(number) for number in x]))]


# ------------------------------------------------------------------------------------------------------- passing
@pytest.mark.parametrize("given", [jacobian, jacobian(X), sparse.csr_array(jacobian(X))], ids=["call", "array", "csr"])
def test_right_derivatives_pass(given):
    certificate = certify(function, X, given)
    assert certificate.passed
    assert certificate.outcome == "passed"
    assert certificate.judge == "complex step"
    assert certificate.worst.error < 1e-14
    assert certificate.notes == ()
    assert np.allclose(certificate.complex_step, jacobian(X), rtol=1e-14)
    assert np.all(np.abs(certificate.differences - jacobian(X)) <= 10 * certificate.difference_errors)
    assert np.max(np.abs(certificate.differences - jacobian(X))) < 1e-8
    certificate.raise_if_failed()


def test_points_as_rows_give_the_same_certificate():
    def rows(points):
        return np.stack([function(point) for point in points])

    one, many = certify(function, X, jacobian), certify(rows, X, jacobian, batched=True)
    assert np.array_equal(one.complex_step, many.complex_step)
    assert np.array_equal(one.differences, many.differences)
    assert many.passed


@pytest.mark.parametrize(
    ("f", "x", "df"),
    [
        (lambda x: x**3, 2.0, 12.0),
        (lambda x: x**3, 2.0, [12.0]),
        (lambda x: x**3, 2, [[12.0]]),
        (lambda x: np.array([x, x**2]), 3.0, [1.0, 6.0]),
        (lambda x: [x[0], x[0] ** 2], [3.0], [[1.0], [6.0]]),
        (lambda x: x @ x, [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]),
        (lambda x: [x @ x], [1.0, 2.0, 3.0], [[2.0, 4.0, 6.0]]),
    ],
)
def test_numbers_and_vectors_on_either_side(f, x, df):
    assert certify(f, x, df).passed
    assert certify(f, x, np.multiply(df, 1 + 1e-6)).outcome == "failed"


def test_differences_ruined_by_cancellation_do_not_convict_a_right_derivative():
    """1e10 comes and goes: differences keep four digits at best, the complex step all."""
    certificate = certify(lambda x: (1e10 + np.sin(x)) - 1e10, [0.7, 1.1], np.diag(np.cos([0.7, 1.1])))
    assert np.max(np.abs(certificate.differences - certificate.analytic)) > 1e-7
    assert certificate.passed
    assert certificate.judge == "complex step"


def test_a_residual_at_its_solution_passes():
    """f(x) = 0 gives no scale; a column that is zero by cancellation holds rounding only."""

    def residual(x):
        return np.array([x[0] ** 2 - 2.0, (x[0] - np.sqrt(2.0)) * np.sin(x[1]) * 1e3])

    x = [np.sqrt(2.0), 0.3]
    assert certify(residual, x, [[2 * x[0], 0.0], [1e3 * np.sin(0.3), 1e-14]]).passed


# ------------------------------------------------------------------------------------------------------- failing
@pytest.mark.parametrize("entry", [(0, 1), (1, 3), (2, 2), (3, 0)])
def test_one_wrong_entry_among_many_is_named(entry):
    wrong = jacobian(X)
    wrong[entry] *= 1 + 1e-7
    certificate = certify(function, X, wrong, names=["a", "b", "c", "d"], outputs=["p", "q", "r", "s"])
    assert not certificate.passed
    row, column = "pqrs"[entry[0]], "abcd"[entry[1]]
    assert certificate.worst[:2] == (row, column)
    assert certificate.worst.analytic == wrong[entry]
    assert certificate.worst.numeric == pytest.approx(jacobian(X)[entry], rel=1e-14)
    assert f"d({row}) / d({column})" in certificate.verdict
    assert f"{wrong[entry]:.10g}" in certificate.verdict
    assert f"{jacobian(X)[entry]:.10g}" in certificate.verdict
    with pytest.raises(CertificateError, match=rf"d\({row}\) / d\({column}\)"):
        certificate.raise_if_failed()


def test_an_entry_given_where_there_is_none():
    wrong = jacobian(X)
    wrong[0, 3] = 1e-6
    assert certify(function, X, wrong).worst[:2] == ("f[0]", "x[3]")


def test_a_zeroed_column_is_missing():
    wrong = jacobian(X)
    wrong[:, 2] = 0.0
    certificate = certify(function, X, wrong)
    assert certificate.outcome == "failed"
    assert certificate.missing == ("x[2]",)
    assert "Missing, given as zero though it is not: x[2]" in certificate.verdict


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_fail_and_are_named(bad):
    wrong = jacobian(X)
    wrong[2, 3] = bad
    certificate = certify(function, X, wrong)
    assert certificate.outcome == "failed"
    assert certificate.worst[:2] == ("f[2]", "x[3]")
    assert str(bad) in certificate.verdict


def test_a_function_that_is_nan_fails():
    def broken(x):
        value = function(x)
        value[1] = np.nan
        return value

    for complex_step in (True, False):
        certificate = certify(broken, X, jacobian, complex_step=complex_step)
        assert certificate.outcome == "failed"
        assert certificate.worst.row == "f[1]"


def test_everything_zero_is_no_success():
    certificate = certify(lambda x: 0 * x + 3.0, X, np.zeros((4, 4)))
    assert certificate.outcome == "no influence"
    assert not certificate.passed
    assert "nothing to see" in certificate.verdict
    with pytest.raises(CertificateError):
        certificate.raise_if_failed()
    assert certify(lambda x: [3.0], X, np.zeros((1, 4))).outcome == "no influence"  # real, so differences judge
    assert certify(lambda x: [0.0], X, np.zeros((1, 4))).outcome == "no influence"
    assert certify(lambda x: [3.0], X, [0, 0, 1e-3, 0]).outcome == "failed"


def test_columns_without_influence_are_listed():
    certificate = certify(lambda x: x[:1] ** 2, X, [[2 * X[0], 0, 0, 0]])
    assert certificate.passed
    assert "nothing is proved about them: x[1], x[2], x[3]" in certificate.notes[0]


# -------------------------------------------------------------------------- functions that take no complex numbers
def test_a_function_of_floats_is_judged_by_differences_and_the_certificate_says_so():
    certificate = certify(real_only, X, jacobian)
    assert certificate.passed
    assert certificate.judge == "central differences"
    assert certificate.complex_step is None
    assert "refuses complex numbers" in certificate.notes[0]
    assert "Central differences judge" in str(certificate)
    wrong = jacobian(X)
    wrong[3, 2] *= 1 + 1e-5
    assert certify(real_only, X, wrong).worst[:2] == ("f[3]", "x[2]")
    wrong = jacobian(X)
    wrong[:, 1] = 0.0
    assert certify(real_only, X, wrong).missing == ("x[1]",)


@pytest.mark.parametrize(
    "refuses",
    [
        lambda x: np.real(function(x)),
        lambda x: function(np.asarray(x, float)),  # a ComplexWarning
        lambda x: [math.sin(x[0]) * x[1], x[2], x[3], 1.0],
    ],
    ids=["real output", "warning", "math"],
)
def test_other_ways_to_lose_the_imaginary_part(refuses):
    certificate = certify(refuses, X, np.zeros((4, 4)))
    assert certificate.judge == "central differences"
    assert certificate.notes
    assert not certificate.passed


def test_abs_is_caught_though_it_takes_complex_numbers():
    """abs(x) of a complex number is real: the complex step then finds zero, and would convict the right derivative."""

    def kinked(x):
        return np.array([np.abs(x[0]) * x[1], x[0] * x[1]])

    x = [-0.8, 1.7]
    right = np.array([[-1.7, 0.8], [1.7, -0.8]])
    certificate = certify(kinked, x, right, names=["u", "v"])
    assert certificate.judge == "central differences"
    assert "not complex-safe" in certificate.notes[0]
    assert "d(f[0]) / d(u)" in certificate.notes[0]
    assert certificate.passed
    wrong = certify(kinked, x, [[0.0, 0.8], [1.7, -0.8]])  # what the complex step says
    assert wrong.outcome == "failed"
    assert wrong.worst[:2] == ("f[0]", "x[0]")


def test_differences_too_coarse_to_judge_are_inconclusive():
    rng = np.random.default_rng(0)
    noisy = lambda x: float(np.real(x[0])) + 1e-2 * rng.standard_normal()  # noqa: E731
    certificate = certify(noisy, [1.0], [1.0])
    assert certificate.outcome == "inconclusive"
    assert not certificate.passed
    assert "too uncertain" in certificate.verdict


# ------------------------------------------------------------------------------------------------------ the sweep
def test_the_sweep_finds_the_best_step():
    """Truncation h^2/6 meets rounding eps/h at h = (3 eps)^(1/3), here 9e-6; the sweep has decades."""
    certificate = certify(np.sin, [1.0], [[np.cos(1.0)]])
    assert EPS ** (1 / 3) / 10 < certificate.steps[0] < EPS ** (1 / 3) * 10
    error = abs(certificate.differences[0, 0] - np.cos(1.0))
    assert error < 1e-9
    assert error <= certificate.difference_errors[0, 0] < 1e-8


def test_steps_follow_the_scale_of_each_number():
    x = np.array([1e-4, 1.0, 1e5])
    f = lambda y: np.sin(y / x)  # noqa: E731
    certificate = certify(f, x, np.diag(np.cos(1.0) / x))
    ratio = certificate.steps / x
    assert np.all((ratio > 1e-7) & (ratio < 1e-4))
    error = np.abs(certificate.differences - certificate.analytic)
    assert np.all(np.diag(error) * x < 1e-8)


def test_a_linear_function_takes_the_longest_step():
    certificate = certify(lambda x: 3 * x, [1.0], [[3.0]])
    assert certificate.steps[0] >= 1e-2


def test_scales_help_where_a_number_does_not_show_its_own():
    """At zero a step of 1e-8 is already far for this function."""
    f = lambda x: np.sin(1e9 * float(x[0].real))  # noqa: E731
    assert certify(f, [0.0], [[1e9]]).outcome != "passed"
    assert certify(f, [0.0], [[1e9]], scales=[1e-9]).passed


def test_steps_outside_of_the_domain_do_not_count():
    certificate = certify(lambda x: math.sqrt(x[0] - 0.9999), [1.0], [[50.0]])
    assert certificate.judge == "central differences"
    assert certificate.passed
    assert certificate.steps[0] < 1e-4


def test_no_steps_leave_the_complex_step_alone():
    certificate = certify(function, X, jacobian, steps=())
    assert certificate.passed
    assert certificate.differences is None
    assert certificate.steps is None


# ---------------------------------------------------------------------------------------------------------- words
def test_table_and_text():
    certificate = certify(function, X, jacobian, title="four functions")
    lines = certificate.table().splitlines()
    assert lines[0] == "four functions"
    assert lines[1].split() == ["by", "row", "given", "complex", "difference", "step", "error"]
    assert len(lines) == 7
    assert str(certificate).endswith(certificate.verdict)
    assert "and 2 columns that are no worse" in certificate.table(limit=2)
    assert "4 x 4, passed" in repr(certificate)


def test_a_short_table_shows_the_worst_columns():
    wrong = jacobian(X)
    wrong[1, 2] *= 2
    assert [line[0] for line in certify(function, X, wrong).lines(1)] == ["x[2]"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"jacobian": np.zeros((4, 3))}, r"shape \(4, 3\); the function makes 4 numbers of 4, so it must be \(4, 4\)"),
        ({"jacobian": np.zeros(4)}, r"shape \(4,\)"),
        ({"jacobian": jacobian(X) + 0j}, "complex128; real numbers"),
        ({"jacobian": "wrong"}, "real numbers are needed"),
        ({"x": [[0.0]]}, r"x has shape \(1, 1\)"),
        ({"x": []}, "nothing to differentiate by"),
        ({"x": [1.0, np.nan, 1.0, 1.0]}, "x holds nan"),
        ({"names": ["a", "b"]}, "4 names are needed"),
        ({"outputs": "abcd"}, "4 names are needed"),
        ({"steps": (1e-3,)}, "two or more"),
        ({"steps": (1e-3, -1e-3)}, "two or more"),
        ({"scales": [1.0, 0.0, 1.0, 1.0]}, "scales holds 0.0"),
        ({"function": lambda x: np.zeros((2, 2))}, r"shape \(2, 2\); it must be a number or"),
        ({"function": lambda x: ["a", "b"]}, "numbers are needed"),
        ({"function": lambda x: x + 1j}, "complex numbers for real ones"),
        ({"function": lambda x: np.zeros(3 if x[0] == X[0] else 4)}, "their number must not depend on x"),
        ({"batched": True, "function": lambda points: points[0]}, r"\(k, n\) must become \(k, m\)"),
        ({"complex_step": False, "steps": ()}, "nothing to judge with: no steps, and no complex step"),
    ],
)
def test_unusable_input_is_explained(arguments, message):
    given = {"function": function, "x": X, "jacobian": jacobian(X), **arguments}
    with pytest.raises(InputError, match=message):
        certify(**given)


def test_a_transposed_jacobian_is_recognised():
    with pytest.raises(InputError, match="looks transposed"):
        certify(lambda x: x[:2] ** 2, X, np.zeros((4, 2)))


def test_what_a_function_raises_at_x_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        certify(lambda x: 1 / 0, X, jacobian)


def test_the_error_is_an_assertion_of_ours():
    assert issubclass(CertificateError, AssertionError)
    assert issubclass(CertificateError, MechgradError)
