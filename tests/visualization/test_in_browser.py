"""Pages in a real browser: no complaint, no request, play, scrub and switches act, and every picture is as it was.

Pictures are compared by what is seen from some way off: both are reduced and blurred, and no place may differ by much.
`MECHGRAD_NEW_PICTURES=1` writes them anew; whoever does that looks at each of them.
"""

from __future__ import annotations

import io
import os
import re
import time
from base64 import b64decode
from collections.abc import Iterator
from html import escape
from pathlib import Path

import numpy as np
import pytest
from browser_driver import Page, browser, need_browser
from drawn_motions import pendulum, swing
from gallery_scenes import SCENES, five_bar
from PIL import Image, ImageFilter

import mechgrad as mg
from mechgrad.visualization import animation_html, save_scene, scene_of, view

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
SIZE = (480, 300)
DIFFERENT = 12.0  # of 255 levels: what two blurred pictures may differ by in one place
FAR_OFF = (60, 38), 1.0  # size that pictures are reduced to, and radius of the blur


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    need_browser()
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


def opened(page: Page, text: str, folder: Path) -> Page:
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return page.open(path.as_uri())


def test_a_file_opens_alone(page: Page, tmp_path: Path) -> None:
    opened(page, animation_html(five_bar()), tmp_path)
    state = page.state()
    assert state["triangles"] > 1000
    assert page.complaints() == []
    assert page.requests() == [(tmp_path / "page.html").as_uri()]


def test_a_fragment_shows_within_a_page_that_lets_scripts_run(page: Page, tmp_path: Path) -> None:
    fragment = animation_html(scene_of(swing(pendulum())), standalone=False)
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
    text = f'<meta http-equiv="Content-Security-Policy" content="{policy}"><div id="message"></div>{fragment}'
    opened(page, text.replace('id="message"', 'id="message" data-x=""'), tmp_path)
    end = time.monotonic() + 60
    ready = "const f = document.querySelector('iframe'); f.scrollIntoView(); return Boolean(f.contentWindow.mechgrad)"
    while not page.run(ready):
        assert time.monotonic() < end, page.complaints()
        time.sleep(0.05)
    assert page.run("return document.querySelector('iframe').contentWindow.mechgrad.state().duration") == 1.0
    assert page.complaints() == []


def test_the_viewer_shows_the_same(page: Page) -> None:
    with view(swing(pendulum()), open_browser=False, block=False) as viewer:
        page.open(viewer.url)
        assert page.state()["duration"] == pytest.approx(1.0, abs=1e-6)
        assert page.complaints() == []
        assert page.requests() == [viewer.url]


def heard(page: Page, what: str, wanted: object) -> None:
    """Wait until the page has heard so much of a march."""
    end = time.monotonic() + 60
    while (page.state()["heard"] or {}).get(what) != wanted:
        assert time.monotonic() < end, page.state()
        time.sleep(0.02)


def test_a_march_is_seen_while_it_goes_on(page: Page) -> None:
    hinge = mg.Revolute("pin", "ground", "bob", child_origin=(0, 0, 1), axis=(0, 1, 0))
    shifted = mg.Model("swing", [mg.Body("bob", 2.0)], [hinge])
    with view(shifted, live=True, open_browser=False) as viewer:
        page.open(viewer.url)
        assert page.run("return getComputedStyle(document.getElementById('play')).display") == "none"
        for number, angle in enumerate((0.3, -1.2, 1.9), start=1):
            viewer.follow(10.0 * number, np.array([angle]))
            heard(page, "poses", number)
            expected = scene_of(mg.state(shifted, [angle])).p[0, 0]
            np.testing.assert_allclose(page.run("return mechgrad.position('bob')"), expected, atol=1e-6)
        assert page.state()["time"] == 30.0
        assert page.run("return document.getElementById('clock').value") == "30.000 s"
        told: list[float] = []

        def watch(t: float, q: np.ndarray) -> None:
            told.append(t)
            viewer.follow(t, q)

        motion = mg.simulate(shifted, [2.0], 30.0, step=1e-3, progress=watch)
        assert len(told) >= 2
        end = time.monotonic() + 60
        while page.state()["time"] != motion.t[-1]:
            assert time.monotonic() < end
        viewer.show(motion)
        ready = "return window.mechgrad ? mechgrad.state().duration : 0"  # the page turns to the whole motion
        while page.run(ready) != pytest.approx(30.0):
            assert time.monotonic() < end
            time.sleep(0.05)
        assert page.run("return getComputedStyle(document.getElementById('play')).display") != "none"
        with pytest.raises(mg.InputError, match="open one with live=True"):
            viewer.follow(0.0, motion.q[0])
        assert page.complaints() == []
        assert set(page.requests()) == {viewer.url, viewer.url + "live"}


