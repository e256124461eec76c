"""Files with mistakes: a thousand broken models, problems and recipes end in sentences, each within a second."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.fuzzed_files import broken

import mechgrad as mg
from mechgrad.cli.design_file import read_design
from mechgrad.cli.problem_file import read_problem
from mechgrad.errors import is_control
from mechgrad.gallery import double_pendulum, five_bar
from mechgrad.io import ModelFileError, load_model, load_recipe, save_model
from mechgrad.model import JOINT_TYPES
from mechgrad.model.constraints import CONSTRAINT_TYPES
from mechgrad.model.forces import FORCE_TYPES
from mechgrad.model.primitives.measure_entries import measure_from

EVERY_KIND = (Path(__file__).parents[1] / "support" / "every_kind.toml").read_text(encoding="utf-8")
PROBLEM = """
model = "double_pendulum"
duration = 0.5
step = 0.01
samples = 11
t0 = 0.0
formulation = "semi-recursive"
scheme = "trapezoidal"
method = "adjoint"
wrt = ["upper.mass", "start.position.shoulder"]

[start]
at = { shoulder = 0.3, elbow = -0.2 }
rates = { shoulder = 1.0 }
guess = [0.3, -0.2]

[objectives.swing]
kind = "time"
t = 0.25
measure = "PointPosition"
of = ["tip"]
function = "(x[0] - 2.0) ** 2 + norm(x) * sin(t) / max(x[1], 0.5)"

[objectives.work]
function = "a * w"

[objectives.work.measures]
a = { measure = "JointCoordinate", of = ["elbow"] }
w = { measure = "JointVelocity", of = "elbow" }

[objectives.energy]
kind = "end"
measure = "KineticEnergy"
"""
DESIGN = """
model = "double_pendulum"
step = 0.01
scheme = "trapezoidal"

[start]
at = { shoulder = 0.3, elbow = -0.2 }

[scenarios.short]
duration = 0.5

[scenarios.long]
duration = 0.7
weight = 2.0
samples = 8

[variables]
"upper.mass" = [0.5, 3.0]
"start.position.shoulder" = { bounds = [0.1, 1.0], value = 0.4, scale = 0.2, scenarios = ["long"] }

[minimize.swing]
kind = "times"
t = [0.1, 0.2]
measure = "PointPosition"
of = ["tip"]
function = "dot(x, x) + x[0]"
factor = 2.0

[measured.elbow]
measure = "JointCoordinate"
of = ["elbow"]
t = [0.1, 0.3]
values = [0.1, 0.2]
sigma = 0.01
scenarios = ["short"]

[limits.fast]
kind = "smooth maximum"
error = 0.1
measure = "JointVelocity"
of = "elbow"
upper = 4.0
scenarios = ["short", "long"]

[linear.sum]
factors = { "upper.mass" = 1.0 }
lower = -3.0

[solve]
goal = "least squares"
solver = "slsqp"
tolerance = 1e-6
multistart = 4
seed = 3
log = "run.jsonl"
"""
RECIPE = """
version = 1
duration = 0.5
t0 = 0.25
step = 0.01
rtol = 1e-8
samples = 11
reference = "com"
tau = [0.1, -0.2]

[formulation]
kind = "semi-recursive"
tolerance = 1e-11
max_iterations = 30
reuse = false

[scheme]
kind = "newmark"
beta = 0.3
gamma = 0.55

[[loads]]
body = "lower"
force = [1.0, 0.0, 2.0]
point = "tip"
name = "push"

[model]
name = "two bars"
bodies = [{ name = "upper", mass = 1.0, inertia = [0.1, 0.1, 0.01] }, { name = "lower", mass = 1.0 }]

[[model.joints]]
kind = "revolute"
name = "shoulder"
parent = "ground"
child = "upper"
axis = [0, 1, 0]

[[model.joints]]
kind = "prismatic"
name = "slide"
parent = "upper"
child = "lower"
axis = [1, 0, 0]

[[model.points]]
name = "tip"
body = "lower"
position = [0.0, 0.0, -0.3]

