"""Plots: the curves are those that were given, and what is missing is said."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import mechgrad as mg
from mechgrad import gallery
from mechgrad.errors import InputError, MechgradError
from mechgrad.visualization import plot_demo, plot_sensitivities, plot_torques
from mechgrad.visualization.plots import style

T = np.linspace(0.0, 1.0, 20)
CURVES = np.column_stack([np.sin(k * T) for k in range(1, 10)])
NAMES = [f"joint {k}" for k in range(1, 10)]


def test_matplotlib_is_asked_for_only_when_drawing_and_its_absence_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MechgradError, match=r"pip install mechgrad\[viz\]") as caught:
        plot_torques(T, CURVES, NAMES)
    assert isinstance(caught.value, ImportError)


def test_torques_are_drawn_as_given() -> None:
    axes = plot_torques(T, CURVES, NAMES).axes[0]
    for k, line in enumerate(axes.lines):
        np.testing.assert_array_equal(line.get_ydata(), CURVES[:, k])
        assert line.get_label() == NAMES[k]
    # More curves than colours: the line style tells them apart.
    looks = [(line.get_color(), line.get_linestyle()) for line in axes.lines]
    assert len(set(looks)) == len(looks) == 9
    assert "s]" in axes.get_xlabel()
    assert "N m" in axes.get_ylabel()


def test_curves_go_into_given_axes() -> None:
    figure = Figure()
    axes = figure.add_subplot()
    assert plot_sensitivities(T, {"a": CURVES[:, 0], "b": CURVES[:, 1]}, axes=axes) is figure
    assert len(axes.lines) == 2


def test_shapes_are_checked() -> None:
    with pytest.raises(InputError, match=r"\(20,\).*\(20, 9\).*2 names"):
        plot_torques(T, CURVES, ["a", "b"])


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_demo_picture(tmp_path: Path, ending: str, magic: bytes) -> None:
    path = tmp_path / f"demo.{ending}"
    assert plot_demo(T, {"hip": CURVES[:, 0]}, {"a": CURVES[:, 1], "b": CURVES[:, 2]}, path, title="demo") == path
    assert path.read_bytes().startswith(magic)


def test_unknown_picture_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"demo\.doc.*png"):
        plot_demo(T, {"hip": CURVES[:, 0]}, {"a": CURVES[:, 1]}, tmp_path / "demo.doc")


# ---------------------------------------------------------------------------------------------- any result, one call
@pytest.fixture(scope="module")
def linkage() -> mg.Trajectory:
    return mg.simulate(gallery.five_bar(), gallery.five_bar_start(), 0.2, step=0.01)


@pytest.fixture(scope="module")
def loose() -> mg.Trajectory:
    """A slider that carries a ball joint: metres, radians per second, and Euler parameters."""
    bodies = [mg.Body("cart", 2.0), mg.Body("bob", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.05))]
    joints = [mg.Prismatic("x", "ground", "cart", axis=(1, 0, 0)), mg.Spherical("ball", "cart", "bob")]
    model = mg.Model("loose", bodies, joints)
    return mg.simulate(model, mg.state(model, model.neutral(), [0.3, 1.0, 0.5, 2.0]), 0.2, step=0.01)


def labelled(figure: Figure) -> None:
    """Every axis of a history says its unit, every curve beside another has a name, and nothing is hidden in it."""
    figure.canvas.draw()
    for axes in figure.axes:
        assert "[" in axes.get_ylabel(), axes.get_ylabel()
        assert "[" in axes.get_xlabel(), axes.get_xlabel()
        shown = axes.get_legend()
        if len([line for line in axes.lines if line.get_label()[0] != "_"]) > 1:
            named = {text.get_text() for text in shown.get_texts()}
            assert {line.get_label() for line in axes.lines if line.get_label()[0] != "_"} == named
            corner = shown.get_window_extent().x0
            assert corner >= axes.get_window_extent().x1  # beside the curves, not upon them


def test_coordinates_are_grouped_by_unit_and_euler_parameters_left_out(loose: mg.Trajectory) -> None:
    figure = loose.plot()
    labelled(figure)
    assert [(ax.get_title("left"), ax.get_ylabel()) for ax in figure.axes] == [
        ("coordinates", "length [m]"), ("velocities", "velocity [m/s]"),
        ("velocities", "angular velocity [rad/s]"), ("energy", "energy [J]"),
    ]  # fmt: skip
    drawn = [line.get_label() for ax in figure.axes for line in ax.lines]
    assert drawn[:5] == ["x", "x", "ball.wx", "ball.wy", "ball.wz"]
    np.testing.assert_array_equal(figure.axes[2].lines[1].get_ydata(), loose.v[:, 2])


def test_measures_are_grouped_by_unit(linkage: mg.Trajectory) -> None:
    measures = [mg.measures.PointPosition("P2"), mg.measures.Distance("P1", "P2"), mg.measures.KineticEnergy()]
    figure = mg.plots.histories(linkage, "A", *measures)
    labelled(figure)
    assert [ax.get_ylabel() for ax in figure.axes] == ["angle [rad]", "length [m]", "energy [J]"]
    names = [line.get_label() for line in figure.axes[1].lines]
    assert names == [*(f"PointPosition(P2) {x}" for x in "xyz"), "Distance(P1, P2)"]
    np.testing.assert_array_equal(figure.axes[1].lines[3].get_ydata(), linkage.measured(measures[1]))
    titled = linkage.plot({"where $it is": measures[0]})
    assert [line.get_label() for line in titled.axes[0].lines] == ["x", "y", "z"]
    titled.canvas.draw()  # a dollar in a name begins no formula


@pytest.mark.parametrize("name", mg.measures.__all__)
def test_every_measure_says_the_units_of_its_docstring(name: str) -> None:
    kind = getattr(mg.measures, name)
    if kind.unit:
        known = (kind.__doc__ or "").replace("^2", "²")
        assert f"[{kind.unit}]" in known or f"[{kind.unit}," in known, name
    else:
        assert name in {"Measure", "GeometricMeasure", "Multiplier"} or "columns" in {
            key for one in kind.__mro__ if one is not mg.measures.Measure for key in vars(one)
        }, f"{name} has no unit"


def test_units_that_only_a_model_knows(linkage: mg.Trajectory, loose: mg.Trajectory) -> None:
    M = mg.measures
    assert M.JointVelocity("x").columns(loose.model) == (("", "m/s"),)
    assert M.JointAcceleration("ball.wx").columns(loose.model) == (("", "rad/s²"),)
    assert M.JointCoordinate("A").columns(linkage.model) == (("", "rad"),)
    assert M.PointVelocity("bob.spin").columns(loose.model)[0] == ("x", "rad/s")
    assert M.PointVelocity("bob.com").columns(loose.model)[0] == ("x", "m/s")
    assert M.Effort("S1").columns(linkage.model) == (("length", "N"),)
    assert [unit for _, unit in M.JointReaction("A").columns(linkage.model)] == ["N m"] * 3 + ["N"] * 3


def test_many_curves_keep_a_legend_of_the_largest() -> None:
    motion = mg.simulate(gallery.chain(20), np.linspace(0.1, 0.9, 20), 0.05, step=0.01)
    figure = motion.plot()
    labelled(figure)
    named = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert len(named) == style.NAMED + 1
    assert named[-1] == "8 that vary less"
    assert len(figure.axes[0].lines) == 20


def test_pictures_of_a_motion(linkage: mg.Trajectory, loose: mg.Trajectory) -> None:
    energies = mg.plots.energies(linkage)
    labelled(energies)
    first = linkage.potential_energy()[0]  # so much that what changes would not be seen
    assert energies.axes[0].lines[1].get_label() == f"gravity, less {first:.4g} J"
    np.testing.assert_allclose(energies.axes[0].lines[-1].get_ydata(), linkage.energy() - first, atol=1e-11)
    norms = mg.plots.constraint_norms(linkage)
    labelled(norms)
    np.testing.assert_array_equal(norms.axes[0].lines[1].get_ydata(), np.maximum(linkage.norms[:, 1], 1e-18))
    with pytest.raises(InputError, match="'loose' has no constraints"):
        mg.plots.constraint_norms(loose)
    phase = mg.plots.phase(loose)
    assert [ax.get_xlabel() for ax in phase.axes] == ["x [m]"]
    np.testing.assert_array_equal(phase.axes[0].lines[0].get_xydata(), np.column_stack([loose.q[:, 0], loose.v[:, 0]]))
    every = mg.plots.reactions(linkage)
    labelled(every)
    found = linkage.reactions()
    assert [line.get_label() for line in every.axes[0].lines] == list(found.names)
    np.testing.assert_allclose(
        every.axes[0].lines[2].get_ydata(), np.linalg.norm(found.of(found.names[2]).force, axis=1), rtol=1e-12
    )
    one = mg.plots.reactions(linkage, "A", axes="child")
    np.testing.assert_array_equal(one.axes[0].lines[1].get_ydata(), linkage.reactions("child").of("A").force[:, 1])
    assert one.axes[0].get_title("left") == "joint A, child axes"


def test_torques_with_limits_say_how_much_is_used() -> None:
    figure = mg.plots.torques(T, CURVES[:, :3], ["a", "b", "c"], limits={"a": 2.0, "c": 0.5})
    labelled(figure)
    assert [ax.get_title("left") for ax in figure.axes] == [
        f"a: {50 * CURVES[:, 0].max():.0f} % of its limit", f"c: {200 * np.abs(CURVES[:, 2]).max():.0f} % of its limit"
    ]  # fmt: skip
    assert not figure.axes[0].collections
    assert len(figure.axes[1].collections) == 1  # what lies beyond
    for limits, told in (
        ({"d": 1.0}, "the torques"), ([1.0, 2.0], r"limits have shape \(2,\), and there are 3 curves"),
        (-1.0, "the limit of 'a' is -1"), (np.inf, "no curve has a limit"),
    ):  # fmt: skip
        with pytest.raises(MechgradError, match=told):
            mg.plots.torques(T, CURVES[:, :3], ["a", "b", "c"], limits=limits)


# ------------------------------------------------------------------------------------------------------ sensitivities
@pytest.fixture(scope="module")
def gradient(linkage: mg.Trajectory) -> mg.Gradient:
    asked = {"energy": mg.AtEnd(mg.measures.KineticEnergy()), "tip": mg.AtEnd(mg.measures.PointPosition("P2"))}
    return mg.gradient(linkage, asked, ["A1.mass", "12.mass", "S1.stiffness"])


def test_gradients_have_a_scale_per_unit(gradient: mg.Gradient) -> None:
    figure = gradient.plot(relative=False)
    grid = np.array(figure.axes).reshape(2, 4)
    assert [ax.get_xlabel() for ax in grid[:, 0]] == ["derivative per kg", "derivative per N/m"]
    assert [len(ax.patches) for ax in grid[:, 0]] == [2, 1]
    assert [bar.get_width() for bar in grid[0, 0].patches] == gradient.array[0, :2].tolist()
    assert grid[1, 1].patches[0].get_width() == gradient["tip[0]", "S1.stiffness"]
    assert grid[0, 1].get_title("left").startswith("tip[0] = ")


def test_gradients_of_mixed_units_are_relative_by_themselves(gradient: mg.Gradient, linkage: mg.Trajectory) -> None:
    figure = gradient.plot()
    assert [ax.get_xlabel() for ax in figure.axes] == ["per cent per per cent"] * 4
    assert [bar.get_width() for bar in figure.axes[0].patches] == gradient.relative()[0].tolist()
    # nothing is hidden: a number that is zero has no relative sensitivity
    by_zero = mg.gradient(linkage, mg.AtEnd(mg.measures.KineticEnergy()), ["A1.mass", "gravity.x"])
    assert by_zero["gravity.x"] != 0.0
    assert by_zero.plot().axes[0].get_xlabel() == "derivative per kg"
    with pytest.raises(InputError, match="say nothing"):
        mg.gradient(linkage, mg.AtEnd(lambda x: 0.0 * x, mg.measures.JointCoordinate("A")), ["A1.mass"]).plot(
            relative=True
        )


def test_histories_of_sensitivities_say_per_what(linkage: mg.Trajectory) -> None:
    found = mg.motion_sensitivities(linkage, ["A1.mass", "S1.stiffness"])
    figure = found.plot()
    labelled(figure)
    assert [ax.get_ylabel() for ax in figure.axes] == ["change [rad per kg]", "change [rad per N/m]"]
    np.testing.assert_array_equal(figure.axes[1].lines[2].get_ydata(), found.q[:, 2, 1])
    energy = found.plot(mg.measures.KineticEnergy(), mg.measures.PointPosition("P2"))
    labelled(energy)
    assert [ax.get_ylabel() for ax in energy.axes[:2]] == ["change [J per kg]", "change [m per kg]"]
    np.testing.assert_array_equal(
        energy.axes[3].lines[1].get_ydata(), found.of(mg.measures.PointPosition("P2"))[:, 1, 1]
    )


def test_a_map_of_a_matrix_names_joints_and_groups_units(loose: mg.Trajectory) -> None:
    D = mg.inverse_dynamics_derivatives(loose.model, loose.q, loose.v, loose.a)
    figure = mg.plots.sensitivity_matrix(loose.model, D, "v", sample=3)
    blocks = [ax for ax in figure.axes if ax.get_title("left")]
    assert [ax.get_title("left") for ax in blocks] == [
        "dtau/dv [N/(m/s)]", "dtau/dv [N/(rad/s)]", "dtau/dv [N m/(m/s)]", "dtau/dv [N m/(rad/s)]"
    ]  # fmt: skip
    np.testing.assert_array_equal(blocks[3].images[0].get_array(), D.dv.dense()[3][1:, 1:])
    assert [text.get_text() for text in blocks[3].get_yticklabels()] == ["ball.wx", "ball.wy", "ball.wz"]
    mean = mg.plots.sensitivity_matrix(loose.model, D, "v")
    wanted = np.sqrt(np.mean(D.dv.dense() ** 2, axis=0))[:1, 1:]
    np.testing.assert_allclose(mean.axes[1].images[0].get_array(), wanted, rtol=1e-12)
    for by, sample, told in (("p", None, "by is 'p'"), ("q", 99, "sample is 99")):
        with pytest.raises(InputError, match=told):
            mg.plots.sensitivity_matrix(loose.model, D, by, sample=sample)


# ---------------------------------------------------------------------------------------------------------- bad input
def test_numbers_that_are_none_are_told_with_their_place(linkage: mg.Trajectory) -> None:
    curves = CURVES.copy()
    curves[7, 2] = np.nan
    with pytest.raises(InputError, match=r"'joint 3' is nan at t = 0\.368421 s, and 1 of 180 numbers"):
        plot_torques(T, curves, NAMES)
    q = linkage.q.copy()
    q[4, 1] = np.inf
    broken = dataclasses.replace(linkage, q=q)
    with pytest.raises(InputError, match=r"cannot plot coordinates: '1' is inf at t = 0\.04 s"):
        broken.plot()
    with pytest.raises(InputError, match=r"cannot plot a phase portrait: '1' is inf"):
        mg.plots.phase(broken, "1")
    with pytest.raises(InputError, match="there is no instant"):
        plot_torques([], np.zeros((0, 1)), ["a"])


def test_what_is_not_there_is_told_with_what_is(linkage: mg.Trajectory) -> None:
    with pytest.raises(InputError, match=r"there are Angle, AngularMomentum, .*PointPosition"):
        linkage.plot(3.0)
    with pytest.raises(MechgradError, match=r"unknown coordinate 'B1'.*Known: A, 1, 2, 3"):
        linkage.plot("B1")
    with pytest.raises(MechgradError, match="joint 'Z'"):
        mg.plots.reactions(linkage, "Z")
    with pytest.raises(InputError, match="nothing to plot"):
        mg.plots.histories(linkage)
    with pytest.raises(InputError, match="cannot plot Model as a motion: it has no model, t, q, v, a"):
        mg.plots.phase(linkage.model)
    with pytest.raises(InputError, match="is no answer of a solver"):
        mg.plots.convergence(linkage)
    many = mg.simulate(gallery.double_pendulum(), np.full((3, 2), 0.1), 0.02, step=0.01)
    with pytest.raises(InputError, match=r"3 motions side by side; draw one of them: motion\.rows\(\)\[0\]"):
        many.plot()


def test_the_height_of_the_origin_does_not_hide_what_changes() -> None:
    """A kilometre up, energies are those below, counted from the start, and the legend says so."""
    bob = mg.Body("bob", mass=2.0, com=(0, 0, -1.0))
    high = mg.Model("high", [bob], [mg.Revolute("pin", "ground", "bob", (0, 0, 1000.0), axis=(0, 1, 0))])
    axes = mg.plots.energies(mg.kinematic_motion(high, [0.0, 0.5], {"pin": mg.functions.Polynomial((0, 2))})).axes[0]
    assert axes.lines[1].get_label() == "gravity, less 1.96e+04 J"
    np.testing.assert_allclose(axes.lines[1].get_ydata(), [0.0, 19.62 * (1 - np.cos(1.0))], atol=1e-9)
    np.testing.assert_allclose(axes.lines[2].get_ydata()[0], axes.lines[0].get_ydata()[0], atol=1e-9)


@pytest.mark.parametrize("kind", ["histories", "energies", "phase", "reactions", "constraint_norms", "motion"])
def test_without_matplotlib_every_plot_says_what_to_install(
    kind: str, linkage: mg.Trajectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MechgradError, match=r"pip install mechgrad\[viz\]"):
        getattr(mg.plots, kind)(linkage, *(["A"] if kind == "histories" else []))


def test_the_style_of_a_users_own_plots_stays_theirs(linkage: mg.Trajectory) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    linkage.plot()
    assert dict(mpl.rcParams) == before


def test_no_window_and_no_global_state() -> None:
    """pyplot keeps figures and opens windows; nothing of ours imports it."""
    for path in Path(mg.__file__).parent.rglob("*.py"):
        assert "pyplot" not in path.read_text().replace("without pyplot", "").replace("no pyplot", ""), path
