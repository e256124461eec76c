"""Names are seen, never obeyed: what would command a terminal is refused in names and left out of messages."""

from __future__ import annotations

import pickle

import pytest

import mechgrad as mg
from mechgrad.errors import ValueRangeError, is_control, printable, unknown_name
from mechgrad.model import JOINT_TYPES
from mechgrad.model.constraints import CONSTRAINT_TYPES
from mechgrad.model.forces import FORCE_TYPES

NAMES = [
    "red\x1b[31m",
    "a\nb",
    "a\rb",
    "tab\tbed",
    "bell\x07",
    "null\0",
    "csi\x9b2J",
    "del\x7f",
    "\u202egnp",
    "a\u2028b",
]
FINE = ["été", "関節 1", "α-β", "link[1]", "a b", "π/2", "x" * 200, "na\u0308me", "👍"]


def named(cls: type, name: str) -> object:
    """One of a kind with this name, and as little else as it needs."""
    if cls in (mg.Body,):
        return cls(name)
    if cls in (mg.Point, mg.Vector):
        return cls(name, "ground", (1.0, 0.0, 0.0))
    if cls is mg.DesignVariable:
        return cls(name, ["a.mass"], 1.0)
    if cls in JOINT_TYPES.values():
        return cls(name, "ground", "b")
    given = {
        mg.constraints.FixedDistance: ("p", "q", 1.0),
        mg.constraints.SamePoint: ("p", "q"),
        mg.constraints.PointInPlane: ("p", "q", "n"),
        mg.constraints.PointOnLine: ("p", "q", "n"),
        mg.constraints.PointOnCurve: ("p", "q", "n", "m", 0.1),
        mg.constraints.DotProduct: ("u", "v", 0.0),
        mg.constraints.Parallel: ("u", "v"),
        mg.constraints.SameVector: ("u", "v"),
        mg.constraints.AngleBetween: ("u", "v", "n"),
        mg.constraints.LinearCombination: ({"a": 1.0},),
        mg.constraints.Gear: ("a", "b", 2.0),
        mg.constraints.Driver: ("a", 1.0),
        mg.constraints.GuidedPoint: ("p", 1.0),
        mg.constraints.Rolling: ("p", 1.0, "n"),
        mg.forces.SpringDamper: ("p", "q", 1.0),
        mg.forces.SpringCurve: ("p", "q", mg.functions.Polynomial((0.0, 1.0))),
        mg.forces.TorsionSpring: ("a", 1.0),
        mg.forces.JointSpring: ("a", 1.0),
        mg.forces.Bushing: ("p", "q"),
        mg.forces.Motor: ("a", 1.0),
        mg.forces.JointFriction: ("a", 1.0),
        mg.forces.SphereContact: ("p", 1.0, "q", "n", 1e3),
        mg.forces.WheelContact: ("p", "u", 1.0, "q", "n", 1e3),
        mg.forces.Tyre: ("p", "u", 1.0, "q", "n", 1e3),
        mg.forces.BodyContact: ("p", "q", 1.0, 1.0, 1e3),
        mg.forces.EllipseTyre: ("p", "u", 1.0, "q", "n", 1e3),
        mg.forces.MagicFormulaTyre: ("p", "u", 1.0, "q", "n", 1e3, 1e3),
    }[cls]
    return cls(name, *given)


PLAIN = (mg.Body, mg.Point, mg.Vector, mg.DesignVariable)
KINDS = dict.fromkeys((*PLAIN, *JOINT_TYPES.values(), *CONSTRAINT_TYPES.values(), *FORCE_TYPES.values()))


@pytest.mark.parametrize("cls", KINDS, ids=lambda cls: cls.__name__)
def test_no_name_commands_a_terminal(cls: type) -> None:
    for name in NAMES:
        with pytest.raises(ValueRangeError, match="has control characters") as caught:
            named(cls, name)
        assert str(caught.value).isprintable()
    for name in FINE:
        assert named(cls, name).name == name  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_nor_does_the_name_of_a_model(name: str) -> None:
    with pytest.raises(ValueRangeError, match=r"model name .* has control characters"):
        mg.Model(name)


def test_messages_are_stripped_wherever_the_text_came_from() -> None:
    hostile = "\x1b]0;title\x07\x1b[2J\u202e\x9b31mtext\nline\ttab"
    for kind in (mg.InputError, mg.ModelError, mg.AssemblyError, mg.errors.CertificateError):
        assert str(kind(hostile)) == "]0;title[2J31mtext\nline\ttab"
        assert str(pickle.loads(pickle.dumps(kind(hostile)))) == str(kind(hostile))
    assert not any(
        c not in "\n\t" and is_control(c) for c in str(unknown_name("x", hostile, [hostile, "b\x1b"], hostile))
    )
    assert printable("été 関節 👍") == "été 関節 👍"


def test_a_long_name_takes_no_time() -> None:
    """The nearest known name is looked for at a cost that grows with the square of lengths."""
    assert "unknown name" in str(unknown_name("name", "a" * 1_000_000, ["b" * 50, "aaa"]))
