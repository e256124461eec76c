"""Plots: the curves are those that were given, and what is missing is said."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from mechgrad.errors import InputError, MechgradError
from mechgrad.visualization import plot_demo, plot_sensitivities, plot_torques

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
