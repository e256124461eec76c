"""The command line: what it prints, what it writes, how it fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mechgrad.cli import demo as demo_module
from mechgrad.cli import demo_command, warm_command, warm_processes
from mechgrad.cli.main import COMMANDS, app, command
from mechgrad.cli.warm import warm_steps
from mechgrad.errors import MechgradError
from mechgrad.gallery import double_pendulum
from mechgrad.io import save_model
from mechgrad.sensitivities import certify_model, model_check

runner = CliRunner()


def test_version_names_the_package_and_its_compiler() -> None:
    result = runner.invoke(app, ["version"])
    assert result.exit_code == 0
    assert result.output.startswith("mechgrad ")
    assert "numba" in result.output


def test_no_arguments_show_the_commands() -> None:
    output = runner.invoke(app, []).output
    assert len(COMMANDS) >= 9
    for name in COMMANDS:
        assert name in output


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_commands_say_of_themselves(name: str) -> None:
    own = command(name).help
    assert COMMANDS[name][1] == own.split("\n\n")[0].replace("\n", " ")


def test_help_and_version_import_no_mechanics() -> None:
    """Nor compilers: they are there at once."""
    code = (
        "import sys\n"
        "from mechgrad.cli.main import app\n"
        "for words in (['--help'], ['--version']):\n"
        "    app(words, standalone_mode=False)\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'numba', 'numpy', 'scipy', 'matplotlib'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "simulate" in done.stdout
    assert done.stdout.endswith("[]\n")


def test_a_misspelt_command_is_told_the_right_one() -> None:
    result = runner.invoke(app, ["simlate"])
    assert result.exit_code == 2
    assert "simulate" in result.output


def test_describe(tmp_path: Path) -> None:
    path = tmp_path / "pendulum.toml"
    save_model(double_pendulum(), path)
    result = runner.invoke(app, ["describe", str(path)])
    assert result.exit_code == 0
    assert result.output.rstrip("\n") == double_pendulum().describe().rstrip("\n")


def test_describe_of_a_missing_file_fails_in_one_sentence(tmp_path: Path) -> None:
    result = runner.invoke(app, ["describe", str(tmp_path / "none.toml")])
    assert result.exit_code == 2
    assert "none.toml" in result.stderr
    assert "Traceback" not in result.output


def test_warm_leaves_nothing_to_compile() -> None:
    """In a process of its own, where nothing else has compiled anything yet."""
    code = (
        "import importlib, pkgutil\n"
        "import mechgrad\n"
        "from mechgrad.cli.main import app\n"
        "from mechgrad.kernels.jit import ENTRIES\n"
        "app(['warm', '--jobs', '1'], standalone_mode=False)\n"
        "for module in pkgutil.walk_packages(mechgrad.__path__, 'mechgrad.'):\n"
        "    '__main__' in module.name or importlib.import_module(module.name)\n"
        "print('forgotten:', [name for name, kernel in ENTRIES.items() if not kernel.signatures])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "kernels" in done.stdout
    assert "forgotten: []" in done.stdout


def test_warm_uses_several_processes_and_compiles_once(tmp_path: Path) -> None:
    """In an empty cache. The second time there is nothing left to do."""
    command = [sys.executable, "-m", "mechgrad", "warm", "--jobs", "2", "--only", "mass matrix"]
    environment = os.environ | {"MECHGRAD_CACHE_DIR": str(tmp_path), "COLUMNS": "100"}

    def said() -> str:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout

    cold = said()
    assert re.search(r"\d+ kernels compiled for this machine and kept, .* s, 2 processes", cold), cold
    kept = sorted(tmp_path.rglob("*.nbc"))
    written = {path: path.stat().st_mtime_ns for path in kept}
    assert len(kept) >= 3
    assert len({path.name for path in kept}) == len(kept)
    warm = said()
    assert "kernels loaded" in warm
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")} == written


def test_warm_knows_its_steps() -> None:
    result = runner.invoke(app, ["warm", "--only", "nonsense"])
    assert result.exit_code == 2
    assert "no step is called 'nonsense'; there are accelerations, " in result.stderr
    labels = [step.label for step in warm_steps()]
    assert len(set(labels)) == len(labels)  # processes are told by label what to run


def test_a_process_that_ends_by_itself_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_processes, "_run", ends_by_itself)
    with pytest.raises(MechgradError, match=r"ended by itself.*mechgrad warm --jobs 1"):
        warm_processes.run_in_processes(["torques"], 2, lambda *told: None, lambda: None)


def ends_by_itself(label: str) -> None:
    """What a process does that runs out of memory."""
    os._exit(1)


def test_the_demo_compiles_everything_before_it_starts(tmp_path: Path) -> None:
    """In an empty cache: after its warm steps nothing is left to compile, so that no message breaks into its table."""
    program = (
        "from mechgrad.cli.warm import demo_steps\n"
        "from mechgrad.cli.demo import run_demo\n"
        "from mechgrad.kernels.disk.notices import compile_notices\n"
        "[step.run() for step in demo_steps()]\n"
        "late = []\n"
        "with compile_notices(lambda name, seconds: late.append(name)):\n"
        "    run_demo(samples=31, repeats=1)\n"
        "print(late)\n"
    )
    environment = os.environ | {"MECHGRAD_CACHE_DIR": str(tmp_path), "MECHGRAD_QUIET": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_warm_can_clean_and_says_what_it_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_command, "run_steps", lambda console, steps, jobs: None)
    monkeypatch.setattr(warm_command, "clean_cache", lambda current: [Path("/cache/0123456789abcdef")])
    assert "0123456789abcdef" not in runner.invoke(app, ["warm"]).output
    result = runner.invoke(app, ["warm", "--clean"])
    assert result.exit_code == 0
    assert "removed" in result.output
    assert "0123456789abcdef" in result.output
    monkeypatch.setattr(warm_command, "clean_cache", lambda current: [])
    assert "nothing to remove" in runner.invoke(app, ["warm", "--clean"]).output


def test_python_runs_the_package() -> None:
    done = subprocess.run([sys.executable, "-m", "mechgrad", "version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("mechgrad ")


def test_demo_checks_every_family() -> None:
    result = demo_module.run_demo(samples=23, repeats=1, checked_samples=2)
    assert result.passed
    assert result.worst <= 1e-12
    assert (result.samples, result.dof, result.picture) == (23, 43, None)
    assert set(result.errors) == {"by coordinates", "by velocities", "by accelerations", "by parameters"}
    assert all(c.influence.max() > 1e-3 for c in result.certificate)
    assert result.certificate[3].names == demo_module.PARAMETERS
    assert result.certificate[3].influence.min() > 1e-3
    assert all(c.judge == "complex step" for c in result.certificate)
    assert min(result.seconds_torques, result.seconds_derivatives) > 0.0


def test_demo_writes_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "human.png"
    result = runner.invoke(app, ["demo", "--output", str(path)])
    assert result.exit_code == 0, result.output
    assert path.read_bytes()[:4] == b"\x89PNG"
    said = result.output.replace("\n", "")
    assert f"plot written to {path}" in said
    page = tmp_path / "human.html"
    assert f"animation written to {page}" in said
    assert "three" in page.read_text(encoding="utf-8").lower()
    assert "301" in result.output


def test_demo_fails_when_derivatives_are_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A wrong partial must turn the demonstration red: here the torques are falsified by one part in a million."""
    honest = model_check.inverse_dynamics
    monkeypatch.setattr(model_check, "inverse_dynamics", lambda *a, **k: honest(*a, **k) * (1 + 1e-6))
    result = runner.invoke(app, ["demo", "--output", str(tmp_path / "wrong.png")])
    assert result.exit_code == 1
    assert "do not agree" in result.stderr
    assert "1.0e-06" in result.stderr
    assert "inverse dynamics by" in result.stderr


def test_demo_does_not_pass_on_nothing() -> None:
    """At rest nothing depends on velocity, and a check of zeros proves nothing."""
    at_rest = certify_model(double_pendulum(), v=[0.0, 0.0], wrt=(), families=["inverse dynamics"], steps=())
    moving = certify_model(double_pendulum(), wrt=(), families=["inverse dynamics"], steps=())
    fields = {
        "samples": 1,
        "dof": 1,
        "seconds_torques": 1.0,
        "seconds_derivatives": 1.0,
        "picture": None,
        "animation": None,
    }
    assert demo_module.DemoResult(**fields, certificate=moving).passed
    assert not demo_module.DemoResult(**fields, certificate=at_rest).passed


def test_the_demo_runs_without_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As from the plain wheel: everything but the picture, which is told how to be had."""
    monkeypatch.setattr(demo_command, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == 0
    assert "derivatives agree with the complex step" in result.output
    for what in ("plot without matplotlib", "animation without trimesh"):
        assert f"no {what}: pip install 'mechgrad[viz]'" in result.output
    assert not list(tmp_path.iterdir())
    refused = runner.invoke(app, ["demo", "--output", "a.png"])
    assert refused.exit_code == 2
    assert "a.png needs matplotlib" in refused.stderr
