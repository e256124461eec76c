"""Files with mistakes: valid ones, broken in a seeded way, as people, editors and the malicious break them."""

from __future__ import annotations

import contextlib
import copy
import datetime
import random
import tomllib
from collections.abc import Iterator
from typing import Any

import tomli_w

NASTY: list[Any] = [
    0, 1, -1, 3.0, 1e308, -1e-308, 1e-320, float("nan"), float("inf"), float("-inf"), 2**62, True, False, "", " ", "x",
    "ground", "gravity", "start", "body", "\x1b[31mred\x1b[0m", "a\nb", "a.b", "a.*", "*", "[", "été", "\u202egnp",
    "x" * 300, [], [[]], [[[]]], {}, [1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [0.0, 0.0, 0.0], [1e308, 1e308, 1e308],
    ["a"], ["ground", "ground"], [True, False, True], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 2], [3]], [{}],
    [float("nan")] * 3, {"type": "constant"}, {"type": "spline", "times": [0, 1], "values": [1, 2], "ends": ["a", "b"]},
    {"type": "spline", "times": [1, 0], "values": [1, 2]}, {"type": "table", "times": [], "values": []},
    {"type": "polynomial", "coefficients": [1, 2, 3, 4, 5]}, {"type": ["harmonic"]}, {"type": 3},
    {"a": {"b": {"c": 1}}},
    datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1), datetime.time(1, 2), [1] * 50,
    "__import__('os')", "x ** 9 ** 9", "x.real", "sin(x", "9" * 50 + "*x",
]  # fmt: skip

SNIPPETS = [
    "[", "]", "[[", "]]", "{", "}", '"', "'", '"""', "'''", "=", ".", ",", "#", "\n", "\r\n", "\t", "\0", "\x1b",
    "\ufeff", "nan", "inf", "-", "+", "1e999", "0x" + "f" * 40, "9" * 5000, "1979-13-45", "true", "[" * 300,
    "{a=" * 200, "a." * 300,
    "[[bodies]]\n", "[model]\n", 'kind = "revolute"\n', 'name = "x"\n', "cut = 3.0\n", "\u202e", "\\u001b", "\\", "é",
]  # fmt: skip


def broken(text: str, seed: int) -> bytes:
    """One mutation or several of a valid file."""
    rng = random.Random(seed)
    if rng.random() < 0.75:
        content = tomllib.loads(text)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            _structure(rng, content)
        with contextlib.suppress(TypeError, ValueError, AttributeError):  # what TOML cannot hold at that place
            text = tomli_w.dumps(content)
        if rng.random() < 0.8:
            return text.encode("utf-8", "surrogatepass")
    for _ in range(rng.choice((1, 1, 2, 5))):
        text = _characters(rng, text)
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.1:
        data = rng.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"\xc3")) + data
    return data


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every (owner, key) of a nested content."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield content, key
        yield from _places(value)


def _structure(rng: random.Random, content: dict[str, Any]) -> None:
    places = list(_places(content))
    if not places:
        return
    owner, key = rng.choice(places)
    other_owner, other = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del owner[key]
        case 1:  # something from elsewhere, unless that would make a circle
            value = other_owner[other]
            if not any(value is o for o, _ in _places([owner])) and value is not owner:
                owner[key] = tomllib.loads(tomli_w.dumps({"copy": value}))["copy"]
        case 2 if isinstance(owner, dict):
            owner[rng.choice(("", "x", "kind", "name", "type", "mass", "\x1b", "a.b", key + "s"))] = owner[key]
        case _:
            owner[key] = copy.deepcopy(rng.choice(NASTY))


def _characters(rng: random.Random, text: str) -> str:
    a = rng.randrange(len(text) + 1)
    b = min(len(text), a + rng.choice((1, 1, 2, 5, 30)))
    match rng.randrange(5):
        case 0:
            return text[:a] + text[b:]
        case 1:
            return text[:a] + text[a:b] * rng.choice((2, 3, 50)) + text[b:]
        case 2:
            return text[:a]
        case _:
            return text[:a] + rng.choice(SNIPPETS) + text[b if rng.random() < 0.5 else a :]
