"""The command line: what it prints, what it writes, how it fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mechgrad.cli import demo as demo_module
from mechgrad.cli.main import app
from mechgrad.gallery import double_pendulum
from mechgrad.io import save_model

runner = CliRunner()


def test_version_names_the_package_and_its_compiler() -> None:
    result = runner.invoke(app, ["version"])
    assert result.exit_code == 0
    assert result.output.startswith("mechgrad ")
    assert "numba" in result.output


def test_no_arguments_show_the_commands() -> None:
    output = runner.invoke(app, []).output
    for command in ("demo", "describe", "warm", "version"):
        assert command in output


def test_describe(tmp_path: Path) -> None:
    path = tmp_path / "pendulum.toml"
    save_model(double_pendulum(), path)
    result = runner.invoke(app, ["describe", str(path)])
    assert result.exit_code == 0
    assert result.output.rstrip("\n") == double_pendulum().describe().rstrip("\n")


def test_describe_of_a_missing_file_fails_in_one_sentence(tmp_path: Path) -> None:
    result = runner.invoke(app, ["describe", str(tmp_path / "none.toml")])
    assert result.exit_code == 1
    assert "none.toml" in result.stderr
    assert "Traceback" not in result.output


def test_warm_leaves_nothing_to_compile() -> None:
    """In a process of its own, where nothing else has compiled anything yet."""
    code = (
        "from mechgrad.cli.main import app\n"
        "from mechgrad.kernels.jit import ENTRIES\n"
        "app(['warm'], standalone_mode=False)\n"
        "print('forgotten:', [name for name, kernel in ENTRIES.items() if not kernel.signatures])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "kernels" in done.stdout
    assert "forgotten: []" in done.stdout


def test_demo_checks_every_family() -> None:
    result = demo_module.run_demo(samples=23, repeats=1, checked_samples=2)
    assert result.passed
    assert result.worst <= 1e-12
    assert (result.samples, result.dof, result.picture) == (23, 43, None)
    assert set(result.errors) == {"by coordinates", "by velocities", "by accelerations", "by parameters"}
    assert all(size > 1e-3 for size in result.influence.values())
    assert 0.0 < result.seconds_torques < result.seconds_derivatives


def test_demo_writes_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "human.png"
    result = runner.invoke(app, ["demo", "--output", str(path)])
    assert result.exit_code == 0, result.output
    assert path.read_bytes()[:4] == b"\x89PNG"
    assert "human.png" in result.output.replace("\n", "")
    assert "301" in result.output


def test_demo_fails_when_derivatives_are_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A wrong partial must turn the demonstration red: here the complex step is falsified by one part in a million."""
    honest = demo_module._by_state
    monkeypatch.setattr(demo_module, "_by_state", lambda *arguments: honest(*arguments) * (1 + 1e-6))
    result = runner.invoke(app, ["demo", "--output", str(tmp_path / "wrong.png")])
    assert result.exit_code == 1
    assert "do not agree" in result.stderr
    assert "1.0e-06" in result.stderr


def test_demo_result_does_not_pass_on_nothing() -> None:
    fields = {"samples": 1, "dof": 1, "seconds_torques": 1.0, "seconds_derivatives": 1.0, "picture": None}
    assert demo_module.DemoResult(**fields, errors={"x": 0.0}, influence={"x": 1.0}).passed
    assert not demo_module.DemoResult(**fields, errors={"x": 0.0}, influence={"x": 0.0}).passed
    assert not demo_module.DemoResult(**fields, errors={"x": float("nan")}, influence={"x": 1.0}).passed
