"""Figures in the documents are those that the benchmarks found; none is typed by hand."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import given_figures  # noqa: E402
import write_numbers  # noqa: E402


def kept(folder: Path, quick: bool = False, **figures: object) -> write_numbers.Results:
    machine = {"cpu": "abacus", "cores": 1, "python": "3.11", "numpy": "2.0"}
    run = {"quick": quick, "date": "2026-01-02", "commit": "abc", "machine": machine, "figures": figures}
    (folder / "motion.json").write_text(json.dumps(run))
    return write_numbers.Results(folder)


@pytest.mark.parametrize("page", write_numbers.pages(), ids=lambda page: page.name)
def test_every_figure_is_the_one_that_was_measured(page: Path) -> None:
    """If this fails: `make numbers`, or python benchmarks/write_numbers.py --from-results."""
    assert write_numbers.complaints(page.read_text(), write_numbers.Results()) == []


def test_there_are_figures_in_the_readme_and_results_say_where_they_come_from() -> None:
    assert len(write_numbers.markers((ROOT / "README.md").read_text())) >= 3
    for path in write_numbers.RESULTS.glob("*.json"):
        run = json.loads(path.read_text())
        assert {"benchmark", "command", "quick", "date", "commit", "machine", "figures"} <= set(run), path.name
        assert path.stem in write_numbers.BENCHMARKS
        assert run["quick"] == ("--quick" in run["command"])


def test_every_benchmark_that_is_run_exists() -> None:
    assert all((ROOT / "benchmarks" / f"{name}.py").exists() for name in write_numbers.BENCHMARKS)
    assert set(write_numbers.FULL_ONLY) <= set(write_numbers.BENCHMARKS)


def test_figures_are_written_and_then_in_order(tmp_path: Path) -> None:
    results = kept(tmp_path, us=3.14159, count=7, error=3.6e-5, share=0.256, word="ends")
    page = (
        "takes <!-- number: motion.us -->9<!-- /number --> µs\n\n<!-- numbers\n| {motion.us*1e3:.1f} | "
        "{motion.error:e} | {motion.share:%} | {motion.count} | {motion.word} | {motion.none?} |\n"
        "-->\n-\n<!-- /numbers -->\n"
    )
    assert len(write_numbers.complaints(page, results)) == 2
    text, missing = write_numbers.rewritten(page, results)
    assert ">3.14<" in text
    assert "\n| 3141.6 | 3.6e-5 | 26 % | 7 | ends | - |\n" in text
    assert missing == []
    assert write_numbers.complaints(text, results) == []
    assert write_numbers.rewritten(text, results)[0] == text


def test_markers_within_code_are_text(tmp_path: Path) -> None:
    code = "```\n<!-- number: motion.us -->..<!-- /number -->\n<!-- numbers\n```\n"
    page = f"{code}<!-- number: motion.us -->9<!-- /number -->\n{code}"
    text, _ = write_numbers.rewritten(page, kept(tmp_path, us=1.0))
    assert text == page.replace(">9<", ">1<")


def test_provenance_tells_quick_from_full(tmp_path: Path) -> None:
    for quick, words in ((True, "a quick run"), (False, "a full run")):
        told = kept(tmp_path, quick, us=1.0).filled("{motion.run}")
        assert words in told
        assert "abacus" in told
        assert "2026-01-02, commit abc" in told


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("<!-- number: motion.nonsense -->1<!-- /number -->", "no such figure"),
        ("<!-- number: nonsense.us -->1<!-- /number -->", "no benchmark 'nonsense'"),
        ("<!-- number: motion.us -->1<!-- /nummer -->", "look for a typo"),
        ("<!-- numbers\n{motion.us}\n-->\n1\n", "look for a typo"),
        ("<!-- numbers\nno figure\n-->\n1\n<!-- /numbers -->", "not understood"),
        ("<!-- numbers\n{motion us}\n-->\n1\n<!-- /numbers -->", "not understood"),
        ("<!-- number: motion.us -->2<!-- /number -->", "measured was '1'"),
    ],
)
def test_wrong_markers_are_told(page: str, complaint: str, tmp_path: Path) -> None:
    found = write_numbers.complaints(page, kept(tmp_path, us=1.0))
    assert len(found) == 1
    assert complaint in found[0]


def test_what_a_quick_run_leaves_out_stays_and_a_full_run_must_have_it(tmp_path: Path) -> None:
    page = "<!-- number: motion.gait_seconds -->8.4<!-- /number -->"
    results = kept(tmp_path, quick=True, us=1.0)
    assert write_numbers.rewritten(page, results) == (page, ["motion.gait_seconds"])
    assert write_numbers.complaints(page, results) == []
    typo = write_numbers.complaints(page.replace("gait_s", "gate_s"), results)
    assert len(typo) == 1
    assert "no such figure" in typo[0]
    full = write_numbers.complaints(page, kept(tmp_path, quick=False, us=1.0))
    assert len(full) == 1
    assert "no such figure" in full[0]


@pytest.mark.parametrize(
    "text",
    [
        "a step takes 3.3 us",
        "0.55 µs",
        "15 ns per joint",
        "in 1.5 ms",
        "needs 30 MiB",
        "is 12.6 times faster",
        "5 times the simulation",
        "about 10 times Exudyn",
        "compiles for 73 s",
        "takes 8 to 9 seconds",
    ],
)
def test_figures_typed_by_hand_are_found(text: str) -> None:
    assert [line for line, _ in write_numbers.by_hand(f"one\n\n{text}.\n")] == [3]
    assert list(write_numbers.by_hand(f"```python\n{text}\n```\n")) == []
    assert list(write_numbers.by_hand(f"<!-- numbers\n{{x.y}}\n-->\n{text}\n<!-- /numbers -->\n")) == []


@pytest.mark.parametrize("text", ["steps of 1 ms", "for 10 s at 3 rad/s", "an error of 2e-5 m", "|a| times |b|"])
def test_what_is_no_measurement_is_left_alone(text: str) -> None:
    assert list(write_numbers.by_hand(text)) == []


@pytest.mark.parametrize(("pattern", "reason"), given_figures.GIVEN)
def test_exceptions_have_a_reason_and_are_needed(pattern: str, reason: str) -> None:
    """An exception that no page needs any more would hide the next figure."""
    assert len(reason) > 10
    assert any(re.search(pattern, page.read_text()) for page in write_numbers.pages())
