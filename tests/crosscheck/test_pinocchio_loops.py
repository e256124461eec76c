"""Torques of a closed linkage against Pinocchio's constrained forward dynamics."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from support.pinocchio_twin import Twin, se3

import mechgrad as mg
from mechgrad.gallery import five_bar, five_bar_start


@pytest.mark.parametrize("driven", [["A", "1"], ["A", "3"], ["A", "1", "2", "3"]])
def test_pinocchio_turns_the_torques_into_the_motion(driven):
    """The five-bar without springs; its last hinge holds a point in Pinocchio, whose third row is redundant in a
    plane and left to the proximal iteration."""
    model = five_bar(springs=False)
    at, rates, second = {"A": -2.2, "1": 1.6}, {"A": 0.7, "1": -1.1}, {"A": 2.0, "1": 1.3}
    state = mg.assemble(model, at, rates, guess=five_bar_start())
    a = mg.kinematics.solve_accelerations(model, state.q, state.v, second)
    tau = mg.inverse_dynamics(model, state.q, state.v, a, driven=driven)
    assert np.abs(tau).max() > 1.0

    tree = mg.Model("tree", model.bodies, model.joints[:4], gravity=model.gravity)
    twin, hinge = Twin(tree), model.joint("B")
    index, place = twin.frames["3B"]
    closure = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, twin.model, index, place * se3(None, hinge.child_origin), 0,
        se3(None, hinge.origin), pin.ReferenceFrame.LOCAL,
    )  # fmt: skip
    closures, data = [closure], [closure.createData()]
    pin.initConstraintDynamics(twin.model, twin.data, closures, data)
    settings = pin.ProximalSettings(1e-14, 1e-10, 100)

    def accelerations(torques):
        given = twin.theirs(state.q, state.v, torques)
        return pin.constraintDynamics(twin.model, twin.data, *given, closures, data, settings)[twin.order]

    np.testing.assert_allclose(accelerations(tau), a, atol=1e-8)
    assert np.abs(accelerations(0 * tau) - a).max() > 1.0  # torques matter
