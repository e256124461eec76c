"""Many recipes at once: in order, the same motions as one by one, failures and interrupts that keep the rest."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.gallery import five_bar
from mechgrad.simulation.side_by_side import side_by_side


@pytest.fixture(scope="module")
def recipe() -> mg.recipes.Recipe:
    model = five_bar()
    return mg.simulate(model, mg.assemble(model), 0.05, step=1e-3).recipe


def test_motions_are_those_of_one_after_the_other(recipe):
    recipes = {
        "light": recipe,
        "heavy": recipe.with_values({"A1.mass": 4.0}),
        "later": recipe.changed(t0=0.0, duration=0.08),
        "explicit": recipe.changed(formulation="index1", scheme="rk4"),
    }
    found = mg.recipes.simulate_all(recipes, threads=2)
    assert list(found) == list(recipes)
    for name, motion in found.items():
        np.testing.assert_array_equal(motion.q, recipes[name].simulate().q)
        assert motion.recipe is recipes[name]
    assert np.abs(found["heavy"].q - found["light"].q).max() > 1e-6
    assert isinstance(mg.recipes.simulate_all([recipe], threads=1), list)


def test_failures_keep_the_others(recipe):
    stuck = recipe.changed(duration=50.0, step=5.0, formulation="index1", scheme="rk4")
    with pytest.raises(
        mg.recipes.SimulationsFailed, match=r"(?s)1 of 3 motions.*'1': the motion of 'five-bar' ends"
    ) as caught:
        mg.recipes.simulate_all([recipe, stuck, recipe], threads=2)
    error = caught.value
    assert list(error.errors) == ["1"]
    assert isinstance(error.errors["1"], mg.StepFailed)
    assert error.trajectories[1] is None
    for k in (0, 2):
        np.testing.assert_array_equal(error.trajectories[k].q, recipe.simulate().q)  # type: ignore[union-attr]


def test_bad_recipes_are_refused_before_any_is_marched(recipe):
    with pytest.raises(InputError, match="recipe 'b': duration is -1"):
        mg.recipes.simulate_all({"a": recipe, "b": recipe.changed(duration=-1.0)})
    with pytest.raises(InputError, match="recipe '0' is"):
        mg.recipes.simulate_all([recipe.simulate()])  # type: ignore[list-item]
    with pytest.raises(InputError, match="no recipe"):
        mg.recipes.simulate_all([])
    with pytest.raises(InputError, match="threads"):
        mg.recipes.simulate_all([recipe], threads=-2)


SCRIPT = """
import sys, time
import mechgrad as mg
from mechgrad.gallery import five_bar
model = five_bar()
recipe = mg.simulate(model, mg.assemble(model), 0.05, step=1e-3).recipe
long = recipe.changed(duration=300.0, step=1e-5, samples=30_001)
print("ready", flush=True)
try:
    mg.recipes.simulate_all([recipe, long, long, recipe], threads=2)
except KeyboardInterrupt as error:
    found = [None if x is None else (x.ended, bool(0.0 < x.t[-1] < 300.0)) for x in error.trajectories]
    print(found, error.__notes__[-1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to another process")
def test_control_c_ends_all_and_keeps_what_is_there(recipe):
    child = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True, env=os.environ.copy())
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.7)
    begin = time.perf_counter()
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert time.perf_counter() - begin < 5.0  # the motions would take minutes
    assert child.returncode == 0
    assert said.startswith("[('duration', True), ('interrupted', True), ('interrupted', True), None] 1 of 4 motions")


@pytest.mark.parametrize("threads", [1, 2])
def test_what_ends_everything_ends_all_calls(threads):
    begun = []

    def call(k: int) -> int:
        begun.append(k)
        if k == 1:
            raise SystemExit(3)
        time.sleep(0.05)
        return k

    with pytest.raises(SystemExit):
        side_by_side(call, range(50), threads)
    assert len(begun) < 6


def test_what_holds_around_a_call_holds_in_its_threads():
    def call(k: int) -> str:
        return str(np.geterr()["over"])

    with np.errstate(over="raise"):
        assert side_by_side(call, range(3), 2).results == ["raise"] * 3


def test_calls_in_calls_end_with_the_outer_ones():
    alive: list[int] = []

    def inner(k: int) -> None:
        alive.append(k)
        time.sleep(0.01)

    def outer(k: int) -> None:
        if k == 0:
            side_by_side(inner, range(2000), 2)
        else:
            time.sleep(0.1)
            raise SystemExit(1)

    with pytest.raises(SystemExit):
        side_by_side(outer, range(2), 2)
    assert 0 < len(alive) < 1000
