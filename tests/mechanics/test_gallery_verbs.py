"""Every mechanism of the gallery through every verb of states: none is refused, and the verbs agree with each other."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracles import STEP, relative_error

import mechgrad as mg
from mechgrad.cli.models import GALLERY
from mechgrad.gallery import bicycle, bicycle_start

NAMES = [*GALLERY, "bicycle on tyres"]


def start_of(name: str) -> tuple[mg.Model, np.ndarray, np.ndarray]:
    """The mechanism where it starts, moved on where nothing holds it, with more velocities than it starts with."""
    model = bicycle("tyres") if name not in GALLERY else GALLERY[name].make()
    start = bicycle_start(model) if name not in GALLERY else GALLERY[name].start(model)
    q, v = (start.q, start.v) if isinstance(start, mg.State) else start
    q, v = np.array(q, float), np.zeros(model.n_v) if v is None else np.array(v, float)
    rng = np.random.default_rng(len(name))
    if not (model.cut or model.constraints):
        most = 2e-4 if name == "anchor" else 0.02  # 63 joints of a chain add up: it would be inside the hull
        q = np.asarray(model.integrate(q, rng.uniform(-most, most, model.n_v)))
    return model, q, v + free_directions(model, q) @ rng.uniform(-0.3, 0.3, model.n_v)


def free_directions(model: mg.Model, q: np.ndarray) -> np.ndarray:
    """Projection (n_v, n_v) on velocities that the constraints allow."""
    gamma = mg.terms.constraint_terms(model, q).gamma
    return np.eye(model.n_v) - np.linalg.pinv(gamma, rcond=1e-9) @ gamma


def along_constraints(model: mg.Model, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A direction of q and v in which constraints stay met at both levels; any direction of a tree."""
    rng = np.random.default_rng(5)
    here, free = mg.terms.constraint_terms(model, q, v), free_directions(model, q)
    dq = free @ rng.uniform(-1, 1, model.n_v)
    held = np.linalg.pinv(here.gamma, rcond=1e-9) @ (here.rate_q @ dq)
    return dq, free @ rng.uniform(-1, 1, model.n_v) - held


@pytest.mark.parametrize("name", NAMES)
def test_every_mechanism_through_every_verb(name: str) -> None:
    model, q, v = start_of(name)
    rng = np.random.default_rng(1)
    tau = rng.uniform(-1, 1, model.n_v)
    loads = [mg.Load(model.bodies[-1].name, (1.0, -2.0, 3.0), (0.1, 0.2, -0.3), (0.1, 0.05, -0.02), name="push")]
    a, lam = mg.forward_dynamics(model, q, v, tau, loads=loads, return_multipliers=True)
    assert np.abs(a).max() > 0.1

    # the equations of motion and the constraints, by other functions; rounding grows with the largest of their terms
    terms = mg.terms.motion_terms(model, q, v, a, lam, tau=tau, loads=loads)
    rest = mg.terms.motion_terms(model, q, v, loads=loads, tau=tau).r
    rows = mg.terms.constraint_terms(model, q, v, a)
    assert np.abs(rest).max() > 0.1
    size = max(1.0, np.abs(terms.M * a).max(), np.abs(rest).max(), np.abs(rows.gamma.T * lam).max(initial=0.0))
    assert np.abs(terms.r).max() < 1e-11 * size
    assert np.abs(rows.second).max(initial=0.0) < 1e-9 * max(1.0, np.abs(rows.gamma * a).max(initial=0.0))
    assert relative_error(mg.mass_matrix(model, q).dense(), terms.M) < 1e-12

    # derivatives along one direction of everything, by a complex step through the accelerations
    path = next(
        p for p in ("S1.stiffness", f"{model.bodies[-1].name}.mass") if p in {x.path for x in model.parameters()}
    )
    D = mg.forward_dynamics_derivatives(model, q, v, tau, loads=loads, wrt=[path, "push.force.y"])
    dq, dv = along_constraints(model, q, v)
    dtau, dp = rng.uniform(-1, 1, model.n_v), np.array([0.7, -0.4])
    force = np.array([1.0, -2.0 + 1j * STEP * dp[1], 3.0])
    moved = mg.forward_dynamics(
        model.with_values({path: model.value(path) + 1j * STEP * dp[0]}),
        model.integrate(q, 1j * STEP * dq), v + 1j * STEP * dv, tau + 1j * STEP * dtau,
        loads=[mg.Load(loads[0].body, force, loads[0].torque, loads[0].point)], return_multipliers=True,
    )  # fmt: skip
    blocks = [D] if D.multipliers is None else [D, D.multipliers]
    condition = np.linalg.cond(terms.M)  # rounding in a is amplified by it
    for block, by_step in zip(blocks, moved, strict=False):
        wanted = np.imag(by_step) / STEP
        assert np.abs(wanted).max() > 1e-3
        found = block.dq @ dq + block.dv @ dv + block.dtau @ dtau + block.dp @ dp
        assert relative_error(found, wanted) < max(1e-9, 1e-13 * condition)
    assert (D.multipliers is None) == (not lam.size)

    # left to itself, nothing drives it: joints transmit the same, whether forces or the motion that follows is given
    alone = mg.forward_dynamics(model, q, v, loads=loads)
    under, of = (
        mg.joint_reactions(model, q, v, loads=loads, axes="child", **given)
        for given in ({"tau": 0}, {"a": alone})
    )  # fmt: skip
    assert under.names == model.joint_names
    assert np.abs(under.force).max() > 0.1 or name == "free_top"
    for x, y in ((under.force, of.force), (under.couple, of.couple)):
        assert relative_error(x, y) < 1e-9

    # many states are as one
    many = mg.forward_dynamics(model, [q, q], [v, v], [tau, 2 * tau], loads=loads)
    assert relative_error(many[0], a) < 1e-12 * max(1.0, condition)
    assert np.abs(many[1] - a).max() > 1e-6
