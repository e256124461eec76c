"""The shape of the house: layers, sizes of files, one sentence at every door."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "mechgrad"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 450


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_folders_import_only_downwards() -> None:
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == 0


def test_every_folder_has_its_layer() -> None:
    """A folder that the contract does not list could import anything."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    listed = {name.strip() for layer in layers for name in layer.split("|")}
    modules = {path.stem for path in PACKAGE.glob("*.py") if path.stem not in ("__init__", "__main__")}
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {f"mechgrad.{name}" for name in modules | folders} == listed


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks"])
def test_files_can_be_read_in_one_sitting(folder: str) -> None:
    lengths = {relative(path): len(path.read_text().splitlines()) for path in (ROOT / folder).rglob("*.py")}
    assert {name: n for name, n in lengths.items() if n > MAX_LINES} == {}


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_every_module_says_what_it_is(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring, f"{relative(path)} has no docstring"


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name == "__init__.py" and p.parent != PACKAGE], ids=relative)
def test_every_folder_introduces_itself_in_one_sentence(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    assert docstring.endswith(".")
    assert "\n\n" not in docstring


# ---- private attributes

OWN = ("self", "cls")
NAMED_TUPLES = {"_replace", "_fields", "_asdict"}  # public in spite of their names: `collections.namedtuple`
FOREIGN = {  # of other libraries, which offer nothing else
    ("kernels/lanes.py", "_getvalue"),  # Numba's builder of structures
    ("kernels/disk/cache.py", "_cache"),  # a dispatcher's cache, replaced by one with locks
    ("kernels/disk/cache.py", "_index_name"),  # of Numba's index of cached overloads
    ("kernels/disk/cache.py", "_source_stamp"),
    ("sensitivities/duals/functions.py", "_NoValue"),  # NumPy's mark of an argument that was not given
}


def private_reads(path: Path) -> set[str]:
    """Names with a leading underscore that a file takes from other objects."""
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in OWN)
    }


@cache
def defined(folder: Path) -> set[str]:
    """Names that the files of a folder define: functions, fields, slots, and attributes of self."""
    found: set[str] = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if isinstance(node.value, ast.Name) and node.value.id in OWN:
                    found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # __slots__
                found.add(node.value)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_no_private_attribute_of_another_folder_is_read(path: Path) -> None:
    """What another folder needs has a public name."""
    where = path.relative_to(PACKAGE).as_posix()
    foreign = {name for file, name in FOREIGN if file == where}
    assert private_reads(path) - NAMED_TUPLES - foreign - defined(path.parent) == set()


def test_what_is_taken_of_other_libraries_is_taken_still() -> None:
    for file, name in FOREIGN:
        assert name in private_reads(PACKAGE / file), f"{file} reads {name} no more: take it off the list"
