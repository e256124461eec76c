"""Motions as files to look at: a page, a film, a picture, a strip of several instants."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mechgrad.errors import InputError
from mechgrad.typing import FloatArray
from mechgrad.visualization.browser import pictures
from mechgrad.visualization.scene import LAYERS, Scene, scene_of
from mechgrad.visualization.three import ViewerUnavailableError
from mechgrad.visualization.web_page import animation_html

__all__ = ["save_scene"]

ENDINGS = (".html", ".htm", ".png", ".gif", ".mp4")
FILM, CLIP = 30.0, 20.0  # pictures per second of films and of GIFs
LONGEST = 3600  # pictures of a film


def save_scene(
    thing: Any,
    path: str | Path,
    *,
    at: float | None = None,
    strip: int = 0,
    speed: float = 1.0,
    size: tuple[int, int] = (960, 600),
    arrows: Sequence[str] = LAYERS,
    **options: Any,
) -> Path:
    """Write what `scene_of` draws; the ending of the path says as what.

        .html         a page that opens offline, with play, scrub, camera and switches
        .png          one picture, at the time `at` [s] (the end if left out), or a strip of ghosted instants
        .gif, .mp4    a film at `speed` times the speed of nature

    Pictures and films are drawn by a Chrome, Chromium or Edge of this machine without a window; films need
    pip install mechgrad[video] for .mp4 and Pillow, which comes with mechgrad[viz], for .gif.

    Parameters
    ----------
    thing : a motion, a state, a mode or a model
    at : time of the picture [s]
    strip : number of instants in one picture, equally spaced; the earlier ones pale
    speed : 0.5 is slow motion
    size : width and height [px], even for films
    arrows, options : as of `scene_of`

    >>> from mechgrad.visualization import save_scene
    >>> save_scene(pendulum, "pendulum.html").name
    'pendulum.html'
    """
    path = _checked(path, size, strip, speed)
    scene = thing if isinstance(thing, Scene) else scene_of(thing, arrows=arrows, **options)
    ending = path.suffix.lower()
    if ending in (".html", ".htm"):
        return _written(path, animation_html(scene, strip=strip).encode("utf-8"))
    if ending == ".png":
        end = float(scene.t[-1] - scene.t[0])
        time = end if at is None else float(at) - float(scene.t[0])
        if not -1e-9 <= time <= end + 1e-9:
            raise InputError(f"at = {at} s is not within the motion, from {scene.t[0]:g} to {scene.t[-1]:g} s.")
        page = animation_html(scene, strip=strip, answers=True)
        return _written(path, next(iter(list(pictures(page, [time], size)))))
    if len(scene.t) < 2:
        raise InputError(f"{path.name!r}: a film needs a motion, and there is one instant. Save a .png.")
    return _film(scene, path, speed, size) if ending == ".mp4" else _clip(scene, path, speed, size)


def _checked(path: str | Path, size: tuple[int, int], strip: int, speed: float) -> Path:
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"cannot save {path.name!r}: its ending must be one of {', '.join(ENDINGS)}.")
    if not path.parent.is_dir():
        raise InputError(f"{str(path)!r} cannot be written: there is no folder {str(path.parent)!r}.")
    if len(size) != 2 or not all(isinstance(n, int) and 16 <= n <= 4096 and n % 2 == 0 for n in size):
        raise InputError(f"size is {size!r}; give width and height, even numbers of pixels from 16 to 4096.")
    if strip < 0 or strip == 1 or strip > 60:
        raise InputError(f"strip is {strip}; give the number of instants in the picture, 2 to 60, or 0 for none.")
    if not (np.isfinite(speed) and speed > 0):
        raise InputError(f"speed is {speed}; give a positive number, 1 for the speed of nature.")
    return path


def _written(path: Path, data: bytes) -> Path:
    """The file is there whole, or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}. Give another path.") from error
    return path


def _times(scene: Scene, speed: float, rate: float) -> FloatArray:
    duration = float(scene.t[-1] - scene.t[0])
    count = max(2, int(np.ceil(duration / speed * rate)) + 1)
    if count > LONGEST:
        raise InputError(
            f"the film would have {count} pictures, and {LONGEST} is the most. Show it faster: speed="
            f"{speed * count / LONGEST:.2g}."
        )
    return np.linspace(0.0, duration, count)


def _film(scene: Scene, path: Path, speed: float, size: tuple[int, int]) -> Path:
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError as error:
        raise ViewerUnavailableError(
            "films (.mp4) need imageio-ffmpeg, which is not installed: pip install mechgrad[video]. A .gif, or a page "
            "(.html), needs none."
        ) from error
    part = path.with_name(path.name + ".part")
    command = [
        get_ffmpeg_exe(), "-y", "-loglevel", "error", "-f", "image2pipe", "-c:v", "mjpeg", "-r", f"{FILM:g}", "-i", "-",
        "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart", "-f", "mp4", str(part),
    ]  # fmt: skip
    shots = pictures(animation_html(scene, answers=True), list(_times(scene, speed, FILM)), size, "jpeg", fine=1)
    encoder = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert encoder.stdin is not None
    assert encoder.stderr is not None
    try:
        for shot in shots:
            encoder.stdin.write(shot)
        encoder.stdin.close()
        complaint = encoder.stderr.read().decode("utf-8", "replace")
        if encoder.wait():
            raise InputError(f"ffmpeg could not write {path.name!r}: {complaint.strip()[-400:]}")
        part.replace(path)
    finally:
        shots.close()  # type: ignore[attr-defined]
        if encoder.poll() is None:
            encoder.kill()
            encoder.wait()
        encoder.stderr.close()
        part.unlink(missing_ok=True)
    return path


def _clip(scene: Scene, path: Path, speed: float, size: tuple[int, int]) -> Path:
    try:
        from PIL import Image
    except ImportError as error:
        raise ViewerUnavailableError(
            "a .gif needs Pillow, which is not installed: pip install mechgrad[viz]. A page (.html) needs none."
        ) from error
    shots = pictures(animation_html(scene, answers=True), list(_times(scene, speed, CLIP)), size, "png", fine=1)
    frames = [Image.open(io.BytesIO(shot)).convert("RGB") for shot in shots]
    middle = frames[len(frames) // 2].quantize(128)  # one palette for all: nothing flickers
    small = [frame.quantize(palette=middle, dither=Image.Dither.NONE) for frame in frames]
    kept = io.BytesIO()
    small[0].save(kept, "GIF", save_all=True, append_images=small[1:], duration=round(1000 / CLIP), loop=0)
    return _written(path, kept.getvalue())
