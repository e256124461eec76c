"""Matrix R chooses its coordinates and rows again along the way, and ends clearly where no choice helps."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from support.dead_points import begin_with, parallelogram, rockers, six_bar, whirling_five_bar

import mechgrad as mg
from mechgrad.steps.independent import choices as choices_file
from mechgrad.typing import FloatArray

# how, and the error of coordinates and energy [rad, J] after some swings of the rockers: tolerance 1e-9, order four and
# two, with a factor of about five
SCHEMES: dict[str, tuple[dict[str, Any], float, float]] = {
    "dop853": ({"scheme": "dop853"}, 1e-7, 2e-6),
    "rk4": ({"scheme": "rk4", "step": 1e-3}, 2e-6, 2e-5),
    "trapezoidal": ({"scheme": "trapezoidal", "step": 1e-3}, 1e-2, 0.1),
    "generalized-alpha": ({"scheme": "generalized-alpha", "step": 1e-3}, 1e-2, 0.1),
    "controlled": ({"scheme": "trapezoidal", "rtol": 1e-6, "atol": 1e-6}, 1e-4, 1e-3),
}
IDS = list(SCHEMES)


def exact(model: mg.Model, start: Any, duration: float, samples: int = 201) -> mg.Trajectory:
    return mg.simulate(model, start, duration=duration, formulation="index1", rtol=1e-11, atol=1e-11, samples=samples)


def turns(motion: mg.Trajectory) -> FloatArray:
    """How often each velocity changes its sign."""
    return np.sum(motion.v[1:] * motion.v[:-1] < 0.0, axis=0)


@pytest.mark.parametrize("name", IDS)
def test_rockers_of_which_every_coordinate_turns_back(name: str) -> None:
    how, by_q, by_energy = SCHEMES[name]
    model, start = rockers()
    reference = exact(model, start, 3.0)
    assert turns(reference).min() >= 2
    motion = mg.simulate(model, start, duration=3.0, formulation="matrix-r", samples=201, **how)
    assert motion.ended == "duration"
    assert len(motion.choices) >= 4
    assert len({chosen.independent for chosen in motion.choices}) >= 2
    assert np.abs(motion.q - reference.q).max() < by_q
    # velocities up to 30 rad/s change in about 0.05 s
    assert np.abs(motion.v - reference.v).max() < 50.0 * by_q
    assert np.ptp(motion.energy()) < by_energy
    assert motion.norms[:, :2].max() < 1e-9
    # a change changes nothing: accelerations are those of the others on both sides of it
    assert np.abs(motion.a - reference.a).max() < 50.0**2 * by_q


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("coordinate", ["A", "B", "C"])
def test_a_named_coordinate_stays_and_ends_the_march(name: str, coordinate: str) -> None:
    model, start = rockers()
    reference = exact(model, start, 3.0, 3001)
    speed = reference.v[:, model.v_names.index(coordinate)]
    turned = reference.t[1:][speed[1:] * speed[:-1] < 0.0]
    said = rf"'{coordinate}' is at its turning point there.*leave the choice to MatrixR\(\).*ALI3P or Index1"
    with pytest.raises(mg.StepFailed, match=said) as caught:
        mg.simulate(model, start, duration=3.0, formulation=mg.formulations.MatrixR([coordinate]), **SCHEMES[name][0])
    last = caught.value.trajectory
    assert len(last.choices) == 1
    # the march may end at its first turning point, or at one where the whole linkage stands still, which is no dead one
    assert np.abs(turned - last.t[-1]).min() < 0.03
    assert float(str(caught.value).split("t = ")[1].split(" s")[0]) == pytest.approx(last.t[-1], abs=0.03)


@pytest.mark.parametrize("name", IDS)
def test_two_freedoms(name: str) -> None:
    how, by_q, _ = SCHEMES[name]
    model, start = whirling_five_bar()
    reference = exact(model, start, 1.7)
    motion = mg.simulate(model, start, duration=1.7, formulation="matrix-r", **({"samples": 171} | how))
    assert len(motion.choices) >= 3
    assert {len(chosen.independent) for chosen in motion.choices} == {2}
    assert np.abs(motion.q[-1] - reference.q[-1]).max() < by_q
    assert np.abs(reference.q[-1] - start.q).max() > 1.0


@pytest.mark.parametrize("tolerance", [1e-4, 1e-10, 1e-11, 1e-12])
def test_a_six_bar_is_not_thrown_back_from_a_dead_point(tolerance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """H3, as good as others at the start, stands still at 1.2466 s while the linkage moves on; thrown back, it had lost
    4.6 J."""
    begin_with(monkeypatch, 3)
    model = six_bar()
    reference = exact(model, np.zeros(5), 2.0)
    motion = mg.simulate(model, np.zeros(5), duration=2.0, formulation="matrix-r", rtol=tolerance, atol=tolerance)
    assert np.ptp(reference.kinetic_energy()) > 4.0
    # about a thousand times the tolerance in coordinates (40 steps, errors grow); forces of 50 N m act on them
    assert np.abs(motion.q - reference.q).max() < 3e3 * tolerance + 1e-9
    assert np.ptp(motion.energy()) < 3e4 * tolerance + 1e-8


@pytest.mark.parametrize("name", IDS)
def test_redundant_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five closure rows four are solved; the fifth holds by itself."""
    begin_with(monkeypatch, 3)
    how, by_q, by_energy = SCHEMES[name]
    model = six_bar()
    reference = exact(model, np.zeros(5), 3.0)
    motion = mg.simulate(model, np.zeros(5), duration=3.0, formulation="matrix-r", samples=201, **how)
    assert len(motion.constraint_names) == 5
    assert len(motion.choices) >= 2
    assert {len(chosen.rows) for chosen in motion.choices} == {4}
    assert len({chosen.rows for chosen in motion.choices}) > 1  # rows are exchanged, not only coordinates
    assert motion.norms[:, :2].max() < 1e-9
    assert np.abs(motion.q - reference.q).max() < by_q
    assert np.ptp(motion.energy()) < by_energy


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10, 1e-12])
def test_a_named_coordinate_of_the_six_bar_ends_at_once(tolerance: float) -> None:
    began = time.perf_counter()
    with pytest.raises(mg.StepFailed, match="'H3' is at its turning point") as caught:
        mg.simulate(
            six_bar(),
            np.zeros(5),
            duration=2.0,
            formulation=mg.formulations.MatrixR(["H3"]),
            rtol=tolerance,
            atol=tolerance,
        )
    assert time.perf_counter() - began < 60.0  # compilation included
    last = caught.value.trajectory
    assert last.t[-1] == pytest.approx(1.2466, abs=0.011)
    assert last.steps + last.rejected < 1000
    assert np.ptp(last.energy()) < 3e4 * tolerance


