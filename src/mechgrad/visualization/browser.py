"""A browser of this machine, without a window: it draws pictures of a page, which no other software here can."""

from __future__ import annotations

import base64
import http.server
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence

from mechgrad.errors import InputError, MechgradError

__all__ = ["BrowserMissingError", "find_browser", "pictures"]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "microsoft-edge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-extensions", "--mute-audio",
)  # fmt: skip
PATIENCE = 60.0  # seconds without a picture, after which the browser is given up


class BrowserMissingError(MechgradError, RuntimeError):
    """A picture was asked for, and no browser is found that could draw it."""


def find_browser() -> str:
    """The browser that MECHGRAD_BROWSER names, else Chrome, Chromium or Edge of this machine."""
    wanted = os.environ.get("MECHGRAD_BROWSER")
    if wanted:
        if found := shutil.which(wanted):
            return found
        raise BrowserMissingError(f"MECHGRAD_BROWSER is {wanted!r}, and there is no such program.")
    for name in (*NAMES, *PLACES):
        if found := shutil.which(name):
            return found
    raise BrowserMissingError(
        "pictures and films are drawn by Chrome, Chromium or Edge, and none of them is found. Install one (Debian: "
        "apt-get install chromium), or name it in the environment variable MECHGRAD_BROWSER. A page, "
        "save('swing.html'), needs none."
    )


class _Receiver(http.server.BaseHTTPRequestHandler):
    """Gives the page once and takes its pictures."""

    server: _Studio

    def do_GET(self) -> None:
        known = self.path == self.server.address
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        if known:
            self.wfile.write(self.server.page)

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == self.server.address:
            self.server.take(data)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Studio(http.server.ThreadingHTTPServer):
    """Serves a page to this machine alone, under an address that nobody guesses, and collects what it sends back."""

    daemon_threads = True

    def __init__(self, page: str) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.page = page.encode("utf-8")
        self.address = f"/{base64.urlsafe_b64encode(os.urandom(18)).decode()}"
        self.taken: list[bytes] = []
        self.arrived = threading.Condition()

    def take(self, data: bytes) -> None:
        with self.arrived:
            self.taken.append(data)
            self.arrived.notify()


def pictures(
    page: str, times: Sequence[float], size: tuple[int, int], kind: str = "png", fine: int = 2
) -> Iterator[bytes]:
    """Pictures of a live page at times [s], as files of kind "png" or "jpeg", one after the other.

    The page draws them itself and sends them back; a browser without a window shows it, with software for graphics.
    """
    program = find_browser()
    order = f'{{"times":{list(map(float, times))},"size":{list(size)},"kind":"image/{kind}","fine":{fine}}}'
    studio = _Studio(page.replace("</body>", f"<script>record({order})</script></body>"))
    threading.Thread(target=studio.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="mechgrad-", ignore_cleanup_errors=True) as profile:
        url = f"http://127.0.0.1:{studio.server_address[1]}{studio.address}"
        process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}", url],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            for k in range(len(times)):
                yield _next(studio, k, process)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            studio.shutdown()
            studio.server_close()


def _next(studio: _Studio, k: int, process: subprocess.Popen[bytes]) -> bytes:
    end = time.monotonic() + PATIENCE
    with studio.arrived:
        while len(studio.taken) <= k:
            if not studio.arrived.wait(0.5) and (time.monotonic() > end or process.poll() is not None):
                raise BrowserMissingError(
                    f"the browser drew {k} pictures and then no more"
                    + ("" if process.poll() is None else f" (it ended with {process.returncode})")
                    + ". Name another one in MECHGRAD_BROWSER, or save a page, which needs none: save('swing.html')."
                )
        data = studio.taken[k]
    if data.startswith(b"error:"):
        raise InputError(f"the page cannot be drawn: {data[6:].decode('utf-8', 'replace')}")
    return data
