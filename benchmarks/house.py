"""How the house is built, measured: sizes, long functions, kernels with many arguments, tests of types, costs to add.

    python benchmarks/house.py [--quick] [--list]

Reads the sources and runs none of them. "Costs to add" counts the files of the package that name one representative of
each kind (its own file, registries, lists, special cases; docs, tests, gallery and the namespaces of the front door are
left out): what somebody has to touch who adds another one. --list names every function, kernel and test that is
counted. The last line is one JSON object. `tests/architecture/test_house.py` keeps the counts from rising.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONG_FUNCTION = 60
MANY_ARGUMENTS = 12
COMPILED = frozenset({"kernel", "entry", "inner", "inlined", "spliced", "allocating", "wrapper"})
# Whoever asks which of these it has cannot take another one: formulations, schemes, motions, ways to start.
FAMILIES = ("Formulation", "Scheme", "Motion", "Start", "State", "Equilibrium", "Case")
# One of each kind, chosen because it has no name that means something else.
REPRESENTATIVES = {
    "joint": "Cylindrical",
    "constraint": "PointOnLine",
    "force": "TorsionSpring",
    "measure": "PotentialEnergy",
    "objective": "Tracking",
    "scheme of the Newmark family": "HHT",
    "explicit scheme": "RungeKutta",
    "formulation, numbers only": "Penalty",
    "formulation with a step of its own": "MatrixR",
}
COLLECTED = ("methods.py",)  # steps/methods.py finds steps/*/methods.py by their name
OUTSIDE = ("gallery", "cli", "__init__.py")  # users of the house, and the front door


@dataclass(frozen=True, slots=True)
class Found:
    """Something that is counted: where, what, how much."""

    where: str
    what: str
    size: int = 0

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f" ({self.size})" if self.size else "")


def _parallel(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether two folders are one, or differ in one name."""
    return (len(a) == len(b) > 1 and sum(x != y for x, y in zip(a, b, strict=True)) <= 1) or a == b


