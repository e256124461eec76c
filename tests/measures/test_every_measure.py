"""Every measure: its values against its equation in plain NumPy on the mechanics of `measured_motion`, its partials,
gradients and curvature against complex steps through the values, and the rows that some of them are against these.

A new measure adds one line to EVERY.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from support import measured_motion as by_hand

import mechgrad as mg
from mechgrad.kinematics.mechanism_record import evaluate_rows, mechanism_of
from mechgrad.measures.base import Measure, product
from mechgrad.model.mechanism import N_ALL, N_ROWS
from mechgrad.model.primitives.attached import places
from mechgrad.model.primitives.rows import RowMeasure
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.repeat import samples_of

INSTANTS = (0.0, 0.06, 0.1)
NUMBERS = [
    "tool.mass", "fore.com.x", "kite.com.z", "tool.com.y", "tool.inertia.yy", "spring.stiffness", "spring.damping",
    "spring.free_length", "bend.stiffness", "rub.coulomb", "mount.stiffness.y", "mount.rotational_damping.z",
    "drive.torque.values.1", "tip.position.y", "ring.position.x", "eye.position.z", "beak.direction.x",
    "mast.direction.y", "tail.direction.z", "hub.position.x", "roll.radius", "roll.stiffness", "roll.ground.height",
    "elbow.origin.x", "elbow.child_origin.z", "elbow.axis.z", "reach.axis.y",
    "gravity.z", "fore.com.x",
]  # fmt: skip


class At(NamedTuple):
    """One instant: the state, the time, and the motion of all bodies."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    t: float
    bodies: dict


def _angle(s):
    u, w, n = (by_hand.vector(s.bodies, name)[0] for name in ("beak", "tail", "mast"))
    return np.arctan2(n @ np.cross(u, w), np.linalg.norm(n) * (u @ w))


def _distance(s):
    return np.linalg.norm(by_hand.point(s.bodies, "eye")[0] - s.bodies["tool"].fixed(by_hand.COM["tool"])[0])


def _reaction(s, axes=None):
    tension, *_ = by_hand.rope_and_rest(s.bodies)
    turn = np.eye(3) if axes is None else s.bodies[axes].R
    return np.concatenate([turn.T @ x for x in by_hand.elbow_reaction(s.bodies, tension)])


def _offset(s):
    return np.array([1, 2, 2]) / 3 @ (by_hand.point(s.bodies, "tip")[0] - by_hand.point(s.bodies, "ring")[0])


M = mg.measures
EVERY = {
    "elbow": (M.JointCoordinate("elbow"), lambda s: s.q[11]),
    "reach": (M.JointCoordinate("reach"), lambda s: s.q[12]),
    "free z": (M.JointCoordinate("free.z"), lambda s: s.q[2]),
    "elbow rate": (M.JointVelocity("elbow"), lambda s: s.v[9]),
    "ball rate": (M.JointVelocity("ball.wy"), lambda s: s.v[7]),
    "elbow second": (M.JointAcceleration("elbow"), lambda s: s.a[9]),
    "kite second": (M.JointAcceleration("free.wx"), lambda s: s.a[3]),
    "tip": (M.PointPosition("tip"), lambda s: by_hand.point(s.bodies, "tip")[0]),
    "fore com": (M.PointPosition("fore.com"), lambda s: s.bodies["fore"].fixed(by_hand.COM["fore"])[0]),
    "beak": (M.PointPosition("beak"), lambda s: by_hand.vector(s.bodies, "beak")[0]),
    "tip rate": (M.PointVelocity("tip"), lambda s: by_hand.point(s.bodies, "tip")[1]),
    "kite com rate": (M.PointVelocity("kite.com"), lambda s: s.bodies["kite"].fixed(by_hand.COM["kite"])[1]),
    "beak rate": (M.PointVelocity("beak"), lambda s: by_hand.vector(s.bodies, "beak")[1]),
    "fore spin": (M.PointVelocity("fore.spin"), lambda s: s.bodies["fore"].w),
    "tip second": (M.PointAcceleration("tip"), lambda s: by_hand.point(s.bodies, "tip")[2]),
    "arm origin second": (M.PointAcceleration("arm.origin"), lambda s: s.bodies["arm"].a),
    "beak second": (M.PointAcceleration("beak"), lambda s: by_hand.vector(s.bodies, "beak")[2]),
    "fore spin second": (M.PointAcceleration("fore.spin"), lambda s: s.bodies["fore"].dw),
    "distance": (M.Distance("eye", "tool.com"), _distance),
    "angle": (M.Angle("beak", "tail", axis="mast"), _angle),
    "height": (M.Height("tip", "eye", "mast"), lambda s: by_hand.height(s.bodies, "tip", "eye", "mast")),
    "offset": (M.Offset("tip", "ring", (1, 2, 2)), _offset),
    "kinetic": (M.KineticEnergy(), lambda s: by_hand.kinetic_energy(s.bodies)),
    "potential": (M.PotentialEnergy(), lambda s: by_hand.potential_energy(s.bodies, s.q)),
    "centre of mass": (M.CentreOfMass(), lambda s: by_hand.centre_of_mass(s.bodies)),
    "momentum": (M.Momentum(), lambda s: by_hand.momenta(s.bodies)[0]),
    "angular momentum": (M.AngularMomentum(), lambda s: by_hand.momenta(s.bodies)[1]),
    "rope": (M.Multiplier("rope: distance"), lambda s: by_hand.rope_and_rest(s.bodies)[0]),
    "elbow reaction": (M.JointReaction("elbow"), _reaction),
    "elbow in parent": (M.JointReaction("elbow", axes="parent"), lambda s: _reaction(s, "arm")),
    "elbow in child": (M.JointReaction("elbow", axes="child"), lambda s: _reaction(s, "fore")),
    "spring": (M.Effort("spring"), lambda s: by_hand.spring_force(s.bodies)),
    "bend": (M.Effort("bend"), lambda s: 4.0 * (s.q[11] - 0.5) + 0.3 * s.v[9]),
    "drive": (M.Effort("drive"), lambda s: -by_hand.torque(s.t)),
    "rub": (M.Effort("rub"), lambda s: 0.5 * np.tanh(s.v[10] / 0.3) + 0.2 * s.v[10]),
    "mount": (M.Effort("mount"), lambda s: by_hand.mount_forces(s.bodies)),
    "roll": (M.TyreContact("roll"), lambda s: by_hand.tyre_contact(s.bodies)),
}
LINEAR = ("JointCoordinate", "JointVelocity", "JointAcceleration", "Multiplier")


