"""`benchmarks/compare.py`: two checkouts in turns, and a mark where the new one is slower."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import compare  # noqa: E402

SCRIPT = """
import json, os, sys
from pathlib import Path
here = Path(__file__).parents[1]
with open(here.parent / "order", "a") as file:
    file.write(here.name + " ")
assert os.environ["PYTHONPATH"] == str(here / "src")
assert sys.argv[1:] == ["--quick"]
print("a table")
print(json.dumps(FIGURES))
"""


def checkout(folder: Path, **figures: object) -> Path:
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks" / "fake.py").write_text(SCRIPT.replace("FIGURES", repr(figures)))
    return folder


def run(base: Path, new: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / "compare.py"), str(base), str(new), "--benchmarks", "fake"]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


def test_slower_is_marked_and_the_order_turns(tmp_path: Path) -> None:
    base = checkout(
        tmp_path / "base", step_us=10.0, other_us=1.0, x_ratio_vs_exudyn=5.0, error=1e-9, machine={"cpu": "x"}
    )
    new = checkout(tmp_path / "new", step_us=12.0, other_us=1.02, x_ratio_vs_exudyn=4.0, error=3e-9, only_new_us=1.0)
    done = run(base, new, "--rounds", "2")
    assert (tmp_path / "order").read_text().split() == ["base", "new", "new", "base"]
    assert done.returncode == 1
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("  ")}
    assert set(lines) == {"step_us", "other_us", "x_ratio_vs_exudyn", "error"}
    assert "1.200  SLOWER" in lines["step_us"]
    assert "SLOWER" not in lines["other_us"]
    assert "1.250  SLOWER" in lines["x_ratio_vs_exudyn"]
    assert lines["error"].endswith("differs")
    ratios = json.loads(done.stdout.splitlines()[-1])
    assert ratios == {"fake.step_us": 1.2, "fake.other_us": 1.02, "fake.x_ratio_vs_exudyn": 1.25}


def test_nothing_slower_ends_well(tmp_path: Path) -> None:
    done = run(checkout(tmp_path / "a", step_us=10.0), checkout(tmp_path / "b", step_us=8.0), "--rounds", "1")
    assert done.returncode == 0
    assert "slower by more than 5 %: none" in done.stdout


def test_a_benchmark_that_fails_is_told(tmp_path: Path) -> None:
    base, new = checkout(tmp_path / "a", step_us=1.0), checkout(tmp_path / "b", step_us=1.0)
    (new / "benchmarks" / "fake.py").write_text("raise SystemExit('no kernels today')")
    done = run(base, new, "--rounds", "1")
    assert done.returncode == 1
    assert "no kernels today" in done.stderr


@pytest.mark.parametrize(
    ("key", "sense"),
    [
        ("five_bar_us_per_step", "time"),
        ("two_link_seconds", "time"),
        ("five_bar_cold_s", "time"),
        ("five_bar_1e9_ms", "time"),
        ("torque_pin_us", "other"),
        ("five_bar_exudyn_us_per_step", "other"),
        ("five_bar_ratio_vs_exudyn", "high"),
        ("ratio_vs_exudyn_fd_16", "high"),
        ("torque_speedup_all_cores", "high"),
        ("adjoint_over_simulation", "low"),
        ("gait_iterations", "other"),
        ("torque_difference", "other"),
        ("two_link_T", "other"),
    ],
)
def test_keys_tell_what_is_a_cost(key: str, sense: str) -> None:
    assert compare.sense(key) == sense


def test_the_least_time_of_all_rounds_counts() -> None:
    lines = compare.compared([{"a_us": 3.0}, {"a_us": 2.0}], [{"a_us": 2.0}, {"a_us": 9.0}])
    assert [(x.base, x.new, x.longer, x.slower) for x in lines] == [(2.0, 2.0, 1.0, False)]