def _collects(name: str, a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether one folder holds the other, and the file is a list of what the same file in every subfolder states."""
    short, long = sorted((a, b), key=len)
    return name in COLLECTED and long[:-1] == short


class House:
    """The package below `root`, parsed once."""

    def __init__(self, root: Path = ROOT) -> None:
        self.package = root / "src" / "mechgrad"
        self.texts = {path: path.read_text(encoding="utf-8") for path in sorted(self.package.rglob("*.py"))}
        self.trees = {path: ast.parse(text) for path, text in self.texts.items()}

    def short(self, path: Path) -> str:
        """A path below the package."""
        return path.relative_to(self.package).as_posix()

    @cached_property
    def naming(self) -> dict[Path, set[str]]:
        """Identifiers, attributes and imports of every file."""
        found = {}
        for path, tree in self.trees.items():
            names = {_name(node) for node in ast.walk(tree)} - {""}
            imports = (node.names for node in ast.walk(tree) if isinstance(node, ast.ImportFrom | ast.Import))
            found[path] = names | {alias.name for aliases in imports for alias in aliases}
        return found

    @cached_property
    def lengths(self) -> dict[str, int]:
        """Lines of every file."""
        return {self.short(path): len(text.splitlines()) for path, text in self.texts.items()}

    def functions(self) -> Iterator[tuple[Path, ast.FunctionDef]]:
        """All functions and methods."""
        for path, tree in self.trees.items():
            yield from ((path, node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))

    def long_functions(self) -> list[Found]:
        """Functions over 60 lines, signature and docstring included."""
        sizes = ((path, node, (node.end_lineno or 0) - node.lineno + 1) for path, node in self.functions())
        return [Found(self.short(path), node.name, size) for path, node, size in sizes if size > LONG_FUNCTION]

    def wide_kernels(self) -> list[Found]:
        """Compiled functions with more than 12 arguments."""
        found = []
        for path, node in self.functions():
            given = node.args
            count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
            if count > MANY_ARGUMENTS and any(_name(x) in COMPILED for x in node.decorator_list):
                found.append(Found(self.short(path), node.name, count))
        return found

    @cached_property
    def families(self) -> dict[str, Path]:
        """Formulations, schemes, motions and starts by name, with the folder that each lives in."""
        classes = [
            (path.parent, node)
            for path, tree in self.trees.items()
            for node in tree.body
            if isinstance(node, ast.ClassDef)
        ]
        found = {node.name: folder for folder, node in classes if node.name in FAMILIES}
        while True:
            new = {
                node.name: folder
                for folder, node in classes
                if node.name not in found and any(_name(base) in found for base in node.bases)
            }
            if not new:
                return found
            found |= new

    def type_tests(self) -> list[Found]:
        """`isinstance`, `type(x) is` and `case` on a family, outside of the folder that the class lives in."""
        found = []
        for path, tree in self.trees.items():
            for node in ast.walk(tree):
                asked = {_name(part) for x in _tested(node) for part in ast.walk(x)} & set(self.families)
                away = sorted(name for name in asked if self.families[name] not in path.parents)
                if away:
                    found.append(Found(f"{self.short(path)}:{getattr(node, 'lineno', 0)}", ", ".join(away)))
        return found

    def names_at_the_top(self) -> int:
        """Length of the list of names of the package."""
        for node in self.trees[self.package / "__init__.py"].body:
            if isinstance(node, ast.Assign) and any(_name(x) == "_NAMES" for x in node.targets):
                return len(ast.literal_eval(node.value))
        raise ValueError("the package has no list _NAMES")

    def repeated_file_names(self) -> dict[str, int]:
        """How many files share a name without being siblings of one concept, for names that occur twice or more.

        Siblings are files of parallel folders (steps/newmark/tangent.py, steps/matrix_r/tangent.py), and a file beside
        its kernels, and a list beside what it collects (`COLLECTED`); namespaces of the front door hold no code.
        """
        files = [path.relative_to(self.package) for path in self.texts if path.name != "__init__.py"]
        names: dict[str, list[tuple[str, ...]]] = {}
        for path in files:
            if len(path.parts) > 1:
                names.setdefault(path.name, []).append(tuple(x for x in path.parts[:-1] if x != "kernels"))
        alone = {
            name: [k for k, x in enumerate(at) if not any(_parallel(x, y) or _collects(name, x, y) for y in at[:k])]
            for name, at in names.items()
        }
        return {name: len(groups) for name, groups in sorted(alone.items()) if len(groups) > 1}

    def cost_to_add(self, kind: str) -> list[str]:
        """Files that name the representative of a kind: its own first."""
        name = REPRESENTATIVES[kind]
        naming, own = [], None
        for path, tree in self.trees.items():
            relative = path.relative_to(self.package)
            if relative.parts[0] in OUTSIDE or len(relative.parts) == 1:
                continue
            if any(isinstance(node, ast.ClassDef) and node.name == name for node in tree.body):
                own = self.short(path)
            elif relative.name != "__init__.py" and name in self.naming[path]:
                naming.append(self.short(path))
        if own is None:
            raise ValueError(f"no class {name!r}: choose another representative of {kind!r} in REPRESENTATIVES")
        return [own, *naming]

    def folders(self, kind: str) -> list[str]:
        """Folders with files that name the representative of a kind or are called after it (`matrix_r_tangent.py`)."""
        called = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", REPRESENTATIVES[kind]).lower()
        files = [*self.cost_to_add(kind), *(x for x in self.lengths if called in x and x.split("/")[0] not in OUTSIDE)]
        return sorted({x.rpartition("/")[0] for x in files})

    def registries(self, kind: str) -> list[str]:
        """`__init__` files below the front door that list the representative of a kind."""
        name = REPRESENTATIVES[kind]
        inits = [path for path in self.trees if path.name == "__init__.py" and path.parent != self.package]
        return [self.short(path) for path in inits if name in self.texts[path] and path.parent.name not in OUTSIDE]


def _name(node: ast.AST) -> str:
    """The last part of a dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _tested(node: ast.AST) -> list[ast.expr]:
    """The classes that an expression or a pattern asks for."""
    if isinstance(node, ast.Call) and _name(node.func) in ("isinstance", "issubclass") and len(node.args) == 2:
        return [node.args[1]]
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and _name(node.left.func) == "type":
        return list(node.comparators)
    return [node.cls] if isinstance(node, ast.MatchClass) else []


def figures(house: House) -> dict[str, int | float | str]:
    """Everything that is counted."""
    lengths = sorted(house.lengths.values())
    biggest = max(house.lengths, key=house.lengths.__getitem__)
    found: dict[str, int | float | str] = {
        "files": len(lengths),
        "lines": sum(lengths),
        "median_file": int(statistics.median(lengths)),
        "p90_file": int(statistics.quantiles(lengths, n=10)[-1]),
        "biggest_file": lengths[-1],
        "biggest_file_name": biggest,
        "functions": sum(1 for _ in house.functions()),
        "long_functions": len(house.long_functions()),
        "wide_kernels": len(house.wide_kernels()),
        "type_tests": len(house.type_tests()),
        "names_at_the_top": house.names_at_the_top(),
        "repeated_file_names": len(house.repeated_file_names()),
    }
    for kind in REPRESENTATIVES:
        key = kind.replace(",", "").replace(" ", "_")
        files = house.cost_to_add(kind)
        found[f"add_{key}_files"] = len(files)
        found[f"add_{key}_folders"] = len(house.folders(kind))
        found[f"add_{key}_lines"] = house.lengths[files[0]]
        found[f"add_{key}_registries"] = len(house.registries(kind))
        found[f"add_{key}_representative"] = REPRESENTATIVES[kind]
        found[f"add_{key}_where"] = ", ".join(files)
    return found


def main() -> None:
    """The table of the review."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="the same: it takes a few seconds anyway")
    parser.add_argument("--list", action="store_true", help="name everything that is counted")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout")
    asked = parser.parse_args()
    house = House(asked.root)
    found = figures(house)
    for key, value in found.items():
        print(f"{key.replace('_', ' '):52} {value}")
    if asked.list:
        for title, items in (
            (f"functions over {LONG_FUNCTION} lines", house.long_functions()),
            (f"kernels with more than {MANY_ARGUMENTS} arguments", house.wide_kernels()),
            ("tests of types outside of their folder", house.type_tests()),
        ):
            print(f"\n{title}: {len(items)}")
            print("\n".join(f"  {x}" for x in sorted(items, key=lambda x: (-x.size, x.where))))
        print(f"\nfile names that repeat: {house.repeated_file_names()}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
