"""Inverse dynamics of closed mechanisms and its derivatives against motions that drivers prescribe: the multipliers of
the drivers, as `simulate` and `gradient` find them, are the torques reversed.

Drivers leave no freedom, so parameters of the model change no independent coordinate; and a coefficient of a driver's
function c0 + c1 t + c2 t^2 changes nothing but z, z' and z'' by what stands beside it.
"""

from __future__ import annotations

import numpy as np
import pytest
from torque_cases import CASES, Case

import mechgrad as mg

T0, STEP, STEPS = 0.3, 1e-3, 6


def driven(case: Case) -> mg.Model:
    """The model with drivers that are where the case says at T0 = 0.3 s."""
    free, drivers = case.model, []
    for name in case.z:
        z, zd, zdd = case.z[name], case.zd[name], case.zdd[name]
        turn = mg.functions.Polynomial((z - zd * T0 + 0.5 * zdd * T0**2, zd - zdd * T0, 0.5 * zdd))
        drivers.append(mg.constraints.Driver(f"drive {name}", name, turn))
    return mg.Model(
        "driven", free.bodies, free.joints, free.points, free.vectors, free.gravity, forces=free.forces, cut=free.cut,
        constraints=drivers,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["five-bar", "slider-crank", "stewart"])
def test_torques_and_derivatives_are_those_of_drivers(name: str) -> None:
    """Explicit steps with accelerations that meet the constraints exactly: what is left is what projections leave."""
    case = CASES[name]()
    model, joints = driven(case), list(case.z)
    start = mg.assemble(model, guess=case.guess, t=T0)
    motion = mg.simulate(model, start, STEPS * STEP, step=STEP, formulation="index1", scheme="rk4", loads=case.loads)
    columns = [model.v_names.index(joint) for joint in joints]
    tau = mg.inverse_dynamics(case.model, motion.q, motion.v, motion.a, driven=joints, loads=case.loads)[:, columns]
    pushes = -motion.multipliers[:, -len(joints) :]
    size = np.abs(pushes).max()
    assert size > 0.1
    np.testing.assert_allclose(tau, pushes, atol=1e-9 * size)

    D = mg.inverse_dynamics_derivatives(
        case.model, motion.q[-1], motion.v[-1], motion.a[-1], driven=joints, independent=joints, loads=case.loads,
        wrt=case.wrt,
    )  # fmt: skip
    turns = [f"drive {joints[-1]}.function.coefficients.{k}" for k in range(3)]
    ends = [mg.AtEnd(mg.measures.Multiplier(f"drive {joint}: drive")) for joint in joints]
    found = mg.gradient(motion, ends, [*case.wrt, *turns])
    t, last = motion.t[-1], len(joints) - 1
    expected = {path: D.by(path) for path in case.wrt}
    for path, (c, cd, cdd) in zip(turns, ((1.0, 0.0, 0.0), (t, 1.0, 0.0), (t * t, 2 * t, 2.0)), strict=True):
        expected[path] = c * D.dz[:, last] + cd * D.dzd[:, last] + cdd * D.dzdd[:, last]
    for path, by in expected.items():
        largest = np.abs(by[columns]).max()
        assert largest > 1e-4, f"{path} has no influence"
        np.testing.assert_allclose(-found.of(path), by[columns], atol=1e-8 * largest, err_msg=path)
