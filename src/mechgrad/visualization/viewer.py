"""A viewer in the browser: one page, served from memory to this machine alone."""

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
from mechgrad.visualization.scene import Scene, scene_of
from mechgrad.visualization.web_page import animation_html

__all__ = ["Viewer", "view"]

HOST = "127.0.0.1"  # this machine: nobody else on the network can ask
NAMES = (HOST, "localhost")


class _Page(http.server.BaseHTTPRequestHandler):
    """Answers one address with the page and every other one with 404; it reads no file."""

    server: _Server

    def do_GET(self) -> None:
        # a page elsewhere that has its name lead to this machine sends its own name as host
        host = self.headers.get("Host", "").rpartition(":")[0]
        known = self.path == "/" and host in NAMES
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

    def __init__(self, port: int, page: bytes) -> None:
        super().__init__((HOST, port), _Page)
        self.page = page


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

    def __init__(self, scene: Scene, port: int = 0) -> None:
        self.scene = scene
        page = animation_html(scene).encode("utf-8")
        try:
            self._server = _Server(port, page)
        except (OSError, OverflowError) as error:
            raise InputError(
                f"port {port} of {HOST} cannot be had: {getattr(error, 'strerror', None) or error}. Leave port out, "
                "and a free one is found, or close what holds it."
            ) from error
        self.url = f"http://{HOST}:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def show(self, thing: Any, **options: Any) -> None:
        """Another motion at the same address; reload the page to see it."""
        self.scene = thing if isinstance(thing, Scene) else scene_of(thing, **options)
        self._server.page = animation_html(self.scene).encode("utf-8")

    def close(self) -> None:
        """Stop serving."""
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
    arrows: Sequence[str] = ("velocities", "reactions", "contact forces"),
    trails: Sequence[str] = (),
    measures: Iterable[Any] = (),
    ghost: Any = None,
    eye: Sequence[float] | None = None,
    amplitude: float | None = None,
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
    port : 0 finds a free one
    open_browser : whether to open it; the address is printed in any case
    block : whether to serve until Ctrl-C before returning; left out: in scripts, which would end otherwise, and not in
        notebooks and at prompts

    >>> swing = mg.simulate(pendulum, {"pin": 0.5}, 2.0)
    >>> viewer = mg.view(swing, trails=["bob.com"], open_browser=False, block=False)
    >>> viewer.close()
    """
    scene = scene_of(thing, arrows=arrows, trails=trails, measures=measures, ghost=ghost, eye=eye, amplitude=amplitude)
    viewer = Viewer(scene, port)
    print(f"mechgrad: {scene.name} is at {viewer.url} (this machine only)", file=sys.stderr, flush=True)
    if open_browser and not webbrowser.open(viewer.url):
        print("mechgrad: no browser could be opened; open that address by hand.", file=sys.stderr, flush=True)
    if block or (block is None and not _interactive()):
        print("mechgrad: Ctrl-C ends it.", file=sys.stderr, flush=True)
        viewer.wait()
    return viewer


def _interactive() -> bool:
    """Whether a person types: at a prompt, or in a notebook."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or "ipykernel" in sys.modules
