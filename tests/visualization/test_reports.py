"""Pages about motions and gradients: they stand alone, say what the results say, and let nothing out of its place."""

from __future__ import annotations

import dataclasses
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery
from mechgrad.visualization.reports import report_parts
from mechgrad.visualization.three import ViewerUnavailableError


class Reader(HTMLParser):
    """Texts by tag, rows of tables, attributes, and the tags that stay open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.rows: list[list[str]] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, key, value) for key, value in attrs]
        if tag == "tr":
            self.rows.append([])
        if tag not in {"meta", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and data.strip():
            self.texts.append((self.open[-1], data))
            if self.open[-1] in ("td", "th"):
                self.rows[-1].append(data)

    def under(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]

    def row(self, first: str) -> list[str]:
        return next(row for row in self.rows if row and row[0] == first)

    def policy(self) -> str:
        return next(value or "" for tag, key, value in self.attributes if (tag, key) == ("meta", "content")
                    and value and value.startswith("default-src"))  # fmt: skip


@pytest.fixture(scope="module")
def linkage() -> mg.Trajectory:
    model = gallery.five_bar()
    return mg.simulate(model, mg.state(model, gallery.five_bar_start()), 0.2, step=0.01)


def test_a_motion_as_a_page(linkage: mg.Trajectory, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    measures = {"tip": mg.measures.PointPosition("P2"), "A": mg.measures.JointCoordinate("A")}
    assert linkage.report(path, measures, title="A five-bar falls") == path
    assert not list(tmp_path.glob("*.part"))
    text = path.read_text(encoding="utf-8")
    read = Reader(text)
    assert read.open == []
    assert read.under("h1") == ["A five-bar falls"]
    assert read.under("h2") == [
        "The motion", "To be seen", "Measures", "Coordinates, velocities, energies", "What the joints carry",
        "The model", "How it was made", "What it took",
    ]  # fmt: skip
    tip = linkage.measured(measures["tip"])
    assert [float(x) for x in read.row("tip y [m]")[1:]] == pytest.approx(
        [tip[0, 1], tip[-1, 1], tip[:, 1].min(), tip[:, 1].max()], rel=1e-5
    )
    assert float(read.row("energy [J]")[1].split()[0]) == pytest.approx(linkage.energy()[0], rel=1e-7)
    assert read.row("23")[1:3] == ["1.5", "(0.901388, 0, 0)"]
    assert read.row("B")[1:4] == ["Revolute", "ground", "3B"]
    assert read.row("steps")[1] == "20"
    assert "degrees of freedom      2" in text
    assert re.search(r"s for 0.2 s of motion, .* µs per step", " ".join(read.row("time of the motion")))
    assert f"mechgrad {mg.__version__}" in read.under("footer")[0]


def test_pages_stand_alone_and_allow_only_what_they_need(linkage: mg.Trajectory, tmp_path: Path) -> None:
    moving = Reader(linkage.report(tmp_path / "a.html", reactions=False).read_text(encoding="utf-8"))
    frames = [value for tag, key, value in moving.attributes if (tag, key) == ("iframe", "srcdoc")]
    assert len(frames) == 1
    assert "<!DOCTYPE html>" in (frames[0] or "")
    assert "connect-src" not in moving.policy()  # which default-src 'none' forbids
    assert moving.policy().startswith("default-src 'none'")
    assert "script-src 'unsafe-inline'" in moving.policy()
    still = linkage.report(tmp_path / "b.html", animated=False, reactions=False).read_text(encoding="utf-8")
    assert "script" not in Reader(still).policy()
    assert "iframe" not in still
    for read in (moving, Reader(still)):
        for tag, key, value in read.attributes:
            if key in ("src", "href"):
                assert (value or "").startswith("data:"), tag
    assert (tmp_path / "a.html").stat().st_size < 1_500_000


def test_names_stay_in_their_places(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>$x"
    model = mg.Model(evil, [mg.Body("bob", 1.0, (0, 0, -1))], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))])
    motion = mg.simulate(model, {"pin": 0.5}, 0.05, step=0.01)
    text = motion.report(tmp_path / "x.html", {evil: mg.measures.JointCoordinate("pin")}).read_text(encoding="utf-8")
    read = Reader(text)
    assert read.open == []
    assert "<script" not in text
    assert read.under("h1") == [evil]


def test_a_gradient_as_a_page(linkage: mg.Trajectory, tmp_path: Path) -> None:
    asked = {"energy": mg.AtEnd(mg.measures.KineticEnergy()), "height": mg.AtEnd(mg.measures.JointCoordinate("A"))}
    g = mg.gradient(linkage, asked, ["A1.mass", "S1.stiffness"])
    read = Reader(g.report(tmp_path / "g.html").read_text(encoding="utf-8"))
    assert read.open == []
    assert read.under("h2") == [
        "Derivatives", "In pictures", "Certificate", "What is in it", "To be seen", "The model", "How it was made",
        "What it took",
    ]  # fmt: skip
    assert any(text.startswith("passed: all 2 x 2 entries agree") for text in read.under("p"))
    rows = [row for row in read.rows if row and row[0] == "S1.stiffness"]
    assert [row[2] for row in rows] == ["N/m", "N/m"]
    assert [float(row[3]) for row in rows] == pytest.approx(g["S1.stiffness"].tolist(), rel=1e-6)
    assert [float(row[4]) for row in rows] == pytest.approx(g.relative()[:, 1].tolist(), rel=1e-3)
    assert read.row("method")[1] == g.choice
    plain = g.report(tmp_path / "h.html", certify=False, animated=False).read_text(encoding="utf-8")
    assert "These derivatives were not certified." in plain


def test_motions_of_files_and_of_drivers_are_reported(linkage: mg.Trajectory, tmp_path: Path) -> None:
    mg.io.save_trajectory(linkage, tmp_path / "run")
    saved = mg.io.load_trajectory(tmp_path / "run")
    text = saved.report(tmp_path / "saved.html", animated=False).read_text(encoding="utf-8")
    assert "magnitudes of forces and couples" in text
    np.testing.assert_allclose(saved.reactions().force, linkage.reactions().force, rtol=1e-12, atol=1e-9)
    assert "not known: it was read from a file" in text
    bob = mg.Body("bob", 2.0, (0, 0, -1.0))
    pin = mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))])
    guided = mg.kinematic_motion(pin, [0.0, 0.1, 0.2], {"pin": mg.functions.Polynomial((0, 2))})
    text = guided.report(tmp_path / "guided.html", animated=False).read_text(encoding="utf-8")
    assert Reader(text).row("driven")[1] == "('pin',)"


def test_without_what_draws_animations_a_page_says_what_to_install(
    linkage: mg.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> str:
        raise ViewerUnavailableError("animations need trimesh: pip install mechgrad[viz]")

    monkeypatch.setattr(report_parts, "animation_html", missing)
    text = linkage.report(tmp_path / "x.html", reactions=False).read_text(encoding="utf-8")
    assert "No animation: animations need trimesh: pip install mechgrad[viz]" in text


def test_what_cannot_be_reported_is_told_before_anything_is_made(
    linkage: mg.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    q = linkage.q.copy()
    q[3, 2] = np.nan
    with pytest.raises(mg.InputError, match=r"q of the motion is nan at t = 0\.03 s, and 1 numbers are not finite"):
        dataclasses.replace(linkage, q=q).report(tmp_path / "x.html")
    with pytest.raises(mg.InputError, match=r"ends with .html, not 'run.pdf'"):
        linkage.report(tmp_path / "run.pdf")
    with pytest.raises(mg.InputError, match="there is no folder"):
        linkage.report(tmp_path / "nowhere" / "x.html")
    with pytest.raises(mg.InputError, match="is no measure such as"):
        linkage.report(tmp_path / "x.html", [3.0])
    many = mg.simulate(gallery.double_pendulum(), np.full((3, 2), 0.1), 0.02, step=0.01)
    with pytest.raises(mg.InputError, match="3 motions side by side"):
        many.report(tmp_path / "x.html")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(mg.InputError, match=r"pip install mechgrad\[viz\]"):
        linkage.report(tmp_path / "x.html")
    assert not list(tmp_path.glob("*.html"))
