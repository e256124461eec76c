"""Files to look at: pages as text, endings, and what is missing."""

from __future__ import annotations

import builtins
import gzip
import json
import re
import socket
import urllib.error
import urllib.request
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_motions import pendulum, swing

import mechgrad as mg
from mechgrad.errors import InputError
from mechgrad.visualization import animation_html, save_scene, scene_of, view
from mechgrad.visualization.browser import BrowserMissingError
from mechgrad.visualization.three import ViewerUnavailableError, three_js
from mechgrad.visualization.web_page import scene_data


def numbers_of(where: dict[str, Any], data: bytes) -> np.ndarray:
    """What the page reads: sums of differences times the unit, (instants, channels)."""
    steps = np.frombuffer(data, "<i4")[where["from"] :][: where["channels"] * where["of"]]
    return np.cumsum(steps.reshape(where["channels"], where["of"]), axis=1).T * where["unit"]


def part(page: str, name: str) -> bytes:
    found = re.search(rf'<script type="application/octet-stream" id="{name}">([^<]*)</script>', page)
    assert found
    return gzip.decompress(b64decode(found.group(1)))


def test_a_page_holds_the_scene() -> None:
    scene = scene_of(swing(pendulum()), trails=["bob.com"])
    page = animation_html(scene)
    described = json.loads(part(page, "scene"))
    assert described["frames"] == ["bob"]
    places = numbers_of(described["e"], part(page, "numbers")).reshape(len(scene.t), 1, 4)
    np.testing.assert_allclose(places, scene.e, atol=1.1e-5)
    assert np.ptp(places) > 0.1
    assert part(page, "three").decode() == three_js()
    np.testing.assert_allclose(numbers_of(described["t"], part(page, "numbers"))[:, 0], scene.t, atol=1e-8)


def test_a_page_asks_for_nothing() -> None:
    page = animation_html(scene_of(pendulum()))
    assert "connect-src 'none'" in page
    assert "default-src 'none'" in page
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?!data:,\")", page)


def test_a_fragment_is_a_frame_that_escapes_its_page() -> None:
    model = mg.Model("<b>&\"'", pendulum().bodies, pendulum().joints)
    fragment = animation_html(scene_of(model), standalone=False)
    assert fragment.startswith("<iframe")
    assert fragment.endswith("</iframe>")
    assert "<script" not in fragment
    assert "<b>" not in fragment
    assert "<b>" not in animation_html(scene_of(model)).split("<script")[0]


def test_motions_save_themselves(tmp_path: Path) -> None:
    motion = mg.kinematic_motion(pendulum(), np.linspace(0, 1, 11), {"pin": mg.functions.Polynomial((0, 2))})
    path = motion.save(tmp_path / "swing.html", trails=["bob.com"])
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert path.stat().st_size < 400_000
    assert list(tmp_path.iterdir()) == [path]
    shown = motion._repr_html_()
    assert shown is not None
    assert shown.startswith("<iframe")


