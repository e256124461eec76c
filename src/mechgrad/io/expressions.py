"""Formulas that files may state: functions of measures, as data that is read, never as code that is run.

    "(x[0] - 2.0) ** 2 + 0.1 * norm(v)"

A formula is parsed, and whatever is not in this list is refused with its position: names of measures, `t` and `pi`;
numbers; + - * / ** and the minus sign; a component x[k]; and the functions in FUNCTIONS. There are no attributes, no
other calls, no strings, no comparisons. Length, depth and exponents are bounded.

At each instant a measure is a number (a coordinate) or a vector (a position). Operations act on every component; a
number beside a vector serves all of its components; vectors of different lengths do not mix. Arrays (time first) and
dual numbers pass through, so derivatives are exact.
"""

from __future__ import annotations

import ast
import inspect
import math
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from typing import Any, Final, NamedTuple, NoReturn, final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.sensitivities.objectives import smooth_abs

__all__ = ["FUNCTIONS", "Expression", "check_measure_name"]

MAX_LENGTH: Final = 1000
"""Characters of a formula."""
MAX_DEPTH: Final = 60
"""How deep a formula may be nested; a sum of n terms is n deep."""
MAX_POWER: Final = 64
"""Largest exponent, either sign."""

CONSTANTS: Final = {"pi": math.pi}
TIME: Final = "t"


class _Function(NamedTuple):
    """What a name in a formula does with so many arguments; `whole` ones take vectors as vectors."""

    call: Callable[..., Any]
    arguments: int
    whole: bool = False


def _sum(x: Any) -> Any:
    return x if np.ndim(_values(x)) < 2 else np.sum(x, axis=-1)


def _norm(x: Any) -> Any:
    return np.abs(x) if np.ndim(_values(x)) < 2 else np.linalg.norm(x, axis=-1)


FUNCTIONS: Final[Mapping[str, _Function]] = {
    **{
        name: _Function(getattr(np, name), 1)
        for name in ("sqrt", "cbrt", "exp", "log", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "abs")
    },
    "asin": _Function(np.arcsin, 1),
    "acos": _Function(np.arccos, 1),
    "atan": _Function(np.arctan, 1),
    "atan2": _Function(np.arctan2, 2),
    "hypot": _Function(np.hypot, 2),
    "min": _Function(np.minimum, 2),
    "max": _Function(np.maximum, 2),
    "smooth_abs": _Function(smooth_abs, 2),
    "sum": _Function(_sum, 1, whole=True),
    "norm": _Function(_norm, 1, whole=True),
    "dot": _Function(lambda a, b: _sum(a * b), 2),
}
"""Functions that formulas know; `sum`, `norm` and `dot` go over the components of vectors."""