[start]
"""
WAYS = {
    "given": RECIPE + "q = [0.3, 0.1]\nv = [0.0, 1.0]\n",
    "assembled": RECIPE
    + "way = 'assembled'\nq = [0.3, 0.1]\nv = [0.0, 1.0]\nt = 0.25\n"
    + "at = { shoulder = 0.3, reach = { measure = 'Distance', of = ['tip', 'ground.origin'], name = 'reach', "
    + "value = 0.31622776601683794 } }\nrates = { slide = 1.0 }\n",
    "found": RECIPE + "at = { shoulder = 0.3 }\nrates = { shoulder = 0.5 }\nguess = [0.2, 0.1]\n",
    "at rest": RECIPE
    + "way = 'at rest'\nq = [0.3, 0.1]\nat = { shoulder = 0.3, slide = 0.1 }\ntau = [0.0, 1.0]\n"
    + "loads = [{ body = 'upper', torque = [0.0, 2.0, 0.0], axes = 'body' }]\n",
}
SECONDS = 1.0


def seeds(folder: Path) -> dict[str, str]:
    found = {"every kind": EVERY_KIND, "problem": PROBLEM, "design": DESIGN} | {
        f"recipe, {way}": text for way, text in WAYS.items()
    }
    for model in (double_pendulum(), five_bar()):
        save_model(model, folder / "seed.toml")
        found[model.name] = (folder / "seed.toml").read_text(encoding="utf-8")
    return found


def read(path: Path, name: str) -> None:
    if name == "problem":
        read_problem(path)
    elif name == "design":
        read_design(path)
    elif name.startswith("recipe"):
        load_recipe(path)
    else:
        load_model(path).describe()


def judged(folder: Path, first: int, count: int) -> Counter[str]:
    """How many files were accepted and refused; raises at the first that ends otherwise."""
    texts, outcome = seeds(folder), Counter[str]()
    names, path = list(texts), folder / "broken.toml"
    for seed in range(first, first + count):
        name = names[seed % len(names)]
        path.write_bytes(broken(texts[name], seed))
        start = time.process_time()
        try:
            with np.errstate(all="ignore"):  # numbers of 1e308 overflow on their way to being refused
                read(path, name)
            outcome["accepted"] += 1
        except mg.MechgradError as error:
            commands = [c for c in str(error) if is_control(c) and c not in "\n\t"]
            outcome["commands to the terminal" if commands else "refused"] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed} of {name}: {type(error).__name__}: {error}") from error
        assert time.process_time() - start < SECONDS, f"seed {seed} of {name}"
    assert not outcome["commands to the terminal"]
    return outcome


def test_the_seeds_have_every_kind_and_are_fine(tmp_path: Path) -> None:
    (tmp_path / "every.toml").write_text(EVERY_KIND, encoding="utf-8")
    model = load_model(tmp_path / "every.toml")
    assert {type(joint) for joint in model.joints} == set(JOINT_TYPES.values())
    assert {type(constraint) for constraint in model.constraints} == set(CONSTRAINT_TYPES.values())
    assert {type(force) for force in model.forces} == set(FORCE_TYPES.values())
    for name, text in seeds(tmp_path).items():
        (tmp_path / "seed.toml").write_text(text, encoding="utf-8")
        read(tmp_path / "seed.toml", name)


def test_a_thousand_broken_files_end_in_sentences(tmp_path: Path) -> None:
    outcome = judged(tmp_path, 0, 1000)
    assert outcome["accepted"] > 20, "mistakes so coarse that nothing but the first check is tried"
    assert outcome["refused"] > 700, "nothing is broken"


@pytest.mark.slow
def test_twenty_thousand_broken_files_end_in_sentences(tmp_path: Path) -> None:
    outcome = judged(tmp_path, 1_000_000, 20_000)
    assert sum(outcome.values()) == 20_000


# ----------------------------------------------------------------------------------------------- met in the wild
HEAD = '[model]\nname = "m"\n'
BODY = '[[bodies]]\nname = "b"\n'
JOINT = '[[joints]]\nkind = "revolute"\nname = "j"\nparent = "ground"\nchild = "b"\n'
POINT = '[[points]]\nname = "p"\nbody = "b"\n'
MOTOR = '[[forces]]\nkind = "motor"\nname = "f"\ncoordinate = "j"\n'
SUM = '[[constraints]]\nkind = "linear_combination"\nname = "c"\n'
WHOLE = HEAD + BODY + JOINT + POINT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "cut = 3.0\n" + BODY + JOINT, "cut has 3.0; give a list of names of joints"),
        (HEAD + "cut = [[]]\n" + BODY + JOINT, r"cut has \[\]; give a list of names of joints"),
        (WHOLE.replace('body = "b"', 'body = ["b"]'), r"point 'p': body must be the name of a body, got \['b'\]"),
        (
            WHOLE + MOTOR + 'torque = { type = "spline", times = [0, 1, 2], values = [1, 2, 3], ends = ["natural"] }',
            r"unknown ends \['natural'\]. Did you mean 'natural'",
        ),
        (WHOLE + MOTOR + 'torque = { type = ["spline"] }', r"unknown function type \['spline'\]"),
        (HEAD + "gravity = [" + "9" * 5000 + ", 0, 0]", "not valid TOML: Exceeds the limit"),
        (
            WHOLE.replace('child = "b"', 'child = "b"\norigin = [0x' + "f" * 5000 + ", 0, 0]"),
            r"joints\[0\]\.origin\[0\]: an integer of 20000 bits",
        ),
        (HEAD + "gravity = " + "[" * 2000 + "]" * 2000, "nested too deeply"),
        (HEAD + "gravity = " + "[" * 200 + "]" * 200, "nested too deeply"),
        (HEAD + "gravity = " + "{a = " * 2000 + "1" + "}" * 2000, "nested too deeply"),
        ("a." * 20000 + "a = 1\n", "a name of more than 32 parts between dots in line 1"),
        ("[model]\n[" + '"a" . ' * 20000 + "a]\n", "a name of more than 32 parts between dots in line 2"),
        (WHOLE + SUM + "coordinates = 3.0\nfactors = [1.0]", "give coordinates as a mapping"),
        (WHOLE + SUM + "coordinates = [[]]\nfactors = [1.0]", "give coordinates as a mapping"),
        (WHOLE + '[[variables]]\nname = "v"\nvalue = 1.0\ntargets = [3.0]', "target 3.0 must be a path"),
        (HEAD.replace('"m"', r'"m\u001b[2J"'), r"model.name: a text with the control character '\\x1b'"),
        (HEAD.replace('"m"', r'"m\nm"'), r"model name 'm\\nm' has control characters"),
        (WHOLE.replace('name = "p"', r'name = "p\u202e"'), r"control character '\\u202e'"),
        (WHOLE.replace('name = "p"', r'name = "p\tp"'), r"point name 'p\\tp' has control characters"),
        (HEAD + r'"\u0007" = 1', r"the key '\\x07' has a control character"),
    ],
    ids=lambda text: ascii(text[-40:]),
)  # fmt: skip
def test_files_that_once_ended_in_tracebacks(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "m.toml"
    path.write_text(text, encoding="utf-8")
    start = time.process_time()
    with pytest.raises(mg.ModelError, match=message) as caught:
        load_model(path)
    assert time.process_time() - start < SECONDS
    assert str(path) in str(caught.value)


def test_names_of_measures_in_lists_are_told() -> None:
    """A list is a direction; where a name is wanted it is told, and not handed on to be hashed."""
    with pytest.raises(mg.ModelError, match=r"spring: point_a of Distance is \[1, 2, 3\]; give the name of a point"):
        measure_from({"measure": "Distance", "of": [[1, 2, 3], "P"]}, "spring")
    offset = measure_from({"measure": "Offset", "of": ["P", "Q", [0.0, 0.0, 2.0]]}, "spring")
    assert offset.direction == (0.0, 0.0, 1.0)
    assert hash(offset) == hash(mg.measures.Offset("P", "Q", (0, 0, 1)))


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_bytes(b"\xef\xbb\xbf" + WHOLE.encode())
    assert load_model(tmp_path / "m.toml").name == "m"


def test_long_lists_and_long_words_are_read(tmp_path: Path) -> None:
    """The bound on keys looks at text before it is parsed; numbers, sentences and paths must pass it."""
    numbers = ", ".join(f"{k}.5" for k in range(5000))
    text = WHOLE + MOTOR + f'torque = {{ type = "table", times = [{numbers}], values = [{numbers}] }}\n# {"end. " * 30}'
    (tmp_path / "m.toml").write_text(text, encoding="utf-8")
    assert len(load_model(tmp_path / "m.toml").forces) == 1
    (tmp_path / "long.toml").write_text(WHOLE.replace('"p"', '"' + "p" * 100_000 + '"'), encoding="utf-8")
    start = time.process_time()
    assert len(load_model(tmp_path / "long.toml").points[0].name) == 100_000
    assert time.process_time() - start < SECONDS


def test_unreadable_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path / "a\0b")