@pytest.mark.parametrize("names", [None, ["A"]], ids=["chosen", "named"])
@pytest.mark.parametrize("name", IDS)
def test_a_change_point_ends_the_march_clearly(name: str, names: list[str] | None) -> None:
    """Where all bars lie on one line the closure loses rank; parallelogram and antiparallelogram meet."""
    how, _, by_energy = SCHEMES[name]
    model, start = parallelogram()
    with pytest.raises(mg.StepFailed, match=r"lose their rank there \(a change point.* ALI3P\(\)") as caught:
        mg.simulate(model, start, duration=1.0, formulation=mg.formulations.MatrixR(names), **how)
    last = caught.value.trajectory
    assert "change point" in last.ended
    assert last.q[-1, 0] == pytest.approx(np.pi, abs=0.1)
    assert np.ptp(last.energy()) < by_energy


def test_a_slider_that_turns_round_ends_within_a_second() -> None:
    model = mg.gallery.slider_crank()
    start = mg.assemble(model, {"crank axis": 0.3})
    for _ in range(2):  # the first may compile
        began = time.perf_counter()
        with pytest.raises(mg.StepFailed, match=r"ends at t = 0\.4533.*'slide' is at its turning point") as caught:
            mg.simulate(model, start, duration=5.0, formulation=mg.formulations.MatrixR(["slide"]))
        took = time.perf_counter() - began
    assert took < 2.0
    assert caught.value.trajectory.steps + caught.value.trajectory.rejected < 1000


