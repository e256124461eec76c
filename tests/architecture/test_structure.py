"""The shape of the house: layers, sizes of files, one sentence at every door."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
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


# ---- who imports whom


@cache
def import_graph(package: Path, for_types: bool = False) -> dict[Path, set[Path]]:
    """Files and the files that they import, anywhere in their code; imports for type checkers alone count on demand."""
    files = {}
    for path in sorted(package.rglob("*.py")):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        files[".".join(parts[:-1] if path.stem == "__init__" else parts)] = path
    return {path: {files[name] for name in imports(path, files, for_types)} - {path} for path in files.values()}


def imports(path: Path, known: dict[str, Path], for_types: bool) -> set[str]:
    """Modules that a file imports, of those that are known."""
    found, left = set(), list(ast.parse(path.read_text()).body)
    while left:
        node: ast.AST = left.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING") and not for_types:
            left += node.orelse
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {x if x in known else str(node.module) for x in inside}
        left += ast.iter_child_nodes(node)  # type: ignore[arg-type]
    return found & set(known)


def cycle(graph: dict[Path, set[Path]]) -> list[str]:
    """Files that import each other in a circle, if there are any."""
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return [path.as_posix() for path in error.args[1]]
    return []


def tangles(graph: dict[Path, set[Path]]) -> list[list[Path]]:
    """Files of one folder that reach each other by imports, in groups; `__init__.py` collects and does not count."""
    files = {a: {b for b in targets if b.stem != "__init__"} for a, targets in graph.items() if a.stem != "__init__"}
    reached = {}
    for start in files:
        seen, left = set(), [start]
        while left:
            left += (new := files[left.pop()] - seen)
            seen |= new
        reached[start] = seen
    groups = {
        frozenset(b for b in reached[a] if a in reached[b] and a.parent == b.parent) for a in files if a in reached[a]
    }
    return sorted((sorted(group) for group in groups if len(group) > 1), key=str)


def two_way_pairs(package: Path) -> dict[str, list[str]]:
    """Folders that import from a subfolder which imports from them, be it for type checkers alone, and these imports.

    The root is left out: what it holds are the lowest layers (errors, types) and the front door, and the contract of
    import-linter says which is which. An `__init__.py` below the root that collects its subfolders does not count
    either: it is what the folder shows to others, and nothing in the folder may import it (the test of front doors
    below).
    """
    found = {}
    edges = [(a, b) for a, targets in import_graph(package, True).items() for b in targets if a.stem != "__init__"]
    for child in sorted({path.parent for path in package.rglob("*.py")} - {package}):
        parent = child.parent
        if parent == package:
            continue
        down = [(a, b) for a, b in edges if a.parent == parent and child in b.parents]
        up = [(a, b) for a, b in edges if child in a.parents and b.parent == parent]
        if down and up:
            name = child.relative_to(package).as_posix()
            found[name] = [f"{a.relative_to(package)} -> {b.relative_to(package)}" for a, b in (*down, *up)]
    return found


def test_no_files_import_each_other() -> None:
    """Function-level imports count: hiding a circle does not cut it."""
    assert cycle(import_graph(PACKAGE)) == []


def test_no_files_of_a_folder_need_each_other_even_for_types() -> None:
    """A reader of one of them has to read them all. What both sides need is a file of its own, or a protocol."""
    found = tangles(import_graph(PACKAGE, True))
    assert [[relative(path) for path in group] for group in found] == []


def test_a_folder_and_its_subfolder_import_in_one_direction() -> None:
    assert two_way_pairs(PACKAGE) == {}


def test_no_file_imports_the_front_door_of_a_folder_above_it() -> None:
    """An `__init__.py` collects what is below: whoever is below and imports it closes a circle.

    Of the root's only `cli` does, the layer above everything.
    """
    graph = import_graph(PACKAGE)
    wrong = [
        f"{relative(a)} -> {relative(b)}"
        for a, targets in graph.items()
        for b in targets
        if b.stem == "__init__" and b.parent in a.parents and graph[b] and a.parent != PACKAGE / "cli"
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("files", "circle", "pairs"),
    [
        ({"a/x": "import house.a.c.y", "a/c/y": "import house.a.z", "a/z": ""}, False, ["a/c"]),
        ({"a/x": "import house.a.c.y", "a/c/y": "import house.a.d.z", "a/d/z": ""}, False, []),
        ({"a/x": "import house.a.c.y", "a/c/y": "def f():\n    from house.a import x"}, True, ["a/c"]),
        ({"a/x": "import house.a.c.y", "a/c/y": "if TYPE_CHECKING:\n    from house.a import x"}, False, ["a/c"]),
        ({"a/__init__": "from house.a.c import y", "a/c/y": "from house.a.z import n", "a/z": "n = 1"}, False, []),
    ],
)
def test_circles_and_two_way_pairs_are_seen(
    files: dict[str, str], circle: bool, pairs: list[str], tmp_path: Path
) -> None:
    for name, text in {"__init__": "", "a/__init__": "", "a/c/__init__": "", "a/d/__init__": "", **files}.items():
        path = tmp_path / "house" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert (cycle(import_graph(tmp_path / "house")) != []) == circle
    assert list(two_way_pairs(tmp_path / "house")) == pairs


def test_tangles_are_seen(tmp_path: Path) -> None:
    house = tmp_path / "house"
    files = {
        "__init__": "",
        "a/__init__": "from house.a import x",
        "a/x": "if TYPE_CHECKING:\n    from house.a import y",
    }
    files |= {"a/x": "if TYPE_CHECKING:\n    from house.a import y"}
    files |= {"a/y": "from house.a import z", "a/z": "def f():\n    from house.a import x"}
    for name, text in files.items():
        path = house / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert tangles(import_graph(house)) == []
    assert tangles(import_graph(house, True)) == [[house / "a" / f"{name}.py" for name in "xyz"]]


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
    ("kernels/sloped.py", "_getvalue"),
    ("kernels/compiler.py", "_pass_builder"),  # Numba's pipelines and libraries of code, `kernels.compiler` says why
    ("kernels/compiler.py", "_reload_init"),
    ("kernels/compiler.py", "_final_module"),
    ("kernels/compiler.py", "_tm"),
    ("kernels/compiler.py", "_data_layout"),
    ("kernels/disk/cache.py", "_shared_module"),  # of a library that must not be linked
    ("kernels/disk/packs.py", "_reduce"),  # what Numba keeps of a compiled function
    ("kernels/disk/packs.py", "_final_module"),
    ("kernels/disk/cache.py", "_cache"),  # a dispatcher's cache, replaced by one with locks
    ("kernels/disk/cache.py", "_index_name"),  # of Numba's index of cached overloads
    ("kernels/disk/cache.py", "_source_stamp"),
    ("sensitivities/duals/array_functions.py", "_NoValue"),  # NumPy's mark of an argument that was not given
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
