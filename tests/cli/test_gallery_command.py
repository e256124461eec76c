"""`mechgrad gallery`, and the page that has the same table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mechgrad import gallery
from mechgrad.cli.gallery_command import listed, markdown_table
from mechgrad.cli.main import app
from mechgrad.cli.models import GALLERY, story

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gallery.md"


def test_all_are_listed_with_what_they_are() -> None:
    result = CliRunner().invoke(app, ["gallery"], env={"COLUMNS": "250"})
    assert result.exit_code == 0, result.output
    for name in GALLERY:
        assert re.search(rf"^ *{name} +\d+ +\d+ +{re.escape(story(name))}", result.output, re.MULTILINE), name


def test_bodies_and_freedoms_are_counted() -> None:
    found = {row.name: (row.bodies, row.freedoms) for row in listed()}
    assert list(found) == list(GALLERY)
    wanted = {
        "stewart_platform": (13, 6), "delta_robot": (10, 3), "theo_jansen_leg": (7, 1), "watts_linkage": (3, 1),
        "buggy": (18, 14), "bricard": (5, 1), "seven_body": (7, 1), "bicycle": (4, 3), "arm7": (7, 7),
        "slider_crank": (3, 1), "anchor": (64, 126),
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize("name", GALLERY)
def test_a_story_is_one_line_stated_where_the_mechanism_is(name: str) -> None:
    own = getattr(gallery, name).__doc__
    assert own.startswith(story(name))
    assert 20 < len(story(name)) <= 120
    assert story(name).endswith(".")
    assert "|" not in story(name)


def test_the_page_has_the_same_table() -> None:
    """If this fails: mechgrad gallery --markdown, between the two comments of the page."""
    text = PAGE.read_text()
    written = re.search(r"<!-- mechgrad gallery --markdown -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    assert written is not None
    assert written.group(1) == markdown_table(listed())
    result = CliRunner().invoke(app, ["gallery", "--markdown"])
    assert result.output == written.group(1) + "\n"
