"""`mechgrad simulate`, and the one list of models that all commands know."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mechgrad as mg
from mechgrad import gallery
from mechgrad.cli.main import app
from mechgrad.cli.models import GALLERY, find_model
from mechgrad.cli.problem_file import read_problem
from mechgrad.gallery import double_pendulum
from mechgrad.io import save_model

runner = CliRunner(env={"COLUMNS": "160"})


def test_a_model_of_the_gallery_moves_as_in_python(tmp_path: Path) -> None:
    path = tmp_path / "motion.csv"
    options = [
        "--duration",
        "0.2",
        "--step",
        "0.01",
        "--at",
        "shoulder=0.7",
        "--at",
        "elbow=-0.4",
        "--rate",
        "elbow=1.5",
    ]
    result = runner.invoke(app, ["simulate", "double_pendulum", *options, "-o", str(path)])
    assert result.exit_code == 0, result.output
    model = double_pendulum()
    start = mg.assemble(model, {"shoulder": 0.7, "elbow": -0.4}, {"elbow": 1.5})
    motion = mg.simulate(model, start, duration=0.2, step=0.01)
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["t", "q shoulder", "q elbow", "v shoulder", "v elbow", "a shoulder", "a elbow"]
    found = np.array(rows, float)
    np.testing.assert_array_equal(found, np.column_stack((motion.t, motion.q, motion.v, motion.a)))
    assert np.ptp(found[:, 1]) > 0.1
    for word in ("double pendulum", "shoulder", f"{motion.q[-1, 0]:.6g}", "energy", "ended by duration"):
        assert word in result.output


def test_a_file_and_an_archive(tmp_path: Path) -> None:
    save_model(double_pendulum(), tmp_path / "arm.toml")
    path = tmp_path / "motion.npz"
    options = ["--duration", "0.1", "--step", "0.01", "--at", "shoulder=0.3", "-o", str(path)]
    result = runner.invoke(app, ["simulate", str(tmp_path / "arm.toml"), *options, "--plot", str(tmp_path / "m.png")])
    assert result.exit_code == 0, result.output
    with np.load(path, allow_pickle=False) as archive:
        assert archive["q"].shape == (11, 2)
        assert archive["q_names"].tolist() == ["shoulder", "elbow"]
    assert (tmp_path / "m.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.toml"], "there is no such model file"),
        (["five_bars"], "Did you mean 'five_bar'?"),
        (["double_pendulum", "--at", "shoulder"], "NAME=VALUE"),
        (["double_pendulum", "--at", "shoulder=high"], "NAME=VALUE"),
        (["double_pendulum", "--at", "sholder=1"], "shoulder"),
        (["double_pendulum", "--duration", "-1"], "duration"),
        (["double_pendulum", "--step", "0"], "step"),
        (["double_pendulum", "--scheme", "rk5"], "rk4"),
        (["double_pendulum", "--formulation", "none"], "index1"),
        (["double_pendulum", "-o", "motion.txt"], ".csv or .npz"),
        (["double_pendulum", "--duration", "0.02", "--step", "0.01", "-o", "no/such/folder.csv"], "no/such"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    result = runner.invoke(app, ["simulate", *arguments])
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_what_there_is_of_a_motion_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    motion = mg.simulate(double_pendulum(), [0.3, 0.2], duration=0.05, step=0.01)

    def failing(*args: object, **options: object) -> mg.Trajectory:
        raise mg.StepFailed("the march ends at t = 0.05 s.", motion)

    monkeypatch.setattr(mg, "simulate", failing)
    result = runner.invoke(app, ["simulate", "double_pendulum", "-o", str(tmp_path / "part.npz")])
    assert result.exit_code == 1
    assert "the march ends" in result.stderr
    with np.load(tmp_path / "part.npz") as archive:
        np.testing.assert_array_equal(archive["q"], motion.q)


VEHICLES = {"bicycle_freedoms", "buggy_freedoms", "buggy_rest", "lane_change"}  # what is done with them


def test_one_list_for_all_commands(tmp_path: Path) -> None:
    for command in ("describe", "check", "simulate"):
        text = " ".join(runner.invoke(app, [command, "--help"], env={"COLUMNS": "300"}).output.split())
        assert all(name in text for name in GALLERY), command
    for name in GALLERY:
        assert name in gallery.__all__
        assert runner.invoke(app, ["describe", name]).exit_code == 0
        (tmp_path / "p.toml").write_text(
            f'model = "{name}"\nduration = 1.0\nwrt = []\nobjectives.e.measure = "KineticEnergy"\n'
        )
        assert read_problem(tmp_path / "p.toml").recipe.model == find_model(name)
    makers = {name for name in gallery.__all__ if not name.endswith(("_start", "_motion", "_angle", "_height", "_end"))}
    assert makers - {
        "WALKER_SEGMENTS",
        "Gait",
        "GaitCheck",
        "gait",
        "walker_limits",
        "walker_mirror",
    } - VEHICLES == set(GALLERY)


@pytest.mark.parametrize("name", GALLERY)
def test_every_model_of_the_gallery_has_a_start_that_fits(name: str) -> None:
    model = find_model(name)
    start = GALLERY[name].start(model)
    q, v = (start.q, start.v) if isinstance(start, mg.State) else start
    assert np.shape(q) == (model.n_q,)
    assert v is None or np.shape(v) == (model.n_v,)
    found = mg.terms.constraint_terms(model, q, v)
    assert np.max(np.abs(found.value), initial=0.0) < 1e-6
    assert np.max(np.abs(found.rate), initial=0.0) < 1e-6


def test_the_archive_of_a_motion_has_its_recipe(tmp_path: Path) -> None:
    options = ["--duration", "0.1", "--step", "0.01", "--at", "A=-2.3", "--at", "1=1.7", "--scheme", "hht"]
    result = runner.invoke(app, ["simulate", "five_bar", *options, "-o", str(tmp_path / "m.npz")])
    assert result.exit_code == 0, result.output
    saved = mg.io.load_trajectory(tmp_path / "m.npz")
    assert (repr(saved.recipe.scheme), saved.recipe.step) == ("HHT(damping=0.05)", 0.01)
    assert saved.recipe.start.held == {"A": -2.3, "1": 1.7}
    np.testing.assert_array_equal(saved.repeated().q, saved.q)
