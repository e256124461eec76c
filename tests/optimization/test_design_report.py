"""The page of an optimum: it stands alone, says what the optimum says, and no name gets out of its place."""

from __future__ import annotations

import base64
import re
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest
from support.design_cases import rest_to_rest, slider

import mechgrad as mg
from mechgrad.pages import Page, Paragraph, Section, Table

POSITION, EFFORT = mg.measures.JointCoordinate("x"), mg.measures.Effort("motor")
VOID = {"meta", "img", "br", "hr", "link"}


class Reader(HTMLParser):
    """Texts of a page by tag, attributes, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.texts, self.attributes, self.rows = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, key, value) for key, value in attrs]
        if tag == "tr":
            self.rows.append(([], dict(attrs).get("class")))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and data.strip():
            self.texts.append((self.open[-1], data))
            if self.open[-1] in ("td", "th"):
                self.rows[-1][0].append(data)

    def under(self, tag):
        return [text for name, text in self.texts if name == tag]


@pytest.fixture(scope="module")
def best() -> mg.design.Optimum:
    return rest_to_rest().solve()


@pytest.fixture(scope="module")
def page(best, tmp_path_factory) -> tuple[str, Reader]:
    path = tmp_path_factory.mktemp("report") / "run.html"
    measures = {"where it is": POSITION, "what it takes": EFFORT}
    assert best.report(path, measures, sensitivity=["block.mass"], title="A metre in a second") == path
    text = path.read_text(encoding="utf-8")
    assert not list(path.parent.glob("*.part"))
    return text, Reader(text)


def test_it_says_what_the_optimum_says(best, page):
    text, read = page
    assert read.open == []
    assert read.under("title") == read.under("h1") == ["A metre in a second"]
    assert read.under("h2") == [
        "Result", "Variables", "Limits", "Before and after", "Convergence", "Numbers that were held", "Gradients",
        "The question", "The model at its best", "What it took",
    ]  # fmt: skip
    rows = {row[0]: (row[1:], mark) for row, mark in read.rows if row}
    assert rows["objective at the end"][0] == [f"{best.value:.8g}"]
    for side in (*best.variables, *best.constraints):
        numbers, mark = rows[side.name]
        assert [float(x) for x in numbers] == pytest.approx(
            [side.value, side.lower, side.upper, side.multiplier], rel=1e-6
        )
        assert mark == ("marked" if side.active else None)
    assert rows["arrives"][1] == "marked"
    assert float(rows["block.mass"][0][0]) == pytest.approx(48.0, rel=1e-4)
    assert "passed: all 6 x 5 entries agree" in text
    assert "steps of 0.05 s" in text
    assert "Motor" in text
    assert f"mechgrad {mg.__version__}" in read.under("footer")[0]


def test_it_stands_alone(page):
    """No script, nothing from elsewhere, pictures as data."""
    text, read = page
    assert "<script" not in text
    assert ("meta", "http-equiv", "Content-Security-Policy") in read.attributes
    sources = [value for _, key, value in read.attributes if key in ("src", "href")]
    assert len(sources) == 5  # variables, limits, two measures, convergence
    for source in sources:
        head, _, data = source.partition(",")
        assert head == "data:image/svg+xml;base64"
        assert ET.fromstring(base64.b64decode(data)).tag == "{http://www.w3.org/2000/svg}svg"
    assert "http://" not in re.sub(r'src="[^"]*"', "", text)
    assert "https://" not in re.sub(r'src="[^"]*"', "", text)
    assert len(text) < 1_000_000


def test_the_same_optimum_is_the_same_page(best, tmp_path):
    first, second = (
        best.report(tmp_path / name, POSITION, certify=False).read_bytes() for name in ("a.html", "b.html")
    )
    assert first == second
    assert b"<h2>Gradients</h2>" not in first


def test_names_stay_in_their_places(tmp_path):
    """What a stranger called a model, a limit or a measure is text and nothing else."""
    evil = '<script>alert(1)</script> "& $x_\u0007'
    model = mg.Model(
        "<img src=x>", [mg.Body("block", mass=2.0)], [mg.Prismatic("x", "ground", "block", axis=(1, 0, 0))],
        gravity=(0, 0, 0),
    )  # fmt: skip
    motion = mg.simulate(model, {"x": 0.0}, 1.0, step=0.05)
    miss = mg.AtEnd(lambda x: (x - 1.0) ** 2, POSITION)
    limit = mg.design.Limit(mg.AtEnd(POSITION), upper=3.0, name=evil)
    found = mg.DesignProblem(motion, {"start.velocity.x": (-5.0, 5.0)}, miss, [limit]).solve()
    text = found.report(tmp_path / "x.html", {evil: POSITION}, certify=False, title=evil).read_text(encoding="utf-8")
    read = Reader(text)
    assert read.open == []
    assert not {tag for tag, _, _ in read.attributes} & {"script"}
    assert "<script" not in text
    assert "<img src=x>" not in text
    assert "\u0007" not in text
    assert read.under("h1") == ['<script>alert(1)</script> "& $x_']
    assert '<script>alert(1)</script> "& $x_' in read.under("td")


def test_failures_horizons_and_single_states_are_told(tmp_path):
    narrow = mg.AtEnd(lambda x: np.where(x > 6.0, np.nan, (x - 5.9) ** 2), POSITION)
    motion = mg.simulate(slider(), mg.state(slider(), [0.0], [1.0]), 5.0, step=0.1)
    best = mg.DesignProblem(motion, {"start.velocity.x": (0.0, 20.0)}, narrow).solve()
    text = best.report(tmp_path / "a.html", certify=False).read_text(encoding="utf-8")
    assert f"{len(best.failures)} of {len(best.history)} evaluations had no values" in text
    assert "at t = 5 s" in text
    grown = rest_to_rest().solve(horizons=[0.5]).report(tmp_path / "b.html", certify=False)
    assert "shorter horizon 1: converged" in grown.read_text(encoding="utf-8")
    state = mg.assemble(slider(), {"x": 0.2})
    turned = mg.DesignProblem(state, {"start.position.x": (0.0, 2.0)}, mg.AtEnd(lambda x: (x - 1.0) ** 2, POSITION))
    single = turned.solve().report(tmp_path / "c.html", POSITION)
    assert "passed" in single.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_told_first(best, tmp_path, monkeypatch):
    monkeypatch.setattr(mg.design.Optimum, "certify", lambda *_: pytest.fail("computed before the path was looked at"))
    with pytest.raises(mg.InputError, match=r"give a name that ends with .html, not 'run.pdf'"):
        best.report(tmp_path / "run.pdf")
    with pytest.raises(mg.InputError, match="there is no folder"):
        best.report(tmp_path / "nowhere" / "run.html")
    with pytest.raises(mg.InputError, match="is no measure such as"):
        best.report(tmp_path / "run.html", [mg.AtEnd(POSITION)], certify=False)
    (tmp_path / "taken.html").mkdir()
    with pytest.raises(mg.InputError, match="cannot be written: Is a directory"):
        best.report(tmp_path / "taken.html", certify=False)
    assert not list(tmp_path.glob("*.part"))
    assert not (tmp_path / "run.html").exists()


def test_without_matplotlib_it_says_what_to_install(best, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(mg.InputError, match=r"pip install mechgrad\[viz\]"):
        best.report(tmp_path / "run.html", certify=False)


def test_pages_are_made_of_any_parts():
    """What motions and gradients will use as well."""
    text = Page("a", [Section("empty"), Section("b", [Table(("", "x"), [["r", "1"], ["s", "2"]], [1])])], "c").html()
    read = Reader(text)
    assert read.under("h2") == ["b"]
    assert [row for row in read.rows if row[0]] == [(["x"], None), (["r", "1"], None), (["s", "2"], "marked")]
    assert read.under("p") == ["c"]
    assert Paragraph("<i>\u001b[2J").html() == "<p>&lt;i&gt;[2J</p>"
