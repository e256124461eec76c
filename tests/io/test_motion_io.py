"""Motion files: nothing is lost on the way through them, nothing in them is executed, every mistake is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.io import load_motion, save_motion
from mechgrad.optimization.motion import (
    At,
    Coincident,
    CutForce,
    Duration,
    Free,
    FreeNumber,
    MotionProblem,
    MotionSolution,
    OvershootWarning,
    Splines,
    TorqueLimits,
    TorqueSquares,
)

THIRD = 1.0 / 3.0


def hinges(*targets: object) -> mg.Model:
    """Two links whose numbers have no short decimal form."""
    bodies = [mg.Body(f"link{i}", THIRD, (-0.2 * THIRD, 0, 0), (0.1, 0.1 + THIRD / 7, 0.2)) for i in (1, 2)]
    row = mg.drawing.DHRow("revolute", a=0.4)
    model = mg.dh_model("two links", [row, row], bodies=bodies, gravity=(0, -9.81 * THIRD, 0))
    variables = [mg.DesignVariable("mass", targets[0], THIRD)] if targets else []
    return mg.Model(model.name, model.bodies, model.joints, model.points, gravity=model.gravity, variables=variables)


def with_free_knots() -> MotionSolution:
    problem = MotionProblem(hinges(), Splines(6, 5, "clamped"), Free(0.1, 2.0, knots=True)).minimize(Duration())
    problem.subject_to(
        At(0, (0, -2)), At(1, (1, -1)), *(At(xi, 0.0, "v") for xi in (0, 1)), TorqueLimits(-10, 10, per_segment=4)
    )
    return problem.solve()


def with_cuts() -> MotionSolution:
    """A four-bar linkage, cut between coupler and rocker."""
    rod = lambda name, length: mg.Body(name, 1.0, (length / 2, 0, 0), (0.01, 0.02, 0.02))  # noqa: E731
    model = mg.Model(
        "four-bar",
        [rod("crank", 0.3), rod("coupler", 0.9), rod("rocker", 0.8)],
        [
            mg.Revolute("A", "ground", "crank"),
            mg.Revolute("B", "crank", "coupler", origin=(0.3, 0, 0)),
            mg.Revolute("D", "ground", "rocker", origin=(1.0, 0, 0)),
        ],
        [mg.Point("end", "coupler", (0.9, 0, 0)), mg.Point("pin", "rocker", (0.8, 0, 0))],
        gravity=(0, -9.81, 0),
    )
    cut = CutForce("end", "pin", axes="xy")
    problem = MotionProblem(model, Splines(8), 0.7, cuts=[cut]).minimize(TorqueSquares(per_segment=2))
    problem.subject_to(
        At(0, 0.5, joints=["A"]), At(1, 1.5, joints=["A"]), At(0, 0.0, "v"), At(1, 0.0, "v"),
        Coincident("end", "pin", axes="xy"), TorqueLimits(0, 0, joints=["B", "D"]),
    )  # fmt: skip
    guess = problem.guess()
    guess[:] = problem.splines.between((0.5, 0.4, 2.1, 0, 0), (1.5, -0.8, 1.9, 0, 0)).ravel()
    with pytest.warns(
        OvershootWarning, match=r"tau\([BD]\) is .* where it should be 0, .* Take more segments"
    ):  # hinges without a motor, at the ends of segments only
        return problem.solve(guess)


def with_a_free_number() -> MotionSolution:
    problem = MotionProblem(hinges(["link2.mass"]), Splines(5), Free(0.2, 2.0), [FreeNumber("mass", 0.2, 1.0)])
    problem.minimize(Duration(), TorqueSquares())
    problem.subject_to(At(0, (0, -2)), At(1, (1, -1)), At(0, 0.0, "v"), At(1, 0.0, "v"))
    return problem.solve()


@pytest.mark.parametrize("make", [with_cuts, with_free_knots, with_a_free_number], ids=lambda make: make.__name__)
def test_round_trip_is_exact(make, tmp_path: Path) -> None:
    solution = make()
    assert solution.result.success, solution.result.reason
    save_motion(solution, tmp_path / "walk")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["walk.npz", "walk.toml"]
    loaded = load_motion(tmp_path / "walk.npz")
    assert loaded.result is None
    assert (loaded.model, loaded.splines, loaded.cuts) == (solution.model, solution.splines, solution.cuts)
    assert loaded.duration == solution.duration
    np.testing.assert_array_equal(loaded.control_points, solution.control_points)
    assert loaded.control_points.dtype == np.float64
    for ours, theirs in zip(loaded.motion(37), solution.motion(37), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert np.max(np.abs(solution.torques(37))) > 0.1
    np.testing.assert_array_equal(loaded.torques(37), solution.torques(37))
    np.testing.assert_array_equal(loaded.cut_forces(37), solution.cut_forces(37))
    if make is with_free_knots:
        np.testing.assert_array_equal(loaded.lengths, solution.lengths)
        assert np.ptp(solution.lengths) > 0
    else:
        assert loaded.lengths is None
    with np.load(tmp_path / "walk.npz") as archive:  # what the search said stays there
        np.testing.assert_array_equal(archive["x"], solution.result.x)
        assert archive["objective"] == solution.result.objective
        assert archive["status"] == "converged"
        assert (str(archive["reason"]), str(archive["solver"])) == (solution.result.reason, solution.result.solver)
        assert archive["iterations"] == solution.result.iterations


def test_a_loaded_motion_starts_a_search(tmp_path: Path) -> None:
    solution = with_free_knots()
    save_motion(solution, tmp_path / "arm")
    problem = MotionProblem(hinges(), Splines(6, 5, "clamped"), Free(0.1, 2.0, knots=True)).minimize(Duration())
    np.testing.assert_array_equal(problem._start(load_motion(tmp_path / "arm")), solution.result.x)


def still(model: mg.Model | None = None) -> MotionSolution:
    return MotionSolution(hinges() if model is None else model, Splines(4), np.full((7, 2), THIRD), 0.5, None)


def test_a_motion_without_a_search(tmp_path: Path) -> None:
    save_motion(load_saved := still(), tmp_path / "a")
    save_motion(load_motion(tmp_path / "a"), tmp_path / "b")
    again = load_motion(tmp_path / "b.toml")
    np.testing.assert_array_equal(again.control_points, load_saved.control_points)
    with np.load(tmp_path / "b.npz") as archive:
        assert "objective" not in archive.files


def test_names(tmp_path: Path) -> None:
    """A point in the name is no suffix."""
    save_motion(still(), tmp_path / "walk.v2")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["walk.v2.npz", "walk.v2.toml"]
    assert load_motion(tmp_path / "walk.v2").duration == 0.5
    with pytest.raises(mg.InputError, match=r"a dict is no MotionSolution"):
        save_motion({}, tmp_path / "walk")  # type: ignore[arg-type]


def test_a_model_file_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "arm.toml"
    mg.save_model(hinges(), mine)
    text = "# by hand\n" + mine.read_text()
    mine.write_text(text)
    save_motion(still(), tmp_path / "arm")  # the same model: left as it is
    assert mine.read_text() == text
    heavier = hinges().with_values({"link1.mass": 2.0})
    save_motion(still(heavier), tmp_path / "arm")  # an earlier motion: replaced
    assert load_motion(tmp_path / "arm").model == heavier
    (tmp_path / "arm.npz").unlink()
    with pytest.raises(mg.InputError, match=r"arm\.toml: there is another model .*no motion arm\.npz"):
        save_motion(still(), tmp_path / "arm")
    assert mg.load_model(mine) == heavier
    mine.write_text("no model")
    with pytest.raises(mg.InputError, match="Choose another name"):
        save_motion(still(), tmp_path / "arm")


def test_a_model_that_no_file_can_hold_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(mg.ModelError, match="mass"):
        save_motion(still(hinges({"link1.mass": lambda x: x**2})), tmp_path / "walk")
    assert list(tmp_path.iterdir()) == []


def rewritten(path: Path, **changes: object) -> None:
    """The archive with other entries; None removes one."""
    with np.load(path) as archive:
        content = {key: archive[key] for key in archive.files} | changes
    np.savez(path, **{key: value for key, value in content.items() if value is not None})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, r"walk\.npz: a motion in version 2 .*reads version 1\. .*update"),
        ({"version": "new"}, r"version new"),
        ({"format": "song"}, r"does not say that it is a 'mechgrad motion'; it holds format, version"),
        ({"format": None}, r"does not say"),
        ({"segments": None}, r"'segments'.* write it again with save_motion"),
        ({"segments": 5}, r"control_points has shape \(7, 2\); finite numbers \(8, 2\)"),
        ({"degree": 4}, r"degree is 4"),
        ({"control_points": np.full((7, 2), np.nan)}, r"finite"),
        ({"control_points": np.array("points")}, r"cannot be understood"),
        ({"duration": -1.0}, r"the duration is -1\.0 s"),
        ({"lengths": np.ones(3)}, r"lengths has shape \(3,\); 4 positive"),
        ({"lengths": np.zeros(4)}, r"4 positive"),
        ({"cuts": np.ones((1, 4))}, r"cannot be understood"),
        ({"cuts": np.array([["tip", "pin", "w"]])}, r"axes of the cut"),
        ({"coordinates": np.array(["dh.1", "knee"])}, r"a motion of dh\.1, knee; .* do not belong together"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_content_is_named(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "walk.npz"
    save_motion(still(), path)
    rewritten(path, **changes)
    with pytest.raises(mg.InputError, match=message):
        load_motion(path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(mg.InputError, match=r"walk\.npz: there is no such motion .*walk\.npz and walk\.toml"):
        load_motion(tmp_path / "walk")
    save_motion(still(), tmp_path / "walk")
    (tmp_path / "walk.toml").unlink()
    with pytest.raises(mg.InputError, match=r"walk\.toml: the model of the motion walk\.npz is missing.*put it back"):
        load_motion(tmp_path / "walk")


@pytest.mark.parametrize("content", ["text", "array", "pickle", "torn", "empty"])
def test_files_that_are_no_archives(content: str, tmp_path: Path) -> None:
    path = tmp_path / "walk.npz"
    save_motion(still(), path)
    if content == "text":
        path.write_text("a motion")
    elif content == "array":
        with path.open("wb") as file:
            np.save(file, np.ones(3))
    elif content == "pickle":
        rewritten(path, control_points=np.array([{"a": 1}], dtype=object))
    elif content == "torn":
        path.write_bytes(path.read_bytes()[:-200])
    else:
        path.write_bytes(b"")
    with pytest.raises(mg.InputError, match=r"walk\.npz: it is no archive of numbers.*save_motion"):
        load_motion(path)


def test_importing_mechgrad_does_not_import_the_optimizer() -> None:
    code = "import sys, mechgrad.io; sys.exit(any(name.startswith('mechgrad.optimization') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
