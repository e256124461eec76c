"""Formulas of files: what they say, their derivatives, and what they refuse to do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.io.expressions import FUNCTIONS, MAX_DEPTH, MAX_LENGTH, Expression, check_measure_name
from mechgrad.sensitivities.duals import Dual

X = np.array([0.31, 0.62, 0.87])  # within the domain of every function, and none alike
V = np.array([[0.3, -0.4, 1.2], [0.7, 0.2, -0.5], [-0.1, 0.9, 0.6]])
T = np.array([0.5, 1.5, 2.5])

# formula, its value, its derivative by x; all by hand
CLOSED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "x": (lambda x: x, lambda x: 1 + 0 * x),
    "-x + 2 * x - 0.5": (lambda x: x - 0.5, lambda x: 1 + 0 * x),
    "2 ** 3 / x": (lambda x: 8 / x, lambda x: -8 / x**2),
    "x ** 3": (lambda x: x**3, lambda x: 3 * x**2),
    "x ** -1.5": (lambda x: x**-1.5, lambda x: -1.5 * x**-2.5),
    "(x - 2) ** (1 / 1) * +x": (lambda x: x * x - 2 * x, lambda x: 2 * x - 2),
    "sin(pi * x) * cos(x)": (
        lambda x: np.sin(np.pi * x) * np.cos(x),
        lambda x: np.pi * np.cos(np.pi * x) * np.cos(x) - np.sin(np.pi * x) * np.sin(x),
    ),
    "exp(-x ** 2)": (lambda x: np.exp(-(x**2)), lambda x: -2 * x * np.exp(-(x**2))),
    "sqrt(x) + cbrt(x)": (
        lambda x: x**0.5 + x ** (1 / 3),
        lambda x: 0.5 * x**-0.5 + x ** (-2 / 3) / 3,
    ),
    "log(x) * log10(x)": (
        lambda x: np.log(x) ** 2 / np.log(10),
        lambda x: 2 * np.log(x) / x / np.log(10),
    ),
    "tan(x) + sinh(x) + cosh(x) + tanh(x)": (
        lambda x: np.tan(x) + np.exp(x) + np.tanh(x),
        lambda x: np.cos(x) ** -2 + np.exp(x) + np.cosh(x) ** -2,
    ),
    "asin(x) - acos(x) + atan(x)": (
        lambda x: 2 * np.arcsin(x) - np.pi / 2 + np.arctan(x),
        lambda x: 2 / np.sqrt(1 - x**2) + 1 / (1 + x**2),
    ),
    "atan2(x, 2) + hypot(x, 3)": (
        lambda x: np.arctan(x / 2) + np.sqrt(x**2 + 9),
        lambda x: 2 / (4 + x**2) + x / np.sqrt(x**2 + 9),
    ),
    "abs(x - 0.5) + max(x, 0.5) + min(x, 0.7)": (
        lambda x: np.abs(x - 0.5) + np.where(x > 0.5, x, 0.5) + np.where(x < 0.7, x, 0.7),
        lambda x: np.where(x > 0.5, 1.0, -1.0) + (x > 0.5) + (x < 0.7),
    ),
    "smooth_abs(x, 0.1)": (lambda x: np.sqrt(x**2 + 0.01) - 0.1, lambda x: x / np.sqrt(x**2 + 0.01)),
    "sum(x) * norm(x) * dot(x, 2)": (lambda x: 2 * x**3, lambda x: 6 * x**2),  # of numbers: themselves
    "x * t": (lambda x: x * T, lambda x: T + 0 * x),
}


@pytest.mark.parametrize("text", CLOSED)
def test_values_and_derivatives_are_those_of_the_closed_form(text: str) -> None:
    value, derivative = CLOSED[text]
    formula = Expression(text, ["x"])
    time = {"t": T} if "t" in formula.used else {}
    np.testing.assert_allclose(formula(X, **time), value(X), rtol=1e-14)
    found = formula(Dual(X, np.ones((1, 3))), **time)
    assert np.all(np.abs(derivative(X)) > 1e-3) or "abs" in text
    np.testing.assert_allclose(found.slopes[0], derivative(X), rtol=1e-13, atol=1e-14)


def test_every_function_is_tested_above() -> None:
    assert [name for name in FUNCTIONS if not any(f"{name}(" in text for text in CLOSED)] == []


def test_vectors_go_by_components_and_numbers_serve_all_of_them() -> None:
    """Three instants and three components: had a number per instant met the components, nothing would have said so."""
    formula = Expression("x * v + v[0] ** 2", ["x", "v"])
    np.testing.assert_allclose(formula(X, V), X[:, None] * V + V[:, :1] ** 2)
    slopes = formula(Dual(X, np.ones((1, 3))), Dual(V, np.zeros((1, 3, 3)))).slopes[0]
    np.testing.assert_allclose(slopes, V)
    np.testing.assert_allclose(Expression("norm(v)", ["v"])(V), np.sqrt((V**2).sum(1)))
    np.testing.assert_allclose(Expression("dot(v, v) + sum(v) * x", ["x", "v"])(X, V), (V**2).sum(1) + V.sum(1) * X)
    np.testing.assert_allclose(Expression("max(v, x)", ["x", "v"])(X, V), np.maximum(V, X[:, None]))


def test_objectives_take_formulas_with_exact_derivatives() -> None:
    bob = mg.Body("bob", mass=2.0, com=(0.0, 0.0, -1.0))
    model = mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0.0, 1.0, 0.0))])
    motion = mg.simulate(model, [0.7], duration=0.2, step=0.01)
    formula = Expression("sin(q) ** 2 * w + t * q", ["q", "w"])
    measures = (mg.measures.JointCoordinate("pin"), mg.measures.JointVelocity("pin"))
    python = mg.Integral(lambda q, w, t: np.sin(q) ** 2 * w + t * q, *measures)
    wrt = ["bob.com.z", "bob.com.x"]
    found = mg.gradient(motion, mg.Integral(formula, *measures), wrt).array
    np.testing.assert_allclose(found, mg.gradient(motion, python, wrt).array, rtol=1e-13)
    assert np.all(np.abs(found) > 1e-3)


ATTACKS = [
    "__import__('os').system('true')", "().__class__.__bases__[0].__subclasses__()", "x.__class__", "x.dtype",
    "(lambda: x)()", "[c for c in ().__class__.__mro__]", "eval('x')", "open('secret')", "exec('x')", "getattr(x, 'T')",
    "x if x else x", "x and x", "not x", "x < 1", "x == x", "f'{x}'", "'x'", "b'x'", "None", "True", "...", "1j * x",
    "{x}", "{1: x}", "[x]", "(x, x)", "x[0:1]", "x[x]", "x[-1]", "x[0][0]", "x[True]", "x[1.0]", "(x)(x)", "sin(*x)",
    "sin(x=x)", "sin", "sin(sin)", "max(x)", "x @ x", "x // 2", "x % 2", "x << 2", "x ^ 2", "~x", "(y := x)", "yield x",
    "await x", "x; x", "x\nimport os", "import os", "x = 1", "print(x)", "np.sin(x)", "__builtins__", "y", "t[0]",
    "pi[0]", "x # note", "x ** x", "x ** 65", "x ** -65", "9 ** 9 ** 9", "9.0 ** 60 ** 2", "x / 0", "1 / (2 - 2) * x",
    "10 ** 64 ** 1 * 1e300 * x", "(-2) ** 0.5 * x", "exp(1e3) * x", "log(0) * x", "1e999 * x",
    "0x" + "f" * 300 + " * x", "9" * 900 + " * x", "smooth_abs(x, 0)", "smooth_abs(x, x)", "3", "pi", "t", "2 * t",
    "", "   ", "(", "x +", ")",
    "x)(x", "\0", "x\0", "\x1b[2J", "\ud800", "x" * (MAX_LENGTH + 1), "-" * 200 + "x", "x" + " + x" * MAX_DEPTH,
    "(" * 300 + "x" + ")" * 300, "[" * 400, "sin(" * 100 + "x" + ")" * 100,
]  # fmt: skip


_watched: list[list[str]] = []
DEEDS = ("exec", "import", "open", "os.", "subprocess.", "socket.", "ctypes.", "object.__getattr__", "shutil.")


def watch(event: str, args: Any) -> None:
    if _watched and event.startswith(DEEDS):
        _watched[-1].append(event)


sys.addaudithook(watch)


def deeds(call: Callable[[], object]) -> list[str]:
    """What Python saw done meanwhile: code run, modules imported, files opened, programs started."""
    _watched.append([])
    try:
        call()
    finally:
        seen = _watched.pop()
    return seen


def test_deeds_are_seen() -> None:
    assert "exec" in deeds(lambda: eval("1 + 1"))
    assert "open" in deeds(lambda: Path(__file__).read_text())


@pytest.mark.parametrize("text", ATTACKS, ids=lambda text: ascii(text[:30]))
def test_what_is_no_formula_is_refused_before_anything_happens(text: str) -> None:
    refused: list[str] = []

    def read() -> None:
        try:
            Expression(text, ["x"], "[objectives.a]: function")
        except mg.InputError as error:
            refused.append(str(error))

    assert deeds(read) == []
    assert len(refused) == 1
    assert refused[0].startswith("[objectives.a]: function: ")
    assert len(refused[0]) < 700


def test_formulas_run_no_code() -> None:
    formula = Expression("sin(x) ** 2 + max(x, 0.1) * 3", ["x"])
    assert deeds(lambda: formula(X)) == []


@pytest.mark.parametrize("text", ["x * exp(x ** 64) ** 64", "log(x - 1)", "sqrt(-x)", "1 / (x - x)"])
def test_values_without_a_number_are_quiet_until_they_are_judged(text: str) -> None:
    """Warnings are errors here; the objective says at which instant the value is missing."""
    formula = Expression(text, ["x"])
    assert not np.any(np.isfinite(formula(10.0 * X if "exp" in text else X)))


@pytest.mark.parametrize("value", [3, 2.5, ["x"], None, True, {"x": 1}])
def test_formulas_are_text(value: object) -> None:
    with pytest.raises(mg.InputError, match="a formula in quotes"):
        Expression(value, ["x"])


def test_messages_have_the_column_and_what_is_known() -> None:
    with pytest.raises(
        mg.InputError, match=r"the unknown name 'xx' at column 5 of '2 \* xx'\. Known: measures x, v; t, pi"
    ):
        Expression("2 * xx", ["x", "v"])
    with pytest.raises(
        mg.InputError, match=r"the unknown function 'sine' at column 9 .*functions sqrt, .*; of yours mine\."
    ):
        Expression("mine(x)*sine(x)", ["x"], functions={"mine": np.sin})
    with pytest.raises(mg.InputError, match=r"'é' at column 3"):
        Expression("x*é + x", ["x"])
    with pytest.raises(mg.InputError, match=r"'\(' was never closed at column 3"):
        Expression("  (x", ["x"])
    with pytest.raises(mg.InputError, match=r"component 3 of a measure that has 3 components, 0 to 2"):
        Expression("v[3]", ["v"])(V)
    with pytest.raises(mg.InputError, match=r"component 0 of a measure that has no components"):
        Expression("x[0]", ["x"])(X)
    with pytest.raises(mg.InputError, match=r"vectors of 2 and 3 components together"):
        Expression("v + w", ["v", "w"])(V, V[:, :2])


def test_functions_of_users_come_from_the_command_line_alone() -> None:
    formula = Expression("mine(v) + x", ["x", "v"], functions={"mine": lambda v: (v * v).sum(-1)})
    np.testing.assert_allclose(formula(X, V), (V**2).sum(1) + X)
    found = formula(Dual(X, np.zeros((1, 3))), Dual(V, np.ones((1, 3, 3))))
    np.testing.assert_allclose(found.slopes[0], 2 * V.sum(1))
    with pytest.raises(mg.InputError, match=r"shape \(1, 1, 3\)"):
        Expression("mine(x)", ["x"], functions={"mine": lambda x: x.reshape(1, 1, 3)})(X)
    for taken in ("sin", "t", "pi", "x"):
        with pytest.raises(mg.InputError, match="know already"):
            Expression("x", ["x"], functions={taken: np.sin})


@pytest.mark.parametrize("name", ["t", "pi", "sin", "mine", "lambda", "a b", "1x", "x.y", "", "ｘ", "\x1b"])
def test_measures_have_names_that_formulas_can_use(name: str) -> None:
    with pytest.raises(mg.InputError):
        check_measure_name(name, "here", ["mine"])
    check_measure_name("v1", "here", ["mine"])
