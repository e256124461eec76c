"""Every measure along a motion, against its equation in plain NumPy on the mechanics of `measured_motion`."""

from __future__ import annotations

from functools import cache

import measured_motion as by_hand
import numpy as np
import pytest

import mechgrad as mg
from mechgrad import sensitivities

INSTANTS = (0.0, 0.06, 0.1)


@cache
def motion():
    """A tenth of a second; index-1 equations and explicit steps, so that accelerations are those of the states."""
    model = by_hand.model()
    return mg.simulate(
        model, mg.state(model, *by_hand.start()), duration=0.1, formulation="index1", scheme="rk4", step=2e-3
    )


@cache
def states():
    """q, v, a and bodies at the instants."""
    m = motion()
    found = []
    for t in INSTANTS:
        k = int(np.argmin(np.abs(m.t - t)))
        found.append((m.q[k], m.v[k], m.a[k], by_hand.rigid(m.q[k], m.v[k], m.a[k])))
    return found


MEASURES = {
    "elbow": mg.measures.JointCoordinate("elbow"),
    "reach": mg.measures.JointCoordinate("reach"),
    "height": mg.measures.JointCoordinate("free.z"),
    "elbow rate": mg.measures.JointVelocity("elbow"),
    "ball rate": mg.measures.JointVelocity("ball.wy"),
    "elbow second": mg.measures.JointAcceleration("elbow"),
    "kite second": mg.measures.JointAcceleration("free.wx"),
    "tip": mg.measures.PointPosition("tip"),
    "fore com": mg.measures.PointPosition("fore.com"),
    "beak": mg.measures.PointPosition("beak"),
    "tip rate": mg.measures.PointVelocity("tip"),
    "kite com rate": mg.measures.PointVelocity("kite.com"),
    "beak rate": mg.measures.PointVelocity("beak"),
    "fore spin": mg.measures.PointVelocity("fore.spin"),
    "tip second": mg.measures.PointAcceleration("tip"),
    "arm origin second": mg.measures.PointAcceleration("arm.origin"),
    "beak second": mg.measures.PointAcceleration("beak"),
    "fore spin second": mg.measures.PointAcceleration("fore.spin"),
    "distance": mg.measures.Distance("eye", "tool.com"),
    "angle": mg.measures.Angle("beak", "tail", about="mast"),
    "kinetic": mg.measures.KineticEnergy(),
    "potential": mg.measures.PotentialEnergy(),
    "rope": mg.measures.Multiplier("rope: distance"),
    "elbow reaction": mg.measures.JointReaction("elbow"),
    "elbow in parent": mg.measures.JointReaction("elbow", axes="parent"),
    "elbow in child": mg.measures.JointReaction("elbow", axes="child"),
    "spring": mg.measures.Effort("spring"),
    "bend": mg.measures.Effort("bend"),
    "drive": mg.measures.Effort("drive"),
    "rub": mg.measures.Effort("rub"),
    "mount": mg.measures.Effort("mount"),
}


@cache
def measured():
    """Values of all measures at all instants, as objectives report them."""
    goals = {f"{name} {t}": mg.AtTime(t, measure) for name, measure in MEASURES.items() for t in INSTANTS}
    found = mg.gradient(motion(), goals, ["gravity.z"], method="direct")
    sizes = [np.size(expected(name)[0]) for name in MEASURES for _ in INSTANTS]
    split = np.split(found.values, np.cumsum(sizes)[:-1])
    return {name: np.array(split[3 * k : 3 * k + 3]) for k, name in enumerate(MEASURES)}


def of_bodies(function):
    return [np.atleast_1d(function(bodies)) for *_, bodies in states()]


def angle(bodies):
    u, w, n = (by_hand.vector(bodies, name)[0] for name in ("beak", "tail", "mast"))
    return np.arctan2(n @ np.cross(u, w), np.linalg.norm(n) * (u @ w))


def distance(bodies):
    return np.linalg.norm(by_hand.point(bodies, "eye")[0] - bodies["tool"].fixed(by_hand.COM["tool"])[0])


