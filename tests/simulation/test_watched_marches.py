"""Marches that a function watches: told states are those of the motion, which is the one that nobody watches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery

PENDULUM, START = gallery.double_pendulum(), [2.0, 1.0]
MARCHES: dict[str, dict[str, Any]] = {
    "dop853": {"duration": 500.0, "samples": 2001},
    "rk4": {"duration": 20.0, "step": 1e-3},
    "trapezoidal": {"duration": 40.0, "step": 2e-3, "scheme": "trapezoidal"},
    "controlled": {"duration": 10.0, "scheme": "trapezoidal", "rtol": 1e-5, "atol": 1e-5, "samples": 401},
}


def marched(how: str, **more: Any) -> mg.Trajectory:
    return mg.simulate(PENDULUM, START, **MARCHES[how], **more)


@pytest.mark.parametrize("how", MARCHES)
def test_what_is_told_is_the_motion_itself(how: str) -> None:
    told: list[tuple[float, np.ndarray]] = []
    watched = marched(how, progress=lambda t, q: told.append((t, q)))
    times = [t for t, _ in told]
    assert len(told) >= 2  # on the way, and at the end
    assert times[-1] == watched.t[-1]
    assert (np.diff(times) > 0).all() or times[-2] == times[-1]
    np.testing.assert_array_equal([q for _, q in told], watched.q[np.searchsorted(watched.t, times)])
    alone = marched(how)
    np.testing.assert_array_equal(watched.q, alone.q)
    np.testing.assert_array_equal(watched.v, alone.v)
    assert watched.steps == alone.steps


def test_what_a_function_raises_ends_the_march_and_keeps_the_motion_so_far() -> None:
    def enough(t: float, q: np.ndarray) -> None:
        raise RuntimeError("seen enough")

    with pytest.raises(RuntimeError, match="seen enough") as caught:
        mg.simulate(PENDULUM, START, 1000.0, step=1e-3, progress=enough)
    motion = caught.value.trajectory  # type: ignore[attr-defined]
    assert 1 < len(motion.t) < 1_000_001
    assert np.isfinite(motion.q).all()


def test_a_march_within_a_march_is_refused() -> None:
    with pytest.raises(mg.InputError, match="cannot begin another one"):
        mg.simulate(PENDULUM, START, 20.0, step=1e-3, progress=lambda t, q: marched("rk4"))
    assert len(marched("rk4").t) == 20_001  # and nothing is left of it


def test_nothing_of_the_watch_stays_with_the_motion() -> None:
    motion = mg.simulate(PENDULUM, START, 0.5, step=1e-3, progress=lambda t, q: None)
    again = motion.recipe.simulate(progress=lambda t, q: None)
    np.testing.assert_array_equal(again.q, motion.q)
    g = mg.gradient(motion, mg.AtEnd(mg.measures.KineticEnergy()), ["gravity.z"])
    assert abs(g.array[0, 0]) > 0.1


def test_what_is_no_function_and_many_starts_are_refused() -> None:
    with pytest.raises(mg.InputError, match="progress is 'loud'; give True"):
        mg.simulate(PENDULUM, START, 1.0, progress="loud")  # type: ignore[arg-type]
    with pytest.raises(mg.InputError, match="told of one motion"):
        mg.simulate(PENDULUM, np.full((3, 2), 0.1), 1.0, step=0.01, progress=lambda t, q: None)