def test_a_live_page_says_when_nothing_comes_any_more(page: Page) -> None:
    with view(pendulum(), live=True, open_browser=False) as viewer:
        page.open(viewer.url)
        viewer.follow(0.5, np.array([0.1]))
        heard(page, "poses", 1)
    heard(page, "over", "end")
    assert page.run("return document.getElementById('clock').value") == "0.50000 s (ended)"
    assert page.complaints() == []


def test_scrub_goes_to_the_time(page: Page, tmp_path: Path) -> None:
    motion = swing(pendulum(), n=41)
    shifted = mg.Model("swing", pendulum().bodies, [mg.Revolute("pin", "ground", "bob", child_origin=(0, 0, 1))])
    motion = swing(shifted, n=41)
    opened(page, animation_html(scene_of(motion)), tmp_path)
    page.run("const s = document.getElementById('scrub'); s.value = 0.5; s.dispatchEvent(new Event('input'));")
    state = page.state()
    assert state["time"] == pytest.approx(0.5, abs=1e-6)
    assert page.run("return document.getElementById('clock').value") == "0.50 / 1.00 s"
    expected = scene_of(motion).p[20, 0]
    np.testing.assert_allclose(page.run("return mechgrad.position('bob')"), expected, atol=1e-4)
    page.run("mechgrad.seek(0.5125)")  # between two instants
    between = 0.5 * (scene_of(motion).p[20, 0] + scene_of(motion).p[21, 0])
    np.testing.assert_allclose(page.run("return mechgrad.position('bob')"), between, atol=1e-4)


def test_play_moves_and_ends_or_begins_again(page: Page, tmp_path: Path) -> None:
    opened(page, animation_html(scene_of(swing(pendulum(), duration=2.0))), tmp_path)
    button = "document.getElementById('play').click();"
    assert page.state()["playing"] is False
    page.run(button)
    end = time.monotonic() + 30
    while page.state()["time"] == 0.0:
        assert time.monotonic() < end
    assert page.state()["playing"] is True
    page.run(button)
    stopped = page.state()["time"]
    time.sleep(0.2)
    assert page.state()["time"] == stopped
    page.run("document.getElementById('loop').click(); mechgrad.seek(1.95);" + button)
    while page.state()["playing"]:
        assert time.monotonic() < end
    assert page.state()["time"] == pytest.approx(2.0, abs=1e-6)
    page.run("const s = document.getElementById('speed'); s.value = '0.25'; s.dispatchEvent(new Event('change'));")
    page.run(button)  # from the end it begins at the start
    time.sleep(0.3)
    assert page.state()["time"] < 1.9


def test_switches_act(page: Page, tmp_path: Path) -> None:
    times = np.linspace(0, 1, 11)
    motion = mg.kinematic_motion(pendulum(), times, {"pin": mg.functions.Polynomial((0, 2))})
    scene = scene_of(motion, arrows=("velocities", "reactions"), trails=["bob.com"], ghost=swing(pendulum()))
    opened(page, animation_html(scene), tmp_path)
    layers = page.state()["layers"]
    assert {"bodies", "joints", "axes", "centres of mass", "velocities", "reactions", "trails", "ghost"} <= set(layers)
    seen = {}
    for name, on in layers.items():
        before = page.run("return mechgrad.picture(240, 150, null, 1)")
        page.run(f"document.querySelector('input[data-layer=\"{name}\"]').click()")
        assert page.state()["layers"][name] is not on
        seen[name] = page.run("return mechgrad.picture(240, 150, null, 1)") != before
        page.run(f"document.querySelector('input[data-layer=\"{name}\"]').click()")
    assert seen == dict.fromkeys(layers, True)
    label = page.run("return document.querySelector('input[data-layer=reactions]').parentElement.textContent")
    scale = next(layer.scale for layer in scene.arrows if layer.name == "reactions")
    assert label == f"reactions1 m = {1 / scale:g} N"
    page.run("document.getElementById('follow').click()")
    assert page.state()["follow"] is True