def test_what_moves_too_far_is_refused() -> None:
    far = swing(mg.Model("far", [mg.Body("b", 1.0, com=(0, 0, 1))], [mg.Prismatic("x", "ground", "b", axis=(1, 0, 0))]))
    far.q[:] *= 1e6
    with pytest.raises(InputError, match="cannot be told apart"):
        scene_data(scene_of(far))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("swing.avi", {}, "its ending must be one of .html"),
        ("nowhere/swing.html", {}, "no folder"),
        ("swing.png", {"size": (33, 20)}, "even numbers"),
        ("swing.png", {"strip": 1}, "strip is 1"),
        ("swing.mp4", {"speed": 0.0}, "speed is 0"),
        ("swing.mp4", {"speed": 1e-4}, "pictures, and 3600 is the most"),
        ("swing.png", {"at": 7.0}, "not within the motion"),
    ],
)
def test_bad_orders_are_explained(name: str, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        save_scene(swing(pendulum()), tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_film_needs_a_motion(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a film needs a motion"):
        save_scene(pendulum(), tmp_path / "still.gif")


def test_a_missing_browser_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MECHGRAD_BROWSER", "no-such-browser")
    with pytest.raises(BrowserMissingError, match="MECHGRAD_BROWSER is 'no-such-browser'"):
        save_scene(pendulum(), tmp_path / "still.png")
    monkeypatch.delenv("MECHGRAD_BROWSER")
    monkeypatch.setattr("mechgrad.visualization.browser.shutil.which", lambda name: None)
    with pytest.raises(BrowserMissingError, match="apt-get install chromium"):
        save_scene(pendulum(), tmp_path / "still.png")


def test_missing_extras_say_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name.partition(".")[0] in ("trimesh", "imageio_ffmpeg"):
            raise ImportError(name)
        return real(name, *args)

    page = animation_html(scene_of(swing(pendulum())))
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ViewerUnavailableError, match=r"pip install mechgrad\[video\]"):
        save_scene(swing(pendulum()), tmp_path / "swing.mp4")
    three_js.cache_clear()
    with pytest.raises(ViewerUnavailableError, match=r"pip install mechgrad\[viz\]"):
        save_scene(pendulum(), tmp_path / "still.html")
    monkeypatch.undo()
    assert animation_html(scene_of(swing(pendulum()))) == page


# ---- the server of the viewer


def asked(url: str, **headers: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_the_viewer_serves_its_page_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    with view(swing(pendulum()), open_browser=False, block=False) as viewer:
        assert viewer.url in capsys.readouterr().err
        status, body = asked(viewer.url)
        assert (status, body[:15]) == (200, b"<!DOCTYPE html>")
        for path in ("etc/passwd", "../pyproject.toml", "..%2f..%2fetc/passwd", "page.js", "?x=1", "live"):
            assert asked(viewer.url + path)[0] == 404
        assert asked(viewer.url, Host="evil.example:80")[0] == 404  # a name elsewhere that leads here
        port = int(viewer.url.rstrip("/").rpartition(":")[2])
        address = next((x[4][0] for x in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)), "127.0.0.1")
        if not address.startswith("127."):
            with pytest.raises(OSError), socket.create_connection((address, port), timeout=1):  # noqa: PT011
                pass
    with pytest.raises(urllib.error.URLError):
        asked(viewer.url)


def test_a_live_viewer_tells_poses_and_serves_nothing_else() -> None:
    with view(pendulum(), live=True, open_browser=False) as viewer:
        viewer.follow(0.25, np.array([0.5]))
        with urllib.request.urlopen(viewer.url + "live", timeout=5) as feed:
            assert feed.headers["Content-Type"] == "text/event-stream"
            kind, data = feed.readline(), feed.readline()
            assert kind == b"event: pose\n"
            told = json.loads(data.removeprefix(b"data: "))
            assert told["t"] == 0.25
            np.testing.assert_allclose(told["e"], [np.cos(0.25), 0, np.sin(0.25), 0], atol=1e-7)
            viewer.show(swing(pendulum()))
            assert b"event: reload" in feed.read()
        assert asked(viewer.url + "live")[0] == 404
        assert asked(viewer.url)[0] == 200
    with view(pendulum(), live=True, open_browser=False) as viewer:
        assert asked(viewer.url + "live", Host="evil.example:80")[0] == 404
        for path in ("etc/passwd", "live/../etc/passwd", "live?x=1"):
            assert asked(viewer.url + path)[0] == 404


@pytest.mark.parametrize(
    ("thing", "options", "message"),
    [
        (swing(pendulum()), {}, "still to be made"),
        (pendulum(), {"block": True}, "exclude each other"),
    ],
)
def test_what_cannot_be_live_is_refused(thing: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        view(thing, live=True, open_browser=False, **options)


def test_poses_that_do_not_fit_a_live_viewer_are_refused() -> None:
    with view(pendulum(), live=True, open_browser=False) as viewer:
        with pytest.raises(InputError, match=r"q has shape \(2,\), and the model 'pendulum'"):
            viewer.follow(0.0, np.zeros(2))
        with pytest.raises(InputError, match=r"q at t = 0\.3 s is not finite: 'pin'"):
            viewer.follow(0.3, np.array([np.nan]))


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 cannot be had"):
            view(pendulum(), port=port, open_browser=False, block=False)
    with pytest.raises(InputError, match="port 99999"):
        view(pendulum(), port=99999, open_browser=False, block=False)


def test_a_browser_that_does_not_open_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    view(pendulum(), block=False).close()
    assert "no browser could be opened" in capsys.readouterr().err
