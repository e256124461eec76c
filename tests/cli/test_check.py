"""`mechgrad check`: what passes, what is named, and the three exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mechgrad.cli.main import app
from mechgrad.gallery import double_pendulum
from mechgrad.io import save_model

runner = CliRunner(env={"COLUMNS": "120"})

SPRING = """
import numpy as np

K, L = 300.0, 0.2

def force(x):
    length = np.sqrt(x @ x)
    return K * (length - L) * x / length

def stiffness(x):
    length = np.sqrt(x @ x)
    u = x / length
    return K * ((1 - L / length) * np.eye(2) + L / length * np.outer(u, u))

def spring():
    return {"function": force, "x": [0.3, 0.4], "jacobian": stiffness, "names": ["x", "y"], "outputs": ["Fx", "Fy"]}

def wrong_spring():
    def forgetful(x):
        J = stiffness(x)
        J[0, 1] *= 0.5
        return J
    return {**spring(), "jacobian": forgetful}

def of_model(model):
    return {"function": lambda x: x**2, "x": [1.0, 2.0, 3.0][: model.n_v], "jacobian": np.diag([2.0, 4.0])}

constant = {"function": lambda x: 0 * x, "x": [1.0], "jacobian": [[0.0]]}
incomplete = {"function": force}
misspelt = {**spring(), "jacobean": 3}
number = lambda: 3

def broken():
    raise KeyError("nothing here")
"""

DERIVATIVES = """
import mechgrad as mg

def right(model, q, v, a):
    D = mg.inverse_dynamics_derivatives(model, q, v, a)
    return {"dq": D.dq, "dv": D.dv, "da": D.da}

def wrong(model, q, v, a):
    dq = mg.inverse_dynamics_derivatives(model, q, v, a).dq.dense()
    dq[1, 0] *= -1
    return {"dq": dq}

def broken(model, q, v, a):
    return 1 / 0
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "spring.py").write_text(SPRING)
    (tmp_path / "mine.py").write_text(DERIVATIVES)
    return tmp_path


def test_a_model_of_the_gallery_passes() -> None:
    result = runner.invoke(app, ["check", "double_pendulum", "--seed", "3", "--columns", "2"])
    assert result.exit_code == 0, result.output
    for family in ("inverse dynamics", "forward dynamics", "markers"):
        assert f"{family} by coordinates" in result.output
        assert f"{family} by parameters" in result.output
    assert "complex step" in result.output
    assert "passed: 12 families agree" in result.output
    assert "and 50 columns that are no worse" in result.output


def test_a_model_file_and_chosen_parameters(tmp_path: Path) -> None:
    path = tmp_path / "pendulum.toml"
    save_model(double_pendulum(), path)
    result = runner.invoke(app, ["check", str(path), "--wrt", "lower.mass", "--wrt", "elbow.axis.*", "--samples", "2"])
    assert result.exit_code == 0, result.output
    assert "all 4 x 4 entries" in result.output
    assert "lower.mass" in result.output


def test_a_users_function_passes(files: Path) -> None:
    result = runner.invoke(app, ["check", "--function", f"{files / 'spring.py'}:spring"])
    assert result.exit_code == 0, result.output
    assert "all 2 x 2 entries agree with complex step" in result.output


def test_a_users_function_can_ask_for_the_model(files: Path) -> None:
    where = f"{files / 'spring.py'}:of_model"
    assert runner.invoke(app, ["check", "double_pendulum", "--function", where]).exit_code == 0


def test_a_wrong_derivative_of_a_users_function_is_named(files: Path) -> None:
    result = runner.invoke(app, ["check", "--function", f"{files / 'spring.py'}:wrong_spring"])
    assert result.exit_code == 1
    # K L / l sin cos = 57.6
    assert "d(Fx) / d(y) is given as 28.8; by complex step it is 57.6 " in result.stderr
    assert "Traceback" not in result.output


def test_nothing_to_see_is_no_success(files: Path) -> None:
    result = runner.invoke(app, ["check", "--function", f"{files / 'spring.py'}:constant"])
    assert result.exit_code == 1
    assert "nothing to see" in result.stderr


def test_users_derivatives_of_a_model(files: Path) -> None:
    result = runner.invoke(app, ["check", "double_pendulum", "--derivatives", f"{files / 'mine.py'}:right"])
    assert result.exit_code == 0, result.output
    assert "not given, so not checked: dp" in result.output
    assert "forward" not in result.output


def test_a_wrong_derivative_of_a_model_is_named(files: Path) -> None:
    result = runner.invoke(app, ["check", "double_pendulum", "--derivatives", f"{files / 'mine.py'}:wrong"])
    assert result.exit_code == 1
    assert "inverse dynamics by coordinates failed: d(elbow) / d(shoulder) is given as" in result.stderr
    given, said = (float(x.split()[0].rstrip(";")) for x in result.stderr.split("given as ")[1].split("it is "))
    assert given == pytest.approx(-said, rel=1e-9)
    assert abs(said) > 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a model"),
        (["none.toml"], "none.toml"),
        (["humen"], "Did you mean 'human'?"),
        (["double_pendulum", "--wrt", "upper.weight"], "weight"),
        (["--function", "nowhere.py:f"], "leads to no file"),
        (["--function", "{}/spring.py:sprung"], "Did you mean 'spring'?"),
        (["--function", "{}/spring.py:incomplete"], "without 'x'"),
        (["--function", "{}/spring.py:misspelt"], "Did you mean 'jacobian'?"),
        (["--function", "{}/spring.py:number"], "returned int"),
        (["--function", "{}/spring.py:broken"], "raised KeyError: 'nothing here' (spring.py, line "),
        (["double_pendulum", "--derivatives", "{}/mine.py:broken"], "raised ZeroDivisionError"),
        (["--function", "{}/spring.py:spring", "--derivatives", "{}/mine.py:right"], "not together"),
    ],
)
def test_bad_input_is_explained_with_exit_code_2(files: Path, arguments: list[str], message: str) -> None:
    result = runner.invoke(app, ["check", *(x.format(files) for x in arguments)])
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_a_file_that_python_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text("def f(:\n")
    result = runner.invoke(app, ["check", "--function", f"{path}:f"])
    assert result.exit_code == 2
    assert "SyntaxError" in result.stderr
