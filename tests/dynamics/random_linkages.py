"""Seeded planar linkages that pass change points, and their motion in closed form.

A four-bar with crank a, coupler b, rocker c and ground d whose lengths meet s + l = p + q folds flat: all bars on one
line, where Gamma loses rank and the linkage could go on as an open or as a crossed one. With the crank at angle x,

    r = a e(x) - d,      rho^2 = |r|^2,      c e(y) = r (rho^2 + c^2 - b^2 + i S) / (2 rho^2)
    S^2 = (rho^2 - (b - c)^2) ((b + c)^2 - rho^2)

is the rocker's angle y. One factor of S^2 is a square there, 4 a d sin(x/2)^2 if bars fold at x = 0, 4 a d cos(x/2)^2
at x = pi: its root with a sign goes smoothly through zero, and so does the motion, which has no cause to turn a corner.
Nothing here knows joints, constraints or accelerations: the motion follows from x'^2 = 2 (E - V(x)) / J(x).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.integrate import quad, solve_ivp

import mechgrad as mg

KINDS = ("parallelogram", "kite at the ground", "kite at the crank", "folds inwards", "folds outwards", "folds crossed")
FARTHEST = 1.2  # rad from the change point
H = 1e-30  # of complex steps


@dataclass(frozen=True)
class FourBar:
    """Lengths, the crank's angle where it folds (0 or pi), and the side S has before."""

    a: float
    b: float
    c: float
    d: float
    fold: float
    side: float

    @property
    def rocker_fold(self):
        """The rocker's angle where the bars are on one line, 0 or pi."""
        return 0.0 if self._rocker(self.fold)[0] > 0.0 else np.pi

    def _root(self, x):
        """S / (4 a d)^(1/2) without its smallest factor, and that factor, which changes sign at the fold."""
        rho2 = self.a**2 + self.d**2 - 2 * self.a * self.d * np.cos(x)
        if self.fold == 0.0:
            return np.sqrt((self.b + self.c) ** 2 - rho2), np.sin(x / 2)
        return np.sqrt(rho2 - (self.b - self.c) ** 2), np.cos(x / 2)

    def margin(self, x):
        """How far the crank is from a dead point of its own: 1 at the fold, 0 there."""
        rho2 = self.a**2 + self.d**2 - 2 * self.a * self.d * np.cos(x)
        other = (self.b + self.c) ** 2 - rho2 if self.fold == 0.0 else rho2 - (self.b - self.c) ** 2
        return other / (4 * self.b * self.c)

    def folded(self, x):
        """A number that changes sign where the bars are on one line."""
        return self._root(x)[1]

    def _rocker(self, x):
        """(cos y, sin y), analytic in x."""
        along, across = self.a * np.cos(x) - self.d, self.a * np.sin(x)
        rho2 = self.a**2 + self.d**2 - 2 * self.a * self.d * np.cos(x)
        root, small = self._root(x)
        if self.a == self.d and self.b == self.c and self.fold == 0.0:
            # r vanishes at the fold, and with it S: i r S / rho^2 = -side e(x/2) root, without a division
            lift = self.side * root
            return (along - np.cos(x / 2) * lift) / (2 * self.c), (across - np.sin(x / 2) * lift) / (2 * self.c)
        real = (rho2 + self.c**2 - self.b**2) / (2 * rho2)
        imag = self.side * 2 * np.sqrt(self.a * self.d) * root * small / (2 * rho2)
        return (along * real - across * imag) / self.c, (across * real + along * imag) / self.c

    def angles(self, x):
        """Angles of coupler and rocker with their slopes by x: (2, nt) and (2, nt)."""
        z = np.asarray(x) + 1j * H
        cos_y, sin_y = self._rocker(z)
        ends = [
            ((self.d + self.c * cos_y - self.a * np.cos(z)) / self.b, (self.c * sin_y - self.a * np.sin(z)) / self.b),
            (cos_y, sin_y),
        ]
        angle = np.array([np.arctan2(s.real, c.real) for c, s in ends])
        if self.rocker_fold > 0.0:
            angle[1] = np.pi + np.arctan2(-sin_y.real, -cos_y.real)  # continuous where the rocker passes the line
        slope = np.array([c.real * s.imag - s.real * c.imag for c, s in ends]) / H
        return angle, slope


def drawn(rng, kind, a, fold):
    """A four-bar of this kind with crank a that folds at this angle, or None if the numbers drawn make none."""
    b, d = rng.uniform(0.4, 1.6, 2)
    c = {
        "parallelogram": a, "kite at the ground": b, "kite at the crank": d,
        "folds inwards": b - (a - d), "folds outwards": a + d - b, "folds crossed": b + (a - d),
    }[kind]  # fmt: skip
    if kind == "parallelogram":
        d = b
    elif kind == "kite at the ground":
        d = a
    elif kind == "kite at the crank":
        b = a
    folds = {0.0: np.isclose(abs(a - d), abs(b - c)), np.pi: np.isclose(a + d, b + c)}
    special = kind == "kite at the ground"
    if not folds[fold] or c < 0.3 or not (special or abs(a - d) > 0.25 or fold > 0.0):
        return None
    return FourBar(float(a), float(b), float(c), float(d), fold, float(rng.choice([-1.0, 1.0])))