@cache
def motion():
    """A tenth of a second; index-1 equations and explicit steps, so that accelerations are those of the states."""
    model = by_hand.model()
    return mg.simulate(
        model, mg.state(model, *by_hand.start()), duration=0.1, formulation="index1", scheme="rk4", step=2e-3
    )


@cache
def instants():
    """What the equations of EVERY see."""
    m = motion()
    places = [int(np.argmin(np.abs(m.t - t))) for t in INSTANTS]
    return [At(m.q[k], m.v[k], m.a[k], m.t[k], by_hand.rigid(m.q[k], m.v[k], m.a[k])) for k in places]


@cache
def measured():
    """Values of all measures at all instants, as objectives report them."""
    goals = {f"{name} {t}": mg.AtTime(t, measure) for name, (measure, _) in EVERY.items() for t in INSTANTS}
    found = mg.gradient(motion(), goals, ["gravity.z"], method="direct")
    sizes = [np.size(equation(instants()[0])) for _, equation in EVERY.values() for _ in INSTANTS]
    split = np.split(found.values, np.cumsum(sizes)[:-1])
    return {name: np.array(split[3 * k : 3 * k + 3]) for k, name in enumerate(EVERY)}


@cache
def samples():
    """Three states of the motion, and some numbers of the model; one of them twice."""
    return samples_of(motion()).rows(slice(None, None, 25)), Parameters(motion(), NUMBERS)


def complex_steps(measure, at, parameters):
    """Partials by everything, through the values alone."""

    class Everything(type(measure)):
        def depends_on(self, at, parameters):
            return parameters.in_model

    return Measure.partials(Everything(**vars(measure)), at, parameters)


@pytest.mark.parametrize("name", EVERY)
def test_values(name):
    found, wanted = measured()[name], np.array([np.atleast_1d(EVERY[name][1](s)) for s in instants()])
    # equations of motion are solved with condition numbers of some thousands
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())
    assert np.abs(wanted).max(axis=0).min() > 1e-3
    assert np.abs(np.diff(wanted, axis=0)).max(axis=1).min() > 1e-3  # it moves


@pytest.mark.parametrize("name", EVERY)
def test_partials_and_gradients(name):
    measure, (at, parameters) = EVERY[name][0], samples()
    wanted = complex_steps(measure, at, parameters)
    weights = np.random.default_rng(4).normal(size=(3, 2, measure.values(at)[0].size))
    found, sums = measure.partials(at, parameters), measure.gradients(at, parameters, weights)
    moved = False
    for level in ("q", "v", "a", "lam", "p"):
        exact, x, g = (getattr(part, level) for part in (wanted, found, sums))
        if exact is None:
            assert x is None
            assert g is None or not np.any(g)
            continue
        size = np.abs(exact).max(initial=0.0)
        moved |= size > 1e-2
        np.testing.assert_allclose(np.zeros_like(exact) if x is None else x, exact, rtol=1e-9, atol=1e-11 * size)
        total = np.tensordot(weights, exact, ([0, 2], [0, 1])) if level == "p" else product(weights, exact)
        # sums of a hundred terms
        np.testing.assert_allclose(np.zeros_like(total) if g is None else g, total, rtol=1e-9, atol=1e-10 * size)
    assert moved or name == "drive"  # a motor depends on time and its own numbers alone


