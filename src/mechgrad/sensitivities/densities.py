"""Objectives taken apart for continuous adjoints: integrands over time, and terms at the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mechgrad.dynamics.states import StateGradients
from mechgrad.errors import InputError
from mechgrad.measures.base import StateSamples
from mechgrad.sensitivities.continuous.linearised_motion import Terminal
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.objectives import Objective, Term
from mechgrad.typing import FloatArray

INSTEAD = "Use method='adjoint' or 'direct'."


class Densities(NamedTuple):
    """psi = integral g dt + Theta(end):  g by states (nt, no, .), Theta by the last q and v, and what parameters do
    besides (no, np)."""

    by_states: StateGradients
    terminal: Terminal
    by_parameters: FloatArray


def densities(objective: Objective, at: StateSamples, parameters: Parameters) -> Densities:
    """Integrands and terminal terms of an objective."""
    return _sum([(factor, _of_term(term, at, parameters)) for factor, term in objective.terms()])


def _of_term(term: Term, at: StateSamples, parameters: Parameters) -> Densities:
    found = term.gradients(at, parameters)
    g, t = found.by_states, at.states.t
    if term.over_time:
        w = term.quadrature(t, at.rule)[:, None, None]
        nothing = np.zeros_like(g.q[-1])
        return Densities(StateGradients(*(x / w for x in g)), Terminal(nothing, nothing), found.by_parameters)
    counted = np.arange(len(t))[term.instants(t)]
    if counted.tolist() != [len(t) - 1]:
        raise InputError(
            f"a value at t = {t[counted[0]]:g} s makes the continuous adjoint jump there, which it does not follow. "
            + INSTEAD
        )
    for name, part in (("accelerations", g.a), ("multipliers", g.lam)):
        if np.any(part[-1]):
            raise InputError(
                f"{type(term).__name__} of {name} has no continuous adjoint: they are no state that the adjoint could "
                f"start from. {INSTEAD}"
            )
    zero = StateGradients(*(np.zeros_like(x) for x in g))
    return Densities(zero, Terminal(g.q[-1], g.v[-1]), found.by_parameters)


def _sum(parts: list[tuple[float, Densities]]) -> Densities:
    if len({x.by_parameters.shape for _, x in parts}) > 1:
        raise InputError(f"objectives of {[len(x.by_parameters) for _, x in parts]} numbers cannot be added.")
    factors = [factor for factor, _ in parts]

    def total(columns: Iterable[tuple[FloatArray, ...]]) -> list[FloatArray]:
        return [np.asarray(sum(f * x for f, x in zip(factors, column, strict=True))) for column in columns]

    states = total(zip(*(x.by_states for _, x in parts), strict=True))
    terminal = total(zip(*(x.terminal for _, x in parts), strict=True))
    (by_parameters,) = total([tuple(x.by_parameters for _, x in parts)])
    return Densities(StateGradients(*states), Terminal(*terminal), by_parameters)


def joined(parts: list[Densities]) -> Densities:
    """Several objectives side by side."""
    states = StateGradients(*(np.concatenate(x, axis=1) for x in zip(*(p.by_states for p in parts), strict=True)))
    terminal = Terminal(*(np.concatenate(x) for x in zip(*(p.terminal for p in parts), strict=True)))
    return Densities(states, terminal, np.concatenate([p.by_parameters for p in parts]))