class Linkage:
    """Four-bars in a row, the rocker of each being the crank of the next, all of which fold at the same instant.

    model, q, v : the mechanism and its start;  duration, step [s];  folds_at [s];  angles(t) of all links
    """

    def __init__(self, seed, kind, loops=1, spring=False, weightless=False, meet=False, steps=160):
        self.drawn_by = (seed, kind, loops, spring, weightless, meet, steps)
        rng = np.random.default_rng([seed, KINDS.index(kind), loops])
        while not self._draw(rng, kind, loops, spring, weightless):
            pass
        self._time(rng, steps, meet)
        self._build(rng)

    def __repr__(self):
        return f"Linkage{self.drawn_by}"

    def with_steps(self, steps):
        """The same linkage, its motion divided into another number of steps."""
        return Linkage(*self.drawn_by[:-1], steps)

    @property
    def steps(self):
        """Number of steps of the motion."""
        return self.drawn_by[-1]

    # ---- geometry

    def _draw(self, rng, kind, loops, spring, weightless):
        fold = float(rng.choice([0.0, np.pi]))
        self.bars, at = [], fold
        for k in range(loops):
            four = drawn(rng, kind if k == 0 else rng.choice(KINDS), rng.uniform(0.5, 1.5), at)
            if four is None:
                return False
            self.bars.append(four)
            at = four.rocker_fold
        self.fold = fold
        before, after = rng.uniform(0.3, FARTHEST, 2)
        self.sense = float(rng.choice([-1.0, 1.0]))
        # a reserve beyond the end: rounding the duration to whole steps must not leave the range looked at
        self.first, self.last = fold - self.sense * before, fold + self.sense * after
        x = np.linspace(self.first - 0.1 * self.sense, self.last + 0.1 * self.sense, 200)
        if not self._regular(x):
            return False
        n = 2 * loops + 1
        self.mass = rng.uniform(0.3, 2.0, n)
        self.com = rng.uniform(-0.3, 1.0, (n, 2)) * np.array([1.0, 0.3])
        self.spin = self.mass * rng.uniform(0.02, 0.2, n)
        self.gravity = np.zeros(2) if weightless else 9.81 * np.array([np.cos(g := rng.uniform(0, 6.3)), np.sin(g)])
        self.stiffness, self.length = (rng.uniform(5.0, 60.0), rng.uniform(0.3, 1.0)) if spring else (0.0, 0.5)
        self.wall, self.hook = np.r_[rng.uniform(-1, 1, 2), 0.7], rng.uniform(-0.5, 0.5, 2)  # off the plane: never zero
        potential = self._potential(x)
        at_fold = self._inertia(np.array([fold]))[0] * rng.uniform(2.0, 5.0) ** 2 / 2
        weight = self._potential(np.array([fold]))[0]
        self.energy = max(weight + at_fold, potential.max() + 0.4 * at_fold)
        self.kinetic_at_fold = self.energy - weight
        return True

    def _regular(self, x):
        """Whether all cranks turn, away from dead points of their own, and no link turns much faster than the first."""
        angle, slope = x, np.ones_like(x)
        for four in self.bars:
            if four.margin(angle).min() < 0.25 or np.abs(slope).min() < 0.25:
                return False
            with np.errstate(all="ignore"):
                angles, slopes = four.angles(angle)
            if not np.all(np.isfinite(slopes)) or np.abs(slopes * slope).max() > 4.0:
                return False
            angle, slope = angles[1], slopes[1] * slope
            if np.abs(angle - four.rocker_fold).max() > 2.5:
                return False
        return True

    def links(self, x):
        """Angles and slopes by x of all links, (links, nt): crank, then coupler and rocker of every four-bar."""
        x = np.atleast_1d(np.asarray(x, float))
        angle, slope = [x], [np.ones_like(x)]
        for k, four in enumerate(self.bars):
            angles, slopes = four.angles(angle[2 * k])
            angle += list(angles)
            slope += list(slopes * slope[2 * k])
        return np.array(angle), np.array(slope)

    def _centres(self, x):
        """Centres of mass and the spring's hook, with slopes by x."""
        angle, slope = self.links(x)
        e = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        n = np.stack([-np.sin(angle), np.cos(angle)], axis=-1)
        base, speed = np.zeros_like(e), np.zeros_like(e)
        foot = 0.0
        for k, four in enumerate(self.bars):
            base[2 * k, :, 0] = foot
            base[2 * k + 1] = base[2 * k] + four.a * e[2 * k]
            speed[2 * k + 1] = four.a * n[2 * k] * slope[2 * k][:, None]
            foot += four.d
        base[-1, :, 0] = foot

        def point(i, p):
            return base[i] + p[0] * e[i] + p[1] * n[i], speed[i] + (p[0] * n[i] - p[1] * e[i]) * slope[i][:, None]

        return [point(i, p) for i, p in enumerate(self.com)], point(1, self.hook), slope

    def _inertia(self, x):
        """J(x): kinetic energy is J x'^2 / 2."""
        centres, _, slope = self._centres(x)
        moving = sum(m * (u * u).sum(-1) for m, (_, u) in zip(self.mass, centres, strict=True))
        return moving + (self.spin[:, None] * slope**2).sum(0)

    def _potential(self, x):
        centres, (hook, _), _ = self._centres(x)
        weight = -sum(m * (p @ self.gravity) for m, (p, _) in zip(self.mass, centres, strict=True))
        stretch = np.sqrt(((hook - self.wall[:2]) ** 2).sum(-1) + self.wall[2] ** 2) - self.length
        return weight + self.stiffness * stretch**2 / 2

    # ---- time

    def _pace(self, x):
        """|x'|, from the energy."""
        return np.sqrt(2 * (self.energy - self._potential(x)) / self._inertia(x))

    def _time(self, rng, steps, meet):
        def until(x):
            return abs(quad(lambda y: 1.0 / self._pace(y)[0], self.first, x, epsabs=1e-12, epsrel=1e-12)[0])

        self.folds_at, duration = until(self.fold), until(self.last)
        step = duration / steps
        if meet:  # a step that ends exactly there
            step = self.folds_at / round(self.folds_at / step)
        self.step, self.duration = step, step * round(duration / step)

    @cached_property
    def _path(self):
        span, close = (0.0, self.duration), {"rtol": 1e-12, "atol": 1e-12, "dense_output": True}
        return solve_ivp(lambda _, x: self.sense * self._pace(x), span, [self.first], "DOP853", **close).sol

    def crank(self, t):
        """The crank's angle at times t."""
        return self._path(np.minimum(t, self.duration))[0]

    def directions(self, t):
        """Directions of all links at times t, (nt, links, 2)."""
        angle = self.links(self.crank(t))[0]
        return np.stack([np.cos(angle), np.sin(angle)], axis=-1).swapaxes(0, 1)

    def sides(self, t):
        """Numbers that change sign where a four-bar folds, (nt, four-bars)."""
        angle = self.links(self.crank(t))[0]
        return np.stack([four.folded(angle[2 * k]) for k, four in enumerate(self.bars)], axis=1)

    def rank_left(self, t):
        """The smallest singular value at an instant, over all loops, of the 2 x 3 directions that close each.

        They are what Gamma is made of: the sines of the angles between the bars, less a common factor.
        """
        angle = self.links(self.crank(np.array([t])))[0][:, 0]
        loops = [angle[2 * k : 2 * k + 3] for k in range(len(self.bars))]
        return min(np.linalg.svd([np.cos(x), np.sin(x)], compute_uv=False)[-1] for x in loops)

    def fastest(self):
        """The largest angular velocity of any link [rad/s]."""
        x = np.linspace(self.first, self.last, 100)
        return float((np.abs(self.links(x)[1]) * self._pace(x)).max())

    # ---- the mechanism

    def _build(self, rng):
        loops = len(self.bars)
        names = ["link 0"] + [f"{what} {k}" for k in range(1, loops + 1) for what in ("coupler", "link")]
        bodies = [
            mg.Body(name, m, (*p, 0.0), (s, s, s))
            for name, m, p, s in zip(names, self.mass, self.com, self.spin, strict=True)
        ]
        joints, foot, cut = [mg.Revolute("A0", "ground", "link 0")], 0.0, []
        for k, four in enumerate(self.bars, start=1):
            foot += four.d
            joints += [
                mg.Revolute(f"A{k}", "ground", f"link {k}", (foot, 0, 0)),
                mg.Revolute(f"B{k}", f"link {k - 1}", f"coupler {k}", (four.a, 0, 0)),
                mg.Revolute(f"C{k}", f"coupler {k}", f"link {k}", (four.b, 0, 0), child_origin=(four.c, 0, 0)),
            ]
            cut.append(f"{rng.choice(['A', 'B', 'C'])}{k}")
        markers = [mg.Point("hook", "coupler 1", (*self.hook, 0.0)), mg.Point("wall", "ground", self.wall)]
        self.names = [f"along {name}" for name in names]
        along = [mg.Vector(f"along {name}", name, (1, 0, 0)) for name in names]
        forces = [mg.forces.SpringDamper("spring", "hook", "wall", self.stiffness, 0.0, self.length)] * (
            self.stiffness > 0
        )
        self.model = mg.Model(
            "random linkage", bodies, joints, markers, along, (*self.gravity, 0.0), forces=forces, cut=cut
        )
        angle, slope = (dict(zip(names, x[:, 0], strict=True)) for x in self.links(self.first))
        pace = self.sense * self._pace(self.first)[0]
        angle["ground"] = slope["ground"] = 0.0
        kept = [self.model.joint(name) for name in self.model.q_names]
        self.q = np.array([angle[joint.child] - angle[joint.parent] for joint in kept])
        self.v = np.array([slope[joint.child] - slope[joint.parent] for joint in kept]) * pace