def test_curves_go_with_the_time(page: Page, tmp_path: Path) -> None:
    motion = mg.kinematic_motion(pendulum(), np.linspace(0, 1, 11), {"pin": mg.functions.Polynomial((0, 2))})
    opened(page, animation_html(scene_of(motion, measures=[mg.measures.JointCoordinate("pin")])), tmp_path)
    drawn = "return document.querySelector('#curves canvas').toDataURL()"
    first = page.run(drawn)
    page.run("mechgrad.seek(0.7)")
    assert page.run(drawn) != first
    page.run(
        "const c = document.getElementById('curves'); const e = new MouseEvent('click');"
        "Object.defineProperty(e, 'offsetX', {value: 8 + (c.clientWidth - 16) / 4}); c.dispatchEvent(e);"
    )
    assert page.state()["time"] == pytest.approx(0.25, abs=0.01)


def test_names_are_text_and_not_markup(page: Page, tmp_path: Path) -> None:
    name = '</script><img src=x onerror="window.hurt=1">'
    model = mg.Model(name, pendulum().bodies, pendulum().joints)
    opened(page, animation_html(scene_of(model)), tmp_path)
    assert page.run("return window.hurt") is None
    assert page.run("return document.getElementById('title').textContent") == name
    assert escape(name) not in page.run("return document.getElementById('layers').innerHTML")


# ---- pictures


def seen_from_far(data: bytes) -> np.ndarray:
    size, blur = FAR_OFF
    image = Image.open(io.BytesIO(data)).convert("RGB").resize(size, Image.Resampling.BOX)
    return np.asarray(image.filter(ImageFilter.GaussianBlur(blur)), float)


def taken(page: Page) -> bytes:
    """A picture of the page, as a file."""
    return b64decode(page.run(f"return mechgrad.picture({SIZE[0]}, {SIZE[1]})").partition(",")[2])


def difference(a: bytes, b: bytes) -> float:
    return float(np.abs(seen_from_far(a) - seen_from_far(b)).max())


@pytest.mark.parametrize("name", SCENES)
def test_pictures_are_as_they_were(name: str, page: Page, tmp_path: Path) -> None:
    wanted = SCENES[name]
    text = animation_html(wanted.scene(), strip=wanted.strip)
    assert len(text) < 2e6
    opened(page, text, tmp_path)
    page.run(f"mechgrad.seek({1e9 if wanted.at is None else wanted.at})")
    picture = taken(page)
    assert page.complaints() == []
    kept = IMAGES / f"seen-{name}.png"
    if os.environ.get("MECHGRAD_NEW_PICTURES"):
        small = Image.open(io.BytesIO(picture)).convert("RGB").quantize(256, dither=Image.Dither.FLOYDSTEINBERG)
        small.save(kept, optimize=True)
    assert difference(picture, kept.read_bytes()) < DIFFERENT


def test_the_comparison_sees_what_is_missing(page: Page, tmp_path: Path) -> None:
    """Without its springs, or a moment later, the five-bar is another picture."""
    kept = (IMAGES / "seen-five-bar.png").read_bytes()
    opened(page, animation_html(five_bar()), tmp_path)
    page.run("mechgrad.seek(0.6)")
    other = taken(page)
    assert difference(other, kept) > 2 * DIFFERENT
    page.run("mechgrad.seek(1e9); document.querySelector('input[data-layer=springs]').click()")
    without = taken(page)
    assert difference(without, kept) > DIFFERENT


# ---- files that the library's own browser draws


@pytest.mark.parametrize("name", ["still.png", "strip.png", "clip.gif", "film.mp4"])
def test_pictures_and_films(name: str, tmp_path: Path) -> None:
    need_browser()
    options = {"strip": 4} if name == "strip.png" else {"speed": 3.0} if name[-4:] in (".gif", ".mp4") else {"at": 0.5}
    path = save_scene(swing(pendulum()), tmp_path / name, size=(160, 120), **options)
    assert list(tmp_path.iterdir()) == [path]
    if name == "film.mp4":
        head = path.read_bytes()[:12]
        assert re.fullmatch(rb"....ftyp....", head, re.DOTALL)
        return
    with Image.open(path) as image:
        assert image.size == (160, 120)
        assert np.ptp(np.asarray(image.convert("L"))) > 60
        if name == "clip.gif":
            assert image.n_frames == 8  # a third of a second at twenty pictures per second, and the end
            first = np.asarray(image.convert("L"), float)
            image.seek(7)
            assert np.abs(np.asarray(image.convert("L"), float) - first).max() > 60