@pytest.mark.parametrize("name", EVERY)
def test_curvature(name):
    """Against differences of complex steps; both leave about 1e-10 of the largest term."""
    measure, (at, parameters) = EVERY[name][0], samples()
    own = [level for level in ("q", "v", "a") if level in measure.uses.split()]
    weights = np.random.default_rng(7).normal(size=(3, measure.values(at)[0].size))
    found = measure.curvature(at, parameters, weights)
    nothing = Parameters(motion(), ["gravity.z"])
    h, n, largest = 4e-3, at.model.n_v, 0.0
    for level in own:
        for j in range(n):

            def gradient(step, level=level, j=j):
                x, d = getattr(at.states, level), step * np.eye(n)[j]
                x = at.model.integrate(x, np.tile(d, (3, 1))) if level == "q" else x + d
                there = at._replace(states=at.states._replace(**{level: np.asarray(x)}))
                slopes = complex_steps(measure, there, nothing)
                return {k: np.einsum("ts,tsn->tn", weights, getattr(slopes, k)) for k in own}

            ends = [gradient(k * h) for k in (2, 1, -1, -2)]
            for first in own[: own.index(level) + 1]:
                wanted = (8 * (ends[1][first] - ends[2][first]) - (ends[0][first] - ends[3][first])) / (12 * h)
                block = getattr(found, first + level)
                here = np.zeros((3, n)) if block is None else block[:, :, j]
                size = max(1.0, np.abs(wanted).max(), np.abs(ends[0][first]).max())
                np.testing.assert_allclose(here, wanted, rtol=0, atol=2e-7 * size)
                largest = max(largest, np.abs(wanted).max())
    assert (largest > 1e-2) == (type(measure).__name__ not in LINEAR and name not in ("bend", "drive"))


@pytest.mark.parametrize("name", [name for name, (measure, _) in EVERY.items() if isinstance(measure, RowMeasure)])
def test_rows_are_the_same_functions(name):
    """What force laws, drivers and assemblies read has the value, the rate and the gradient of the measure."""
    measure, (at, parameters) = EVERY[name][0], samples()
    model, (q, v, a, _, t) = at.model, at.states
    T = mechanism_of(model, independent=[measure.row(places(model))])
    rows = evaluate_rows(T, q, v, a, t, int(T.ints[N_ROWS]), int(T.ints[N_ALL]))
    by_q = measure.partials(at, parameters).q[:, 0]
    np.testing.assert_allclose(rows.values[:, 0], measure.values(at), rtol=0, atol=1e-13)
    np.testing.assert_allclose(rows.J[:, 0], by_q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(rows.rates[:, 0], np.einsum("tn,tn->t", by_q, v), rtol=0, atol=1e-12)
    assert np.abs(by_q).max() > 0.1


def test_every_measure_is_here():
    wanted = {getattr(mg.measures, name) for name in mg.measures.__all__} - {M.Measure, M.GeometricMeasure}
    assert {type(measure) for measure, _ in EVERY.values()} == wanted
    assert sum(isinstance(measure, RowMeasure) for measure, _ in EVERY.values()) >= 5


def test_accelerations_meet_the_balances_of_momentum():
    """Nothing is left of forces and moments on the kite, and along the freedoms of hinge, slider and ball there is what
    motor, spring and friction exert: the accelerations are those of the mechanism, and so is the oracle."""
    for q, v, _, t, bodies in instants():
        tension, force, moment = by_hand.rope_and_rest(bodies)
        np.testing.assert_allclose(force, 0.0, atol=1e-11 * abs(tension))
        np.testing.assert_allclose(moment, 0.0, atol=1e-11 * abs(tension))
        axis = bodies["arm"].R @ by_hand.HINGE_AXIS / np.linalg.norm(by_hand.HINGE_AXIS)
        elbow, _ = by_hand.elbow_reaction(bodies, tension)
        wanted = by_hand.torque(t) - 4.0 * (q[11] - 0.5) - 0.3 * v[9]
        assert axis @ elbow == pytest.approx(wanted, abs=1e-11 * np.abs(elbow).max())
