"""The shape of the house: layers, sizes of files, one sentence at every door."""

from __future__ import annotations

import ast
import tomllib
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
