"""`mechgrad linearise`: modes of a model as a table."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import mechgrad as mg
from mechgrad.cli.main import app
from mechgrad.gallery import double_pendulum


def run(*options):
    return CliRunner().invoke(app, ["linearise", *options], env={"COLUMNS": "160"})


def test_the_bicycle_with_derivatives_and_limits(tmp_path):
    picture = tmp_path / "locus.png"
    result = run(
        "bicycle", "--wrt", "frame.mass", "--locus", "start.velocity.root.x=3:7", "--plot", str(picture)
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    limits = ("= 4.29238254 a mode ceases to grow, 0.5467 Hz", "= 6.02426202 a mode begins to grow")
    for words in ("steering, root.wx", "nothing depends on", "frame.mass", *limits):
        assert words in result.output
    assert picture.stat().st_size > 1000


def test_a_file_at_rest(tmp_path):
    path = tmp_path / "model.toml"
    mg.save_model(double_pendulum(), path)
    result = run(str(path), "--rest", "--at", "shoulder=0.1", "--at", "elbow=0.1")
    assert result.exit_code == 0, result.output
    assert "about rest" in result.output
    assert "shoulder" in result.output
    passing = run(str(path), "--at", "shoulder=0.3", "--rate", "shoulder=1.0")
    assert "the state passes" in passing.output
    none = run(str(path), "--locus", "gravity.z=-5:-10")
    assert "no mode begins or ceases to grow" in none.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nowhere.toml"], "nowhere"),
        (["double_pendulum", "--at", "shoulder"], "--at NAME=VALUE"),
        (["double_pendulum", "--wrt", "upper.maas"], "upper.maas"),
        (["double_pendulum", "--locus", "upper.mass"], "PATH=FROM:TO"),
        (["double_pendulum", "--locus", "upper.mass=1:x"], "PATH=FROM:TO"),
        (["double_pendulum", "--plot", "x.png"], "--locus"),
    ],
)
def test_bad_input_is_one_sentence(options, message):
    result = run(*options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