@pytest.mark.parametrize("formulation", ["index1", "matrix-r", "penalty"])
def test_a_march_without_progress_ends(formulation: str) -> None:
    """A force that jumps back and forth with every call leaves no step accurate but such of 1e-11 s."""
    plain, start = rockers()
    calls = [0]

    def jumping(t: float, g: FloatArray, gd: FloatArray) -> FloatArray:
        calls[0] += 1
        return np.array([5.0 * np.sin(1e3 * calls[0] ** 2)])

    def flat(t: float, g: FloatArray, gd: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.zeros((1, 1)), np.zeros((1, 1))

    noise = mg.forces.UserForce("noise", [mg.measures.JointCoordinate("A")], jumping, flat)
    model = mg.Model("noisy", plain.bodies, plain.joints, plain.points, gravity=plain.gravity, forces=[noise])
    with pytest.raises(mg.StepFailed, match=r"no progress any more.*shrink towards this instant.*rtol") as caught:
        mg.simulate(
            model, mg.state(model, start.q, start.v), duration=10.0, formulation=formulation, rtol=1e-11, atol=1e-11
        )
    last = caught.value.trajectory
    assert last.steps + last.rejected < 20_000
    assert "no progress" in last.ended


def test_what_was_chosen_is_told() -> None:
    model, start = rockers()
    motion = mg.simulate(model, start, duration=1.0, formulation="matrix-r", scheme="rk4", step=1e-3)
    first, *others = motion.choices
    assert first.t == 0.0
    assert others
    for chosen in motion.choices:
        assert set(chosen.independent) < set(model.q_names)
        assert chosen.rows == ("D: point x", "D: point y")
    # what is chosen anew is no coordinate that nearly stands still: it moves faster than that of before
    for before, chosen in zip(motion.choices, others, strict=False):
        k = round(chosen.t / 1e-3)
        assert motion.t[k] == pytest.approx(chosen.t, abs=1e-12)
        old, new = (abs(motion.v[k, model.v_names.index(x.independent[0])]) for x in (before, chosen))
        assert new > 2.0 * old
    assert exact(model, start, 0.1).choices == ()


@pytest.mark.parametrize("name", IDS)
def test_parts_and_little_room_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop condition has a march made in twenty parts; with room for one change it is begun again."""
    how = SCHEMES[name][0]
    model, start = rockers()
    whole = mg.simulate(model, start, duration=1.5, formulation="matrix-r", samples=151, **how)
    assert len(whole.choices) >= 3
    monkeypatch.setattr(choices_file, "FIRST_CAPACITY", 1)
    narrow = mg.simulate(model, start, duration=1.5, formulation="matrix-r", samples=151, **how)
    assert narrow.choices == whole.choices
    np.testing.assert_array_equal(narrow.q, whole.q)
    parts = mg.simulate(
        model, start, duration=1.5, formulation="matrix-r", samples=151, stop=lambda t, q, v: t + 1.0, **how
    )
    assert len(parts.choices) == len(whole.choices)
    # steps of order eight are others in each part; guesses of implicit ones begin anew, within their tolerance
    assert np.abs(parts.q - whole.q).max() < {"rk4": 1e-12, "dop853": 1e-7}.get(name, 1e-6)


@pytest.mark.parametrize("name", IDS)
def test_a_stop_condition_beyond_a_change(name: str) -> None:
    how, by_q, _ = SCHEMES[name]
    model, start = rockers()
    motion = mg.simulate(
        model, start, duration=1.5, formulation="matrix-r", samples=151, stop=lambda t, q, v: t - 1.2345, **how
    )
    assert motion.ended == "stop"
    assert motion.t[-1] == pytest.approx(1.2345, abs=1e-9)
    assert [chosen.t for chosen in motion.choices if 0.0 < chosen.t < 1.2345]
    reference = exact(model, start, 1.2345, 3)
    assert np.abs(motion.q[-1] - reference.q[-1]).max() < by_q


@pytest.mark.parametrize("name", ["rk4", "trapezoidal", "generalized-alpha"])
def test_few_samples_and_the_order_of_a_scheme(name: str) -> None:
    """A change falls between reports; halving the step divides the error by 2^order, changes included."""
    scheme, order = SCHEMES[name][0]["scheme"], {"rk4": 4.0}.get(name, 2.0)
    model, start = rockers()
    reference = exact(model, start, 1.5, 16)
    how = {"duration": 1.5, "formulation": mg.formulations.MatrixR(tolerance=1e-13), "scheme": scheme}
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        few = mg.simulate(model, start, samples=16, step=step, **how)
        assert len(few.choices) >= 3
        errors.append(np.abs(few.q - reference.q).max())
    every = mg.simulate(model, start, step=5e-4, **how)
    np.testing.assert_allclose(every.q[-1], few.q[-1], rtol=0.0, atol=1e-13)
    assert every.choices == few.choices
    # long steps of order four still feel terms of order five here
    assert order - 0.2 < np.log2(errors[0] / errors[2]) / 2.0 < order + 0.6
