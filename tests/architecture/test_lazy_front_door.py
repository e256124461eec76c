"""`import mechgrad` brings nothing heavy; whatever is asked for first finds all that it needs."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mechgrad

HEAVY = ("numba", "llvmlite", "scipy", "numpy", "matplotlib", "rich", "typer")

LATER = """
import importlib, json, pkgutil
from mechgrad.dynamics import formulations
from mechgrad.model.primitives.measure_entries import known_measures
from mechgrad.steps import methods, schemes

def known():
    steps = [type(method).__name__ for method in methods._here()]
    tables = formulations.known_formulations(), schemes.known_schemes(), known_measures()
    return [sorted(table) for table in tables] + [sorted(steps)]

first = known()
for module in pkgutil.walk_packages(mg.__path__, "mechgrad."):
    if ".kernels" not in module.name and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(json.dumps([first, known()]))
"""


def in_new_process(code: str) -> Any:
    """What a new interpreter prints, read as JSON."""
    environment = {"PYTHONPATH": str(Path(mechgrad.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    )
    return json.loads(done.stdout)


def test_nothing_heavy_is_imported() -> None:
    code = "import json, sys, mechgrad; mechgrad.__version__, dir(mechgrad)\nprint(json.dumps(sorted(sys.modules)))"
    brought = {name.split(".")[0] for name in in_new_process(code)}
    assert not brought & set(HEAVY)


def test_type_checkers_see_the_same_homes() -> None:
    tree = ast.parse(Path(mechgrad.__file__).read_text())
    (block,) = (x for x in tree.body if isinstance(x, ast.If) and ast.unparse(x.test) == "TYPE_CHECKING")
    imports = [x for x in block.body if isinstance(x, ast.ImportFrom)]
    homes = {name.name: x.module for x in imports if x.module != "mechgrad" for name in x.names}
    spaces = {name.name for x in imports if x.module == "mechgrad" for name in x.names}
    assert homes == mechgrad._HOMES
    assert set(homes) == set(mechgrad.__all__)
    # "import x as x" is how a module without __all__ says that a name is public
    assert all(name.asname == name.name for x in imports for name in x.names)
    assert spaces == set(mechgrad._NAMESPACES)


@pytest.mark.parametrize("first", ["mg.simulate", "mg.load_model", "mg.gradient"])
def test_whatever_comes_first_finds_all_that_enters_itself(first: str) -> None:
    """Formulations, schemes, measures and kinds of steps, known by name."""
    early, late = in_new_process(f"import mechgrad as mg\n{first}\n{LATER}")
    assert early == late


def test_parts_of_the_package_are_reached_as_attributes() -> None:
    code = "import json, mechgrad as mg\nprint(json.dumps([mg.io.load_recipe.__name__, mg.steps.__name__]))"
    assert in_new_process(code) == ["load_recipe", "mechgrad.steps"]


def test_help_is_one_page_in_the_order_of_questions() -> None:
    """What help(mg) prints: the page, what the package contains, the file; no class from head to foot."""
    code = "import json, pydoc, mechgrad\nprint(json.dumps(pydoc.plain(pydoc.render_doc(mechgrad))))"
    page = in_new_process(code)
    asked = [line.strip() for line in (mechgrad.__doc__ or "").splitlines()]
    questions = [line for line in asked if re.match(r"(What|Where|How|Is) .*\?", line)]
    assert len(questions) == 10
    places = [page.index(line) for line in [*questions, "PACKAGE CONTENTS", "FILE"]]
    assert places == sorted(places)
    sections = re.findall(r"^[A-Z][A-Z ]+$", page, re.M)
    assert sections == ["NAME", "DESCRIPTION", "PACKAGE CONTENTS", "VERSION", "FILE"]
    assert len(page.splitlines()) < 100


def test_a_star_import_brings_the_front_door() -> None:
    code = (
        "import json\nfrom mechgrad import *\nbrought = sorted(name for name in globals() if name[0] != '_')\n"
        "print(json.dumps([brought, Model.__module__]))"
    )
    brought, home = in_new_process(code)
    assert brought == sorted([*mechgrad.__all__, "json"])
    assert home == "mechgrad.model.model"
