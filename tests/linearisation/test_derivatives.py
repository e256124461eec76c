"""dA/dp of every kind of mechanism against differences of linearisations made anew: the state, too, is found again."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from linearised_cases import CASES

import mechgrad as mg

NUMBERS = {
    "moving_five_bar": ["12.mass", "L_A1", "S1.stiffness", "gravity.y", "start.position.A", "start.velocity.1"],
    "resting_five_bar": ["12.mass", "S1.stiffness", "gravity.y", "3B.com.x"],
    "held_arm": ["upper.mass", "lower.com.z", "push.force.x", "start.position.elbow"],
    "held_five_bar": ["12.mass", "S1.stiffness", "start.position.A"],
    "driven_and_rubbed": ["rub.viscous", "rub.coulomb", "start.velocity.A"],
    "stated_twice": ["12.mass", "S2.stiffness", "start.velocity.A"],
    "slider_crank": ["rod.mass", "crank axis.origin.z", "start.velocity.crank axis", "S1.damping"],
    "slider_crank_with_a_ball": ["rod.mass", "rod.inertia.xx", "start.position.crank axis"],
    "every_constraint": [
        "dot rule.value", "angle rule.angle.coefficients.1", "plane rule.distance", "rope rule.distance.frequency",
        "rope.com.x",        "sum rule.factors.1", "start.velocity.dot cross.angle1",
    ],
    "every_force": ["start.velocity.#0", "start.position.#1", "#mass", "gravity.z"],
    "linkage": ["bar1.mass", "spring.stiffness", "rub.viscous", "start.position.h0"],
    "leaning_bicycle": ["frame.mass", "frame.com.z", "rear wheel.radius", "steering.axis.x", "start.position.side.z",
                        "start.velocity.root.x"],
    "bicycle_on_tyres": ["frame.mass", "rear tyre.critical_angle", "start.velocity.rear axle"],
    "top": ["top.mass", "top.com.x", "cart.mass", "start.velocity.tip.wz", "start.position.slide"],
}  # fmt: skip


def existing(model: mg.Model, names: list[str]) -> list[str]:
    """Those of the names that the model has; "#.." are filled in."""
    filled = []
    for name in names:
        if name.startswith("start.") and "#" in name:
            kind, k = name.rsplit("#", 1)
            names_of = model.v_names if "velocity" in kind else model.q_names
            filled.append(kind + names_of[int(k)])
        elif name == "#mass":
            filled.append(f"{model.bodies[1].name}.mass")
        else:
            filled.append(name)
    return filled


@pytest.mark.parametrize("case", CASES)
def test_derivatives_of_A(case: str) -> None:
    model, start = CASES[case]()
    lin = mg.linearise(model, start)
    paths = existing(model, NUMBERS[case])
    D = lin.derivatives(paths)
    for k, path in enumerate(paths):
        parameters = lin.derivatives(path)
        np.testing.assert_allclose(parameters.A[0], D.A[k], atol=1e-12 * np.abs(D.A[k]).max())
        value = lin.value(path)
        h = 2e-4 * max(abs(value), 0.3)
        found = [lin.with_values({path: value + s * h}) for s in (2, 1, -1, -2)]
        for name in ("A", "mass", "damping", "stiffness"):
            far, near, back, behind = (getattr(x, name) for x in found)
            wanted = (8 * (near - back) - (far - behind)) / (12 * h)
            size = max(np.abs(wanted).max(), 1e-3 * np.abs(getattr(lin, name)).max())
            np.testing.assert_allclose(getattr(D, name)[k], wanted, atol=2e-7 * size, err_msg=f"{path}: {name}")
        assert np.abs(D.A[k]).max() > 1e-2, f"{path} has no influence"


def test_a_sign_of_every_part_matters() -> None:
    """The parts of dA/dp that the state brings are not zero: a derivative with the state held is another one."""
    model, start = CASES["moving_five_bar"]()
    lin = mg.linearise(model, start)
    held = mg.linearise(model, mg.state(model, start.q, start.v))
    with pytest.raises(mg.MechgradError, match="L_A1"):  # loops would be torn
        held.derivatives("L_A1")
    along = lin.derivatives("L_A1").A[0]
    assert np.abs(along).max() > 1.0
