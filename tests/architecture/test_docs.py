"""The documents: every Python snippet runs, in order, page by page."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def snippets(page: Path) -> list[str]:
    """The Python blocks, padded with blank lines so that a traceback names the line of the page."""
    text = page.read_text()
    return [
        "\n" * text[: match.start(1)].count("\n") + match.group(1)
        for match in re.finditer(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    # what a page registers is not to be found by other tests
    solvers = importlib.import_module("mechgrad.optimization.solvers.solve")
    monkeypatch.setattr(solvers, "_ADAPTERS", dict(solvers._ADAPTERS))
    namespace: dict[str, object] = {}
    for code in snippets(page):
        exec(compile(code, str(page), "exec"), namespace)


def test_there_is_something_to_run() -> None:
    assert {"model.md", "parameters.md"} <= {page.name for page in PAGES}
    assert all(snippets(page) for page in PAGES if page.name in ("model.md", "parameters.md"))


def test_the_index_leads_to_every_page() -> None:
    targets = re.findall(r"\]\(([^)#\s]+\.md)\)", (ROOT / "docs" / "index.md").read_text())
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert pages - set(targets) == set()
    assert "docs/index.md" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "index.md"], ids=lambda page: page.name)
def test_newcomers_meet_a_pendulum_first(page: Path) -> None:
    assert "pendulum" in snippets(page)[0]


@pytest.mark.parametrize("page", sorted({*PAGES, *ROOT.glob("*.md")}), ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)\)", page.read_text())
    local = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "NOTATION.md"])
def test_files_and_folders_that_are_named_are_there(page: str) -> None:
    """`steps/base.py` names a file by the end of its path, `measures/` a folder."""
    folders = [ROOT / name for name in ("src", "tests", "benchmarks", "docs", "examples", "tools")]
    there = [f"/{path.relative_to(ROOT).as_posix()}" for folder in folders for path in (folder, *folder.rglob("*"))]
    named = re.findall(r"`([\w/]+\.py|(?:\w+/)+)`", (ROOT / page).read_text())
    assert named or page == "NOTATION.md"
    assert [name for name in named if not any(path.endswith(f"/{name.rstrip('/')}") for path in there)] == []