def reaction(bodies, axes=None):
    tension, *_ = by_hand.rope_and_rest(bodies)
    turn = np.eye(3) if axes is None else bodies[axes].R
    return np.concatenate([turn.T @ x for x in by_hand.elbow_reaction(bodies, tension)])


def expected(name):
    """What the equations say, one array per instant."""
    of_states = {
        "elbow": lambda q, v, a: q[11],
        "reach": lambda q, v, a: q[12],
        "height": lambda q, v, a: q[2],
        "elbow rate": lambda q, v, a: v[9],
        "ball rate": lambda q, v, a: v[7],
        "elbow second": lambda q, v, a: a[9],
        "kite second": lambda q, v, a: a[3],
        "bend": lambda q, v, a: 4.0 * (q[11] - 0.5) + 0.3 * v[9],
        "rub": lambda q, v, a: 0.5 * np.tanh(v[10] / 0.3) + 0.2 * v[10],
    }
    if name in of_states:
        return [np.atleast_1d(of_states[name](q, v, a)) for q, v, a, _ in states()]
    if name == "potential":
        return [np.atleast_1d(by_hand.potential_energy(bodies, q)) for q, _, _, bodies in states()]
    if name == "drive":
        return [np.atleast_1d(-by_hand.torque(t)) for t in INSTANTS]
    return of_bodies(
        {
            "tip": lambda b: by_hand.point(b, "tip")[0],
            "fore com": lambda b: b["fore"].fixed(by_hand.COM["fore"])[0],
            "beak": lambda b: by_hand.vector(b, "beak")[0],
            "tip rate": lambda b: by_hand.point(b, "tip")[1],
            "kite com rate": lambda b: b["kite"].fixed(by_hand.COM["kite"])[1],
            "beak rate": lambda b: by_hand.vector(b, "beak")[1],
            "fore spin": lambda b: b["fore"].w,
            "tip second": lambda b: by_hand.point(b, "tip")[2],
            "arm origin second": lambda b: b["arm"].a,
            "beak second": lambda b: by_hand.vector(b, "beak")[2],
            "fore spin second": lambda b: b["fore"].dw,
            "distance": distance,
            "angle": angle,
            "kinetic": by_hand.kinetic_energy,
            "rope": lambda b: by_hand.rope_and_rest(b)[0],
            "elbow reaction": reaction,
            "elbow in parent": lambda b: reaction(b, "arm"),
            "elbow in child": lambda b: reaction(b, "fore"),
            "spring": by_hand.spring_force,
            "mount": by_hand.mount_forces,
        }[name]
    )


@pytest.mark.parametrize("name", MEASURES)
def test_values(name):
    found, wanted = measured()[name], np.array(expected(name))
    # equations of motion are solved with condition numbers of some thousands
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())
    assert np.abs(wanted).max(axis=0).min() > 1e-3
    assert np.abs(np.diff(wanted, axis=0)).max(axis=1).min() > 1e-3  # it moves


def test_every_measure_is_here():
    measures = {value for value in vars(sensitivities).values() if isinstance(value, type)}
    wanted = {x for x in measures if issubclass(x, mg.measures.Measure) and x is not mg.measures.Measure}
    assert {type(x) for x in MEASURES.values()} == wanted
    assert len(wanted) == 13


def test_accelerations_meet_the_balances_of_momentum():
    """Nothing is left of forces and moments on the kite, and along the freedoms of hinge, slider and ball there is what
    motor, spring and friction exert: the accelerations are those of the mechanism, and so is the oracle."""
    for t, (q, v, _, bodies) in zip(INSTANTS, states(), strict=True):
        tension, force, moment = by_hand.rope_and_rest(bodies)
        np.testing.assert_allclose(force, 0.0, atol=1e-11 * abs(tension))
        np.testing.assert_allclose(moment, 0.0, atol=1e-11 * abs(tension))
        axis = bodies["arm"].R @ by_hand.HINGE_AXIS / np.linalg.norm(by_hand.HINGE_AXIS)
        elbow, _ = by_hand.elbow_reaction(bodies, tension)
        wanted = by_hand.torque(t) - 4.0 * (q[11] - 0.5) - 0.3 * v[9]
        assert axis @ elbow == pytest.approx(wanted, abs=1e-11 * np.abs(elbow).max())
