"""Six numbers that belong together are (couple, force), of motions (w, v): one situation in closed form, everywhere.

A beam of mass m sticks out of the wall along x, its centre of mass at distance c; the wall carries

    force (0, 0, m g),      couple about the wall's point  (0, -m g c, 0)          with c = 0.25 m they differ
"""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.inverse.kernels import wrenches
from mechgrad.inverse.newton_euler import LinkReactions, newton_euler_reactions
from mechgrad.inverse.probes import probed
from mechgrad.optimization.motion import GroundReactions, MotionSolution, Splines, Stance
from mechgrad.optimization.motion.measures.ground import GroundTorques
from mechgrad.optimization.motion.measures.joint_wrenches import Reactions
from mechgrad.optimization.motion.measures.sharing import twist_cross, wrench_cross
from mechgrad.typing import Wrench

MASS, ARM, G = 4.0, 0.25, 9.81
COUPLE, FORCE = np.array([0.0, -MASS * G * ARM, 0.0]), np.array([0.0, 0.0, MASS * G])
SIX = np.concatenate([COUPLE, FORCE])
BEAM = mg.Model(
    "beam", [mg.Body("beam", MASS, (ARM, 0, 0))], [mg.Revolute("wall", "ground", "beam", axis=(0, 1, 0))],
    gravity=(0, 0, -G),
)  # fmt: skip
AT = [0.0]


def close(found, wanted) -> None:
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_the_two_parts_differ() -> None:
    assert np.abs(COUPLE).max() == pytest.approx(ARM * np.abs(FORCE).max())


def test_wrenches_and_slots_of_kernels() -> None:
    assert Wrench._fields == ("couple", "force")
    assert (wrenches.MOMENT, wrenches.FORCE) == (wrenches.L_COUPLE, wrenches.L_FORCE) == (0, 3)
    assert (wrenches.LOAD_C, wrenches.LOAD_F, wrenches.LOAD_X) == (0, 3, 6)


def test_joint_reactions() -> None:
    for method in ("spatial", "newton-euler"):
        found = mg.joint_reactions(BEAM, AT, method=method)
        close(found.couple[0], COUPLE)
        close(found.force[0], FORCE)
        close(np.concatenate(found.of("wall")), SIX)
    links = newton_euler_reactions(BEAM, AT)
    close(np.concatenate(links.of("wall")), SIX)


def test_derivatives_of_reactions() -> None:
    """By the mass, SIX / m; by the angle q the beam turns down: z = -c sin q, the lever c cos q."""
    D = mg.terms.joint_reactions_derivatives(BEAM, AT, wrt=["beam.mass", "beam.com.x"])
    close(D.dp.dense(), np.stack([SIX / MASS, [0, -MASS * G, 0, 0, 0, 0]], axis=1))
    close(np.concatenate(D.of("wall", "beam.mass")), SIX / MASS)
    # an angular acceleration about y moves the centre of mass along -z
    close(D.da.dense()[:, 0], [0, MASS * ARM**2, 0, 0, 0, -MASS * ARM])
    close(np.concatenate(D.of("wall", "a"))[:, 0], [0, MASS * ARM**2, 0, 0, 0, -MASS * ARM])


def test_probes() -> None:
    P = probed(BEAM, ["wall"], ground=True)
    tau = mg.inverse_dynamics(P.model, P.widen_q(AT))
    for name in ("wall", "ground"):
        close(tau[P.probes[name]], SIX)
    assert [P.model.v_names[k] for k in P.probes["wall"]] == [f"wall.probe.{x}{axis}" for x in "mf" for axis in "xyz"]


def test_the_measure_of_a_reaction() -> None:
    """At rest against a locked hinge, after no time: the beam is held by a torque of -m g c."""
    motion = mg.simulate(BEAM, AT, duration=0.01, step=0.01, tau=COUPLE[1:2])
    found = mg.gradient(motion, mg.AtTime(0.0, mg.measures.JointReaction("wall")), ["beam.mass"])
    np.testing.assert_allclose(found.values, SIX, atol=1e-9)
    # the torque stays: the couple with it; a heavier beam falls, F = m (g - c a) with a = g/c - tau/(m c^2), so F_m = 0
    np.testing.assert_allclose(found.of("beam.mass"), 0.0, atol=1e-9)
    carried = motion.reactions()
    close(np.concatenate(carried.of("wall"), axis=-1)[0], SIX)


