"""What is photographed: every kind of mechanism of the gallery in a pose or a motion that says what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from drawn_motions import Swing

import mechgrad as mg
from mechgrad import gallery
from mechgrad.kinematics import body_motion
from mechgrad.visualization.scene import Scene, scene_of
from mechgrad.visualization.scene.quaternions import euler_parameters

DATA = Path(__file__).parent / "data"


class Photograph(NamedTuple):
    """A scene, the time of the picture [s] (the end if None), and how many instants are in it (0: one)."""

    scene: Callable[[], Scene]
    at: float | None = None
    strip: int = 0
    layers: tuple[str, ...] = ()  # switched on besides what is seen at first


def turning(model: mg.Model, crank: str, angles: np.ndarray, guess: np.ndarray) -> Swing:
    """The mechanism with its crank at these angles, one after the other."""
    states = []
    for angle in angles:
        guess = mg.assemble(model, {crank: float(angle)}, guess=guess).q
        states.append(guess)
    return Swing(model, np.linspace(0.0, 1.0, len(angles)), np.array(states))


def five_bar() -> Scene:
    model = gallery.five_bar()
    guess, states = gallery.five_bar_start(), []
    first = guess[0]
    for angle in np.linspace(0.0, 0.55, 24):
        guess = mg.assemble(model, {"A": float(first + angle), "1": float(guess[1])}, guess=guess).q
        states.append(guess)
    return scene_of(Swing(model, np.linspace(0, 1, 24), np.array(states)), trails=["P2"])


def slider_crank() -> Scene:
    model = gallery.slider_crank(spring=True)
    motion = turning(model, "crank axis", np.linspace(0.0, 1.9 * np.pi, 60), model.neutral())
    return scene_of(motion, trails=["PC"])


def stewart_platform() -> Scene:
    model = gallery.stewart_platform()
    return scene_of(gallery.stewart_platform_start(model, slides=[0.02, 0.10, 0.16, 0.18, 0.10, 0.0]))


def lifting_human() -> tuple[mg.Model, Callable[[float], np.ndarray]]:
    """The human with 43 joints and a box between its hands, and its posture at a share of the lift."""
    human = gallery.human()
    hand = body_motion(human, human.neutral()).of("hand_right")
    upright = tuple(euler_parameters(hand.R.T[None, None])[0, 0])
    box = mg.Body("box", 8.0, shape=mg.shapes.Box((0.34, 0.30, 0.24), colour="#c79a5b"))
    across = hand.R.T @ np.array([1.0, 0.0, 0.0])
    grip = mg.Revolute("grip", "hand_right", "box", orientation=upright, child_origin=(0.19, -0.02, 0.02), axis=across)
    model = mg.Model("lifting", [*human.bodies, box], [*human.joints, grip], gravity=human.gravity)

    def posture(share: float) -> np.ndarray:
        s = share * share * (3 - 2 * share)
        low, high = (0.75, 1.45, 0.62, 0.55, 0.75), (0.0, 0.06, 0.05, 0.25, 1.45)
        pitch, thigh, shank, upper, fore = ((1 - s) * x + s * y for x, y in zip(low, high, strict=True))
        q = np.zeros(model.n_q)
        q[0] = 0.44 * np.cos(thigh) + 0.43 * np.cos(shank) - 0.87
        q[1] = 0.43 * np.sin(shank) - 0.44 * np.sin(thigh)
        q[3] = pitch
        for first in (8, 16):  # thigh, shank, foot
            q[first : first + 3] = -thigh - pitch, shank + thigh, -shank
        for first in (26, 35):  # upper arm, forearm
            q[first : first + 2] = -upper - pitch, upper - fore
        q[42] = -0.6 * pitch
        q[43] = -fore
        return q

    return model, posture


def human() -> Scene:
    model, posture = lifting_human()
    q = np.array([posture(x) for x in np.linspace(0.0, 1.0, 31)])
    return scene_of(Swing(model, np.linspace(0.0, 1.0, 31), q), eye=(1.0, 0.32, 0.2))


def gait() -> Scene:
    """Two steps of the predicted gait: that of examples/07_gait.py, as the optimum had it, and its mirror image."""
    model = gallery.walker()
    kept = np.load(DATA / "gait.npz")
    t, q = kept["t"], kept["q"]
    partner, sign = gallery.walker_mirror(model)
    second = (sign * q[:, partner])[1:]
    second[:, 0] += q[-1, 0] - q[0, 0]
    motion = Swing(model, np.concatenate([t, t[1:] + t[-1]]), np.vstack([q, second]))
    return scene_of(motion, trails=["ankle_right", "ankle_left"], eye=(0.15, -1.0, 0.16))


def bicycle() -> Scene:
    model = gallery.bicycle("rolling")
    return scene_of(gallery.bicycle_start(model, lean=0.32), eye=(1.0, -0.62, 0.22))


def delta_robot() -> Scene:
    model = gallery.delta_robot()
    return scene_of(gallery.delta_robot_start(model, [0.9, 0.5, 0.6]))


def theo_jansen_leg() -> Scene:
    model = gallery.theo_jansen_leg()
    states = [gallery.theo_jansen_leg_start(model, float(x)).q for x in np.linspace(0.0, 2 * np.pi, 60)]
    return scene_of(Swing(model, np.linspace(0, 1, 60), np.array(states)), trails=["foot"])


def watts_linkage() -> Scene:
    model = gallery.watts_linkage()
    return scene_of(turning(model, "A", np.linspace(-0.6, 0.55, 40), model.neutral()), trails=["P"])


def arm7() -> Scene:
    model = gallery.arm7()
    return scene_of(mg.state(model, [0.3, 0.7, 0.2, 1.2, 0.1, 0.8, 0.0]))


def buggy() -> Scene:
    """Over a step, 1.5 s at 3.5 m/s as `simulate(model, buggy_start(model, speed=3.5), 1.5, step=2e-3)` had it."""
    model = gallery.buggy(ground=mg.surfaces.Step(start=2.2, height=0.16, width=0.3))
    kept = np.load(DATA / "buggy.npz")
    return scene_of(Swing(model, kept["t"], kept["q"]), eye=(-0.45, -1.0, 0.30))


def anchor() -> Scene:
    """Nearly hauled in: seven links are left of the chain."""
    model = gallery.anchor(links=7)
    q = gallery.anchor_start(model).q.reshape(-1)
    q[model.q_names.index("hawse.e2")] = -0.03  # it swings free of the side
    q[model.q_names.index("swivel pin")] = 0.4
    return scene_of(mg.state(model, q), eye=(0.75, -1.0, 0.2))


def still(name: str) -> Callable[[], Scene]:
    return lambda: scene_of(getattr(gallery, name)())


SCENES: dict[str, Photograph] = {
    "five-bar": Photograph(five_bar),
    "slider-crank": Photograph(slider_crank),
    "stewart-platform": Photograph(stewart_platform),
    "human-lifting": Photograph(human, strip=3),
    "gait": Photograph(gait, strip=7),
    "bicycle": Photograph(bicycle),
    "buggy": Photograph(buggy, strip=3),
    "anchor": Photograph(anchor),
    "delta-robot": Photograph(delta_robot),
    "theo-jansen-leg": Photograph(theo_jansen_leg, at=0.3),
    "watts-linkage": Photograph(watts_linkage, at=0.7),
    "arm7": Photograph(arm7),
    "quarter-car": Photograph(still("quarter_car")),
    "half-car": Photograph(still("half_car")),
    "gyroscope": Photograph(lambda: scene_of(mg.state(gallery.gyroscope(), [0.4, 1.2, 0.0]))),
    "heavy-top": Photograph(lambda: scene_of(mg.state(*gallery.heavy_top()[:2]))),
    "free-top": Photograph(lambda: scene_of(mg.state(*gallery.free_top()[:2]))),
    "double-pendulum": Photograph(lambda: scene_of(mg.state(gallery.double_pendulum(), [0.6, 0.9]))),
    "seven-bodies": Photograph(
        lambda: scene_of(mg.state(gallery.seven_body(), gallery.seven_body_start(gallery.seven_body())))
    ),
    "bricard": Photograph(lambda: scene_of(mg.state(gallery.bricard(), gallery.bricard().neutral()))),
    "four-bars": Photograph(lambda: scene_of(mg.state(gallery.four_bars(3)[0], gallery.four_bars(3)[1](1.2, 0.0)[0]))),
    "chain": Photograph(lambda: scene_of(mg.state(gallery.chain(12), 0.25 * np.ones(12)))),
}
