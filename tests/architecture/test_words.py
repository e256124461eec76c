"""One word for one thing in every public signature, and no riddles in the code."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "mechgrad"
SPACES = (
    "mechgrad", *(f"mechgrad.{name}" for name in (
        "constraints", "forces", "functions", "measures", "formulations", "schemes", "drawing", "terms", "results",
        "motion", "design", "gallery", "kinematics", "objectives",
    )),
)  # fmt: skip

OLD = {  # spelling in a signature -> the one word
    "time": "t", "times": "t", "instant": "t", "t_now": "t",
    "with_respect_to": "wrt", "variables_names": "wrt", "by_parameters_of": "wrt",
    "most_iterations": "max_iterations", "maxiter": "max_iterations", "iterations_max": "max_iterations",
    "max_iter": "max_iterations", "tol": "tolerance", "eps": "tolerance",
    "centre": "point", "center": "point", "hub": "point", "low_speed": "slip_speed",
    "moment": "couple", "free": "free_position, floating or independent",
}  # fmt: skip

EXPLAINED = {
    # knots of a function or of data, which stand beside `values`
    ("Spline", "times"), ("Table", "times"), ("Samples", "times"), ("Tracking", "times"),
    # flags: whether a function of the user's is given its share of the motion
    ("UserConstraint", "time"), ("UserTerm", "time"),
    # world coordinates of the middle of a ball, not the name of a point
    ("KeepOut", "centre"),
}  # fmt: skip


def public() -> dict[str, Callable[..., Any]]:
    """Public functions, classes and their methods."""
    found: dict[str, Callable[..., Any]] = {}
    for space in SPACES:
        module = importlib.import_module(space)
        for key in module.__all__:
            thing = getattr(module, key)
            if inspect.isclass(thing):
                found[key] = thing
                members = inspect.getmembers(thing, inspect.isfunction)
                found |= {f"{key}.{name}": f for name, f in members if not name.startswith("_")}
            elif callable(thing):
                found[key] = thing
    return found


def signatures() -> dict[str, list[str]]:
    names = {}
    for where, thing in public().items():
        try:
            names[where] = list(inspect.signature(thing).parameters)
        except (TypeError, ValueError):  # exceptions and built-in types say nothing
            continue
    return names


def test_one_word_for_one_thing_in_every_public_signature() -> None:
    found = signatures()
    used = {(where, name) for where, names in found.items() for name in names if name in OLD}
    wrong = sorted(f"{where}({name}): write {OLD[name]}" for where, name in used - EXPLAINED)
    assert wrong == []
    assert used >= EXPLAINED, "something is explained that is gone"
    assert len(found) > 300


@pytest.mark.parametrize("word", ["t", "wrt", "max_iterations", "point"])
def test_the_words_are_in_use(word: str) -> None:
    assert sum(word in names for names in signatures().values()) >= 4


RIDDLES = (
    r"\bCrew\b", r"\bSettling\b", r"\bMoments\b", r"\bdef felt\b", r"\.pushes\(", r"\bacts_alone\b", r"\bdef weighs\b",
    r"\bplain\(0\)", r"\bBELOW(_ROOT)?\b", r"table top", r"\bmost_iterations\b", r"\.free_complex\b",
    r"\bFOOT\b", r"\bfoot_(atom|column|covector)", r"_foot\(", r"\b_Room\b",
    r"\bfelt\b", r"\bfeels?\b", r"\bmake_room\b", r"\broom[.,)]", r"\bsettl(es|ing)\b", r"\bSettled\b",
)  # fmt: skip


@pytest.mark.parametrize("riddle", RIDDLES)
def test_no_riddles(riddle: str) -> None:
    """Words of which a reader of this field would have to guess the meaning."""
    found = [path.name for path in PACKAGE.rglob("*.py") if re.search(riddle, path.read_text())]
    assert found == []


IMPERATIVES = ("Find ", "Compute ", "Calculate ", "Get ", "Return ", "Returns ", "Judge ", "Count ", "Read ", "Make ")


def test_first_lines_say_what_is_returned() -> None:
    """Of functions that return something: a noun, not an order."""
    wrong = []
    for where, thing in public().items():
        if inspect.isclass(thing):
            continue
        lines = (inspect.getdoc(thing) or "").splitlines()
        if "." not in where:
            assert lines, f"{where} has no docstring"
        if lines and lines[0].startswith(IMPERATIVES):
            wrong.append(f"{where}: {lines[0]}")
    assert wrong == []
