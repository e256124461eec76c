"""A viewer in the browser: one page, and poses of a march under way, served from memory to this machine alone."""

from __future__ import annotations

import http.server
import sys
import threading
import time
import webbrowser
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, final

from mechgrad.errors import InputError
from mechgrad.model.model import Model
from mechgrad.typing import Array
from mechgrad.visualization.live import Feed
from mechgrad.visualization.scene import LAYERS, Scene, scene_of
from mechgrad.visualization.web_page import LIVE, animation_html, moving_frames

__all__ = ["Viewer", "view"]

HOST = "127.0.0.1"  # this machine: nobody else on the network can ask
NAMES = (HOST, "localhost")


class _Page(http.server.BaseHTTPRequestHandler):
    """Answers one address with the page, one with what a march tells, every other one with 404; it reads no file."""

    server: _Server

    def do_GET(self) -> None:
        # a page elsewhere that has its name lead to this machine sends its own name as host
        host = self.headers.get("Host", "").rpartition(":")[0]
        feed = self.server.feed
        if self.path == LIVE and host in NAMES and feed is not None:
            self._tell(feed)
        else:
            self._give(self.path == "/" and host in NAMES)

    def _tell(self, feed: Feed) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        try:
            for sent in feed.events():
                self.wfile.write(sent)
        except OSError:  # the page was closed
            pass

    def _give(self, known: bool) -> None:
        body = self.server.page if known else b"nothing here: the viewer is at /"
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8" if known else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = sys.platform != "win32"  # elsewhere it lets a port that was just left be taken again

    def __init__(self, port: int, page: bytes, feed: Feed | None) -> None:
        super().__init__((HOST, port), _Page)
        self.page, self.feed = page, feed


@final
class Viewer:
    """A page that is being served; ends with `close()`, with the `with` block it opened, or with the process.

    Attributes
    ----------
    url : where it is
    scene : what is seen

    >>> with view(pendulum, block=False, open_browser=False) as viewer:
    ...     viewer.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, scene: Scene, port: int = 0, model: Model | None = None) -> None:
        self.scene = scene
        page = animation_html(scene, live=model is not None).encode("utf-8")
        self._feed = None if model is None else Feed(model, moving_frames(scene))
        try:
            self._server = _Server(port, page, self._feed)
        except (OSError, OverflowError) as error:
            raise InputError(
                f"port {port} of {HOST} cannot be had: {getattr(error, 'strerror', None) or error}. Leave port out, "
                "and a free one is found, or close what holds it."
            ) from error
        self.url = f"http://{HOST}:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def follow(self, t: float, q: Array) -> None:
        """Show coordinates q (n_q,) at time t [s] in the page, at once: `simulate(..., progress=viewer.follow)`.

        For viewers that were opened with live=True; what is slower than a march, a page or a network, is passed over.
        """
        if self._feed is None:
            raise InputError("this viewer shows one thing that stands still or plays: open one with live=True.")
        self._feed.pose(t, q)

    def show(self, thing: Any, **options: Any) -> None:
        """Another motion at the same address: a live page turns to it by itself, another one when it is reloaded.

        options : as of `scene_of`
        """
        self.scene = thing if isinstance(thing, Scene) else scene_of(thing, **options)
        self._server.page = animation_html(self.scene).encode("utf-8")
        self._server.feed = None
        if self._feed is not None:
            self._feed.reload()
            self._feed = None

    def close(self) -> None:
        """Stop serving."""
        if self._feed is not None:
            self._feed.end()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self) -> None:
        """Serve until Ctrl-C."""
        try:
            while self._thread.is_alive():
                time.sleep(0.2)
        except KeyboardInterrupt:
            self.close()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Viewer of {self.scene.name!r} at {self.url} Next: .url, .show(another), .close()"


def view(
    thing: Any,
    *,
    arrows: Sequence[str] = LAYERS,
    trails: Sequence[str] = (),
    measures: Iterable[Any] = (),
    ghost: Any = None,
    eye: Sequence[float] | None = None,
    amplitude: float | None = None,
    live: bool = False,
    port: int = 0,
    open_browser: bool = True,
    block: bool | None = None,
) -> Viewer:
    """Look at a motion, a state, a mode of small motions, or a model, in the browser.

    Play, pause, scrub, speed and loop below; to the right switches of joints, axes, centres of mass and arrows with
    their scale; the camera turns by dragging, shifts by dragging with shift, and goes with the mechanism on `follow`.
    The page is served from memory to this machine alone (127.0.0.1), and holds all of it: what is not in it cannot be
    asked for.

    Parameters
    ----------
    thing, arrows, trails, measures, ghost, eye, amplitude : as of `scene_of`
    live : show a model, or a state, at once, and then what `simulate(..., progress=viewer.follow)` comes to, while it
        does; `viewer.show(motion)` turns the page to the whole motion
    port : 0 finds a free one
    open_browser : whether to open it; the address is printed in any case
    block : whether to serve until Ctrl-C before returning; left out: in scripts, which would end otherwise, and not in
        notebooks, at prompts, and live

    >>> swing = mg.simulate(pendulum, {"pin": 0.5}, 2.0)
    >>> viewer = mg.view(swing, trails=["bob.com"], open_browser=False, block=False)
    >>> viewer.close()
    >>> with mg.view(pendulum, live=True, open_browser=False) as viewer:
    ...     swing = mg.simulate(pendulum, {"pin": 0.5}, 2.0, progress=viewer.follow)
    """
    scene = scene_of(thing, arrows=arrows, trails=trails, measures=measures, ghost=ghost, eye=eye, amplitude=amplitude)
    if live and len(scene.t) > 1:
        raise InputError("live shows a motion that is still to be made: give its model, or the state where it starts.")
    if live and block:
        raise InputError("live and block exclude each other: the march that is to be seen comes after this call.")
    model = (thing if isinstance(thing, Model) else thing.model) if live else None
    viewer = Viewer(scene, port, model)
    print(f"mechgrad: {scene.name} is at {viewer.url} (this machine only)", file=sys.stderr, flush=True)
    if open_browser and not webbrowser.open(viewer.url):
        print("mechgrad: no browser could be opened; open that address by hand.", file=sys.stderr, flush=True)
    if block or (block is None and not live and not _interactive()):
        print("mechgrad: Ctrl-C ends it.", file=sys.stderr, flush=True)
        viewer.wait()
    return viewer


def _interactive() -> bool:
    """Whether a person types: at a prompt, or in a notebook."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or "ipykernel" in sys.modules