_OPERATORS: Final[Mapping[type, tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Add: ("+", lambda a, b: a + b),
    ast.Sub: ("-", lambda a, b: a - b),
    ast.Mult: ("*", lambda a, b: a * b),
    ast.Div: ("/", lambda a, b: a / b),
    ast.Pow: ("**", lambda a, b: a**b),
}
_Values = Mapping[str, Any]
_Part = float | Callable[[_Values], Any]  # a constant, or what it is for given measures


def check_measure_name(name: str, where: str, others: Sequence[str] = ()) -> None:
    """Raise unless a formula can call a measure so."""
    if not name.isidentifier() or iskeyword(name) or unicodedata.normalize("NFKC", name) != name:
        raise InputError(f"{where}: {name!r} cannot stand in a formula; a measure's name is one word, such as x or v1.")
    taken = [TIME, *CONSTANTS, *FUNCTIONS, *others]
    if name in taken:
        raise InputError(f"{where}: a measure cannot be called {name!r}, which formulas know already. Taken: "
                         f"{', '.join(taken)}.")  # fmt: skip


@final
class Expression:
    """A function of measures from a formula, to be given to `Integral` and its like.

    text : the formula
    measures : names of its arguments, in their order
    where : what it belongs to, for messages
    functions : name -> function of users, which take arrays (time first) and return such

    >>> formula = Expression("x ** 2 + max(v[0], v[1])", ["x", "v"])
    >>> formula(np.array([3.0]), np.array([[1.0, 2.0, 0.0]])).tolist()
    [11.0]
    """

    def __init__(
        self,
        text: object,
        measures: Sequence[str],
        where: str = "function",
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self.measures, self.where, self.functions = tuple(measures), where, dict(functions or {})
        self.used: set[str] = set()
        for name in self.functions:
            if name in FUNCTIONS or name in CONSTANTS or name == TIME or name in self.measures:
                raise InputError(f"{where}: the function {name!r} has a name that formulas know already; rename it.")
        self.text = self._checked_text(text)
        part = self._part(self._parsed().body, 1)
        if not callable(part) or not self.used & set(self.measures):
            names = ", ".join(self.measures)
            raise InputError(f"{where}: {self._shown()} depends on no measure; use {names} in it, or leave it out.")
        self._evaluate = part
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(f"measure_{k}", inspect.Parameter.POSITIONAL_ONLY) for k in range(len(self.measures))]
            + [inspect.Parameter(TIME, inspect.Parameter.KEYWORD_ONLY)] * (TIME in self.used)
        )

    def __call__(self, *measures: Any, t: Any = None) -> Any:
        """Values (nt,) or (nt, k) of the formula for arrays (or duals) of the measures, time first."""
        with np.errstate(all="ignore"):  # a value that is not finite is found, with its instant, where it is used
            return self._evaluate({**dict(zip(self.measures, measures, strict=True)), TIME: t})

    def __reduce__(self) -> tuple[Any, ...]:
        """Its text and names, from which another process reads it again."""
        return Expression, (self.text, self.measures, self.where, self.functions)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    # reading

    def _checked_text(self, text: object) -> str:
        if not isinstance(text, str) or not text.strip():
            raise InputError(f'{self.where}: a function is a formula in quotes, such as "x ** 2"; got {text!r:.60}.')
        if len(text) > MAX_LENGTH:
            raise InputError(f"{self.where}: a formula of {len(text)} characters; at most {MAX_LENGTH} are read.")
        if "#" in text:
            raise InputError(f"{self.where}: '#' in a formula; write comments outside of the quotes.")
        return " ".join(text.split("\n")).replace("\t", " ").rstrip()

    def _parsed(self) -> ast.Expression:
        lead = len(self.text) - len(self.text.lstrip())
        self._lead = lead
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what Python would remark on code; nothing here is run
                return ast.parse(self.text[lead:], mode="eval")
        except SyntaxError as error:
            column = lead + max(error.offset or 1, 1)
            raise InputError(
                f"{self.where}: {self._shown()} is no formula: {error.msg} at column {column}. {self._known()}"
            ) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise InputError(f"{self.where}: {self._shown()} is no formula: {error or 'too deep'}.") from None

    def _shown(self) -> str:
        return repr(self.text if len(self.text) <= 60 else self.text[:57] + "...")

    def _known(self) -> str:
        own = f"; of yours {', '.join(self.functions)}" if self.functions else ""
        return (
            f"Known: measures {', '.join(self.measures)}; {TIME}, {', '.join(CONSTANTS)}; numbers, + - * / **, x[0]; "
            f"functions {', '.join(FUNCTIONS)}{own}."
        )

    def _refuse(self, node: ast.expr, what: str, known: bool = True) -> NoReturn:
        before = self.text[self._lead :].encode()[: node.col_offset].decode(errors="ignore")
        column = self._lead + len(before) + 1
        raise InputError(
            f"{self.where}: {what} at column {column} of {self._shown()}." + (f" {self._known()}" if known else "")
        )

    # from nodes to parts

    def _part(self, node: ast.expr, depth: int) -> _Part:
        if depth > MAX_DEPTH:
            self._refuse(node, f"a formula nested deeper than {MAX_DEPTH}", known=False)
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name():
                return self._name(node)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                inner = self._part(operand, depth + 1)
                if isinstance(node.op, ast.UAdd):
                    return inner
                return (lambda values: -inner(values)) if callable(inner) else -inner
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self._binary(node, self._part(left, depth + 1), self._part(right, depth + 1))
            case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=k)) if type(k) is int:
                return self._component(node, k)
            case ast.Call(func=ast.Name(id=name)) if name not in (*FUNCTIONS, *self.functions):
                self._refuse(node, f"the unknown function {name!r}")
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                return self._call(node, name, [self._part(x, depth + 1) for x in node.args])
            case ast.Call():
                self._refuse(node, "not for formulas: a call of what is no function's name, or with named arguments,")
            case ast.Subscript():
                self._refuse(node, "brackets; a component of a measure is written x[0], x[1], ...")
        return self._refuse(node, f"not for formulas: {_WORDS.get(type(node), type(node).__name__)}")

    def _number(self, node: ast.Constant) -> float:
        if type(node.value) not in (int, float):
            self._refuse(node, f"not a real number ({type(node.value).__name__})")
        try:
            number = float(node.value)  # type: ignore[arg-type]
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self._refuse(node, "a number that is not finite", known=False)
        return number

    def _name(self, node: ast.Name) -> _Part:
        name = node.id
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name not in (*self.measures, TIME):
            self._refuse(node, f"a function without its arguments, {name}(...)," if name in FUNCTIONS
                         else f"the unknown name {name!r}")  # fmt: skip
        self.used.add(name)
        return lambda values: values[name]

    def _binary(self, node: ast.BinOp, a: _Part, b: _Part) -> _Part:
        symbol, operation = _OPERATORS[type(node.op)]
        if symbol == "**":
            if callable(b):
                self._refuse(node.right, "an exponent that is no constant (write exp(y * log(x)))", known=False)
            if abs(b) > MAX_POWER:
                self._refuse(node.right, f"an exponent of {b:g} (at most {MAX_POWER})", known=False)
        if symbol == "/" and b == 0.0:
            self._refuse(node.right, "a division by 0", known=False)
        if callable(a) or callable(b):
            return self._combined(node, operation, [a, b])
        try:
            result = operation(a, b)
        except (OverflowError, ZeroDivisionError):
            result = math.inf
        return self._finite(node, result)

    def _component(self, node: ast.Subscript, k: int) -> _Part:
        assert isinstance(node.value, ast.Name)
        whole = self._name(node.value)
        if not callable(whole) or node.value.id == TIME:
            self._refuse(node, f"a component of {node.value.id}, which is a number", known=False)

        def component(values: _Values) -> Any:
            x = whole(values)
            size = _values(x).shape[1] if _values(x).ndim > 1 else 0
            if not 0 <= k < size:
                has = f"{size} components, 0 to {size - 1}" if size else "no components: it is one number"
                self._refuse(node, f"component {k} of a measure that has {has},", known=False)
            return x[:, k]

        return component

    def _call(self, node: ast.Call, name: str, parts: list[_Part]) -> _Part:
        if name in self.functions:
            users = self.functions[name]
            return lambda values: self._own(node, users(*(p(values) if callable(p) else p for p in parts)))
        call, arguments, whole = FUNCTIONS[name]
        if len(parts) != arguments:
            self._refuse(node, f"{name} with {len(parts)} arguments (it takes {arguments})", known=False)
        if name == "smooth_abs" and (callable(parts[1]) or parts[1] <= 0.0):
            self._refuse(node, "smooth_abs(x, width) whose width is no positive constant", known=False)
        if any(map(callable, parts)):
            return self._combined(node, call, parts, aligned=not whole)
        with np.errstate(all="ignore"):
            return self._finite(node, call(*parts))

    def _own(self, node: ast.expr, found: Any) -> Any:
        """What a user's function returned, if formulas can go on with it."""
        found = found if hasattr(found, "slopes") else np.asarray(found)
        if found.ndim > 2:
            self._refuse(node, f"a function that returned shape {found.shape}, not (nt,) or (nt, k),", known=False)
        return found

    def _finite(self, node: ast.expr, number: Any) -> float:
        if isinstance(number, complex) or not math.isfinite(number):
            self._refuse(node, f"a constant without a finite real value ({number})", known=False)
        return float(number)

    def _combined(
        self, node: ast.expr, call: Callable[..., Any], parts: list[_Part], aligned: bool = True
    ) -> Callable[[_Values], Any]:
        """A function of parts; numbers (nt,) beside vectors (nt, k) get an axis, so that instants never mix."""

        def combined(values: _Values) -> Any:
            given: list[Any] = [p(values) if callable(p) else p for p in parts]
            if aligned:
                sizes = {_values(x).shape[1] for x in given if np.ndim(_values(x)) == 2}
                if len(sizes) > 1:
                    self._refuse(
                        node, f"vectors of {' and '.join(map(str, sorted(sizes)))} components together,", False
                    )
                if sizes:
                    given = [x[:, None] if np.ndim(_values(x)) == 1 else x for x in given]
            return call(*given)

        return combined


def _values(x: Any) -> Any:
    """The plain values of an array, a dual or a number."""
    return x.value if hasattr(x, "slopes") else x


_WORDS: Final[Mapping[type, str]] = {
    ast.Attribute: "an attribute", ast.Lambda: "a lambda", ast.Compare: "a comparison", ast.BoolOp: "and, or",
    ast.IfExp: "if ... else", ast.List: "a list", ast.Tuple: "a tuple", ast.Dict: "a dictionary", ast.Set: "a set",
    ast.ListComp: "a loop", ast.SetComp: "a loop", ast.DictComp: "a loop", ast.GeneratorExp: "a loop",
    ast.JoinedStr: "a string", ast.NamedExpr: "an assignment", ast.Starred: "a star", ast.UnaryOp: "this operator",
    ast.BinOp: "this operator (powers are **)", ast.Await: "await", ast.Yield: "yield", ast.YieldFrom: "yield",
}  # fmt: skip
