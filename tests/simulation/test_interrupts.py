"""A signal in the middle of a compiled march ends it, raises what its handler raises, and keeps the motion so far."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.gallery import five_bar

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends a signal")


class Enough(BaseException):
    """What the handler raises: not an `Exception`, as `KeyboardInterrupt` is none."""


@contextmanager
def signal_after(seconds: float) -> Iterator[list[float]]:
    """Within the block: a handler that notes when it is called, and raises, after some time."""
    assert threading.current_thread() is threading.main_thread()
    called: list[float] = []

    def handler(number: int, frame: object) -> None:
        called.append(time.perf_counter())
        raise Enough

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield called
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def pendulum() -> mg.Model:
    bob = mg.Body("bob", 1.0, com=(0.0, 0.0, -1.0))
    return mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))])


LOOPS = {
    "ali3p": {"step": 1e-4},
    "index1, rk4": {"step": 1e-4, "formulation": "index1", "scheme": "rk4"},
    "matrix-r": {"step": 1e-4, "formulation": "matrix-r", "scheme": "trapezoidal"},
    "dop853": {"rtol": 1e-12, "atol": 1e-12},
    "error control": {"scheme": "trapezoidal", "formulation": "ali3p", "rtol": 1e-4, "atol": 1e-4},
    "matrix-r, error control": {"scheme": "trapezoidal", "formulation": "matrix-r", "rtol": 1e-4, "atol": 1e-4},
}
TREES = {
    "rk4": {"step": 1e-6},
    "trapezoidal": {"step": 1e-5, "scheme": "trapezoidal"},
    "fixed point": {"step": 1e-5, "scheme": "trapezoidal", "formulation": mg.formulations.FullyRecursive()},
}


def interrupted(model: mg.Model, q: object, duration: float, options: dict[str, object]) -> mg.Trajectory:
    """The motion so far of one that would take many seconds."""
    shorter = duration / 1e4
    mg.simulate(model, q, duration=shorter, **options)  # compiles
    if "step" in options:
        options = options | {"samples": 10_001}
    with signal_after(0.3) as called, pytest.raises(Enough) as caught:
        mg.simulate(model, q, duration=duration, samples=options.pop("samples", 20_001), **options)
    assert time.perf_counter() - called[0] < 2.0  # at once; the whole motion takes far longer
    assert "interrupted at t = " in caught.value.__notes__[0]
    motion = caught.value.trajectory  # type: ignore[attr-defined]
    assert isinstance(motion, mg.Trajectory)
    assert motion.ended == "interrupted"
    assert 0.0 < motion.t[-1] < duration
    assert len(motion.t) == len(motion.q) > 1
    assert np.all(np.isfinite(motion.q))
    assert np.ptp(motion.q, axis=0).max() > 1e-3
    return motion


@pytest.mark.parametrize("way", LOOPS)
def test_loops(way: str) -> None:
    model = five_bar()
    start = mg.assemble(model)
    motion = interrupted(model, start, 300.0, LOOPS[way])
    if "error control" in way:
        # what was reported is what is read between the steps so far
        np.testing.assert_array_equal(motion.at(motion.t[1::10]).q, motion.q[1::10])


@pytest.mark.parametrize("way", TREES)
def test_trees(way: str) -> None:
    options = TREES[way]
    motion = interrupted(pendulum(), [1.0], 30.0 * float(options["step"]) / 1e-6, options)  # type: ignore[arg-type]
    assert np.abs(motion.energy() - motion.energy()[0]).max() < 1e-6  # a part of the right motion


def test_batches_keep_the_motions_that_are_done() -> None:
    starts = np.linspace(0.1, 1.0, 2000)[:, None]
    mg.simulate(pendulum(), starts, duration=1e-3, step=1e-4)
    with signal_after(0.5), pytest.raises(Enough) as caught:
        mg.simulate(pendulum(), starts, duration=5.0, step=1e-4, samples=11)
    motion = caught.value.trajectory  # type: ignore[attr-defined]
    assert motion.q.shape[1:] == (11, 1)
    assert 0 < motion.q.shape[0] < 2000
    np.testing.assert_array_equal(motion.q[:, 0], starts[: motion.q.shape[0]])
    assert "the first" in caught.value.__notes__[0]


def test_control_c_is_a_keyboard_interrupt() -> None:
    mg.simulate(pendulum(), [1.0], duration=1e-3, step=1e-6)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of a test run ignore it
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            mg.simulate(pendulum(), [1.0], duration=30.0, step=1e-6, samples=3001)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert caught.value.trajectory.t[-1] > 0.0  # type: ignore[attr-defined]


def test_gradients_answer_too() -> None:
    model = five_bar()
    motion = mg.simulate(model, mg.assemble(model), duration=2.0, step=1e-5, samples=201)
    goal, wrt = mg.AtEnd(mg.measures.KineticEnergy()), ["*.mass"]
    with signal_after(0.5) as called, pytest.raises(Enough):
        mg.gradient(motion, goal, wrt)
    assert time.perf_counter() - called[0] < 2.0
