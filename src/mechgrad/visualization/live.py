"""A motion that is watched while it is computed: poses as server-sent events, from the march to the page."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import final

import numpy as np

from mechgrad.errors import InputError
from mechgrad.kinematics.bodies import body_motion
from mechgrad.model.model import Model
from mechgrad.typing import Array, FloatArray
from mechgrad.visualization.scene.quaternions import euler_parameters

SILENCE = 1.0  # seconds after which a page is told that nothing is new, so that a page that left is noticed


def event(kind: str, data: str = "") -> bytes:
    r"""One server-sent event.

    >>> event("end")
    b'event: end\ndata: \n\n'
    """
    return f"event: {kind}\ndata: {data}\n\n".encode()


@final
class Feed:
    """What pages that listen are told: always the newest pose, and in the end that a page is to load anew, or that
    nothing will come.

    model : whose motion is to come;   frames : numbers of the bodies that the page knows, in its order

    A page that is slow misses poses and gets the next ones; a march never waits for one.
    """

    def __init__(self, model: Model, frames: list[int]) -> None:
        self.model, self.frames = model, frames
        self._changed = threading.Condition()
        self._newest, self._number, self._over = b"", 0, False

    def pose(self, t: float, q: Array) -> None:
        """Tell that the bodies are where coordinates q have them at time t [s]."""
        q = np.real(np.asarray(q))
        if q.shape != (self.model.n_q,):
            raise InputError(
                f"q has shape {q.shape}, and the model {self.model.name!r} that is seen has {self.model.n_q} "
                "coordinates: open a viewer of the model that is simulated."
            )
        if not np.isfinite(q).all():
            raise InputError(f"q at t = {t:g} s is not finite: {self.model.q_names[int(np.argmin(np.isfinite(q)))]!r}.")
        p, e = self._where(q)
        text = json.dumps({"t": float(t), "p": _rounded(p), "e": _rounded(e)}, separators=(",", ":"))
        self._tell(event("pose", text))

    def reload(self) -> None:
        """Tell that there is another page at the address."""
        self._tell(event("reload"), over=True)

    def end(self) -> None:
        """Tell that nothing will come any more; nothing, where a page was told to load anew."""
        if not self._over:
            self._tell(event("end"), over=True)

    def events(self) -> Iterator[bytes]:
        """What a page is sent, as it happens; a comment in every second without anything."""
        known = 0
        while True:
            with self._changed:
                if self._number == known and not self._over:
                    self._changed.wait(SILENCE)
                found, over = (self._newest if self._number > known else b":\n\n"), self._over
                known = self._number
            yield found
            if over:
                return

    def _tell(self, newest: bytes, over: bool = False) -> None:
        with self._changed:
            self._newest, self._number, self._over = newest, self._number + 1, over
            self._changed.notify_all()

    def _where(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = body_motion(self.model, q[None])
        p, R = np.real(found.p)[0, self.frames], np.real(found.R)[:, self.frames]
        return p, euler_parameters(R)[0]


def _rounded(x: FloatArray) -> list[float]:
    return [float(f"{value:.7g}") for value in x.ravel()]
