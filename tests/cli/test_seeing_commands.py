"""The commands view, plot and report: what they read, what they write, how they fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import mechgrad as mg
from mechgrad import gallery
from mechgrad.cli import shown, view_command
from mechgrad.cli.main import app

runner = CliRunner()


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told of compilation stands between no words."""
    monkeypatch.setenv("MECHGRAD_QUIET", "1")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A motion, its recipe and its model."""
    folder = tmp_path_factory.mktemp("files")
    motion = mg.simulate(gallery.double_pendulum(), [0.5, 0.2], 0.1, step=0.01)
    mg.io.save_trajectory(motion, folder / "swing.npz")
    mg.io.save_recipe(motion.recipe, folder / "recipe.toml")
    mg.io.save_model(motion.model, folder / "model.toml")
    return folder


def run(*words: object) -> tuple[int, str]:
    result = runner.invoke(app, [str(word) for word in words])
    return result.exit_code, " ".join((result.output + (result.stderr or "")).split())


@pytest.mark.parametrize(
    ("name", "options"), [("swing.npz", ()), ("recipe.toml", ()), ("model.toml", ("--duration", "0.1"))]
)
def test_motions_come_from_any_file(files: Path, tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    picture = tmp_path / "motion.svg"
    code, said = run("plot", files / name, *options, "-o", picture)
    assert (code, said) == (0, f"plot written to {picture}")
    assert "angular velocity [rad/s]" in picture.read_text().replace("<!-- ", "").replace(" -->", "")


def test_measures_are_drawn_by_name(files: Path, tmp_path: Path) -> None:
    names = mg.io.load_trajectory(files / "swing.npz").model.q_names
    code, _ = run("plot", files / "swing.npz", names[0], "KineticEnergy()", "-o", tmp_path / "m.png")
    assert code == 0
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    code, _ = run("plot", files / "swing.npz", "--kind", "energies", "-o", tmp_path / "e.png")
    assert code == 0
    assert [m.label for m in shown.measures_of(["PointPosition(tip)", "Distance(a, b)"])] == [
        "PointPosition(tip)", "Distance(a, b)"
    ]  # fmt: skip


def test_a_report_from_a_file(files: Path, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    code, said = run("report", files / "recipe.toml", "KineticEnergy()", "-o", page, "--title", "A swing")
    assert (code, said) == (0, f"report written to {page}")
    assert "<h1>A swing</h1>" in page.read_text(encoding="utf-8")


def test_a_view_as_a_file_and_in_the_browser(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "swing.html"
    assert run("view", files / "swing.npz", "-o", page) == (0, f"written to {page}")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    seen = []
    monkeypatch.setattr(view_command, "open_viewer", lambda thing, **options: seen.append((thing, options)))
    code, _ = run("view", "five_bar", "--no-browser", "--trail", "P2")
    assert code == 0
    ((thing, options),) = seen
    assert thing.q.tolist() == mg.state(gallery.five_bar(), gallery.five_bar_start()).q.tolist()
    assert options == {"trails": ["P2"], "port": 0, "open_browser": False, "block": True}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("plot", "five_bar"), "a model that stands still has no curves: add --duration 2"),
        (("report", "five_bar"), "a report is about a motion: of a model, add --duration 2"),
        (("plot", "none.npz"), "there is no such motion"),
        (("view", "five_bra"), "five_bar"),
        (("plot", "SWING", "Speed(x)"), "'Speed(x)' is no measure: write a coordinate, or one of Angle"),
        (("plot", "SWING", "Distance(a)"), "help(mg.measures.Distance) says what it takes"),
        (("plot", "SWING", "nothing"), "unknown coordinate 'nothing'"),
        (("plot", "SWING", "--kind", "pie"), "--kind is 'pie'; choose one of motion, energies"),
        (("plot", "SWING", "-o", "x.doc"), "its ending must be one of"),
        (("plot", "SWING", "--kind", "constraints"), "there is nothing to miss"),
        (("report", "SWING", "-o", "x.pdf"), "ends with .html"),
        (("view", "SWING", "-o", "x.pdf"), "its ending must be one of .html"),
    ],
)  # fmt: skip
def test_bad_input_is_told_in_one_sentence(files: Path, words: tuple[str, ...], told: str) -> None:
    code, said = run(*(files / "swing.npz" if word == "SWING" else word for word in words))
    assert code == 2
    assert told in said
    assert "Traceback" not in said
