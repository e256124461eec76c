"""Every example runs, checks its own answer and leaves its pictures."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("[0-9]*.py"))
PICTURES = {
    "01_human_sensitivities": ["human_errors.png", "human_sensitivities.png", "human_torques.png"],
    "02_closed_chain": ["closed_chain.png"],
    "04_codesign": ["codesign.png"],
    "03_two_link_motions": ["two_link_motions.png"],
}


def load(path: Path):
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    results = load(path).main(tmp_path, samples=31)
    assert results
    assert sorted(p.name for p in tmp_path.iterdir()) == PICTURES[path.stem]
    assert all(p.stat().st_size > 10_000 for p in tmp_path.iterdir())


def test_all_examples_are_listed() -> None:
    assert [p.stem for p in EXAMPLES] == sorted(PICTURES)