def biped_at_rest() -> MotionSolution:
    """A block on the ground, free to slide along and turn about all axes."""
    names = ("x", "y", "z", "yaw", "roll", "pitch")
    axes = [*np.eye(3), (0, 0, 1), (1, 0, 0), (0, 1, 0)]
    bodies = [*(mg.Body(f"at_{name}") for name in names[:-1]), mg.Body("block", MASS, (ARM, 0, 0.5), (1, 1, 1))]
    places = ["ground", *(body.name for body in bodies)]
    joints = [
        (mg.Prismatic if k < 3 else mg.Revolute)(name, places[k], places[k + 1], axis=axes[k])
        for k, name in enumerate(names)
    ]
    model = mg.Model("block", bodies, joints, gravity=(0, 0, -G))
    splines = Splines(3)
    return MotionSolution(model, splines, splines.fit(np.linspace(0, 1, 9), np.zeros((9, 6))), 1.0, None)


def test_the_ground_under_motions() -> None:
    block = biped_at_rest()
    stance = [Stance("block", (0.0, 0.0, 0.0))]
    ground = block.ground_reactions(stance, 3)
    for k in range(3):
        close(np.concatenate([ground.couple[k], ground.force[k]]), SIX)
        close(np.concatenate([x[k] for x in ground.feet["block"]]), SIX)
    close(ground.zmp, np.tile([ARM, 0, 0], (3, 1)))
    s = block.samples_at(np.linspace(0, 1, 3))
    measure = GroundTorques(block.model, tuple(stance), xi=s.xi)
    close(measure.values(s)[:, 6:], np.tile(SIX, (3, 1)))
    wanted = [f"{what}.{axis}" for what in ("couple", "force") for axis in "xyz"]
    assert [name.removeprefix("ground ") for name in measure.names[6:]] == wanted
    joint = Reactions(block.model, ("pitch",))
    close(joint.values(s), np.tile(SIX, (3, 1)))
    assert [name.removeprefix("pitch ") for name in joint.names] == wanted


def test_twists_are_angular_first() -> None:
    """The velocity of a point that a turning body carries: (w, v) x (0, x) = (0, w x x); power is
    couple . w + force . v whatever moves along."""
    w, x = np.array([0.0, 0.0, 2.0]), np.array([3.0, 0.0, 0.0])
    none = np.zeros(3)
    close(twist_cross(np.concatenate([w, none]), np.concatenate([none, x])), [0, 0, 0, 0, 6, 0])
    S, U, W = np.random.default_rng(1).standard_normal((3, 1, 6))
    close(np.sum(twist_cross(S, U) * W), -np.sum(U * wrench_cross(S[:, None], W)[:, 0]))
    # a force in x at a point that moves along y: the couple about the origin changes by -v x F
    moved = wrench_cross(np.array([[[0, 0, 0, 0, 1.0, 0]]]), np.array([[0, 0, 0, 5.0, 0, 0]]))
    close(moved[0, 0], [0, 0, -5.0, 0, 0, 0])


def test_results_name_couple_before_force() -> None:
    """No other word for it, and no other order."""
    spaces = (mg.results, mg.terms, mg.motion, mg.measures)
    found = {getattr(space, name) for space in spaces for name in space.__all__}
    seen = 0
    for cls in (x for x in (*found, LinkReactions, GroundReactions) if inspect.isclass(x) and is_dataclass(x)):
        names = [field.name for field in fields(cls)]
        assert "moment" not in names, cls
        if "force" in names and "couple" in names and cls is not mg.motion.ReactionLimits:
            assert names.index("couple") < names.index("force"), cls
            seen += 1
    assert seen >= 3
