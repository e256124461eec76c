"""Parameters that tear loops apart where no configuration could close them again.

Closure rows that hold in every configuration (the third axis of a planar loop) take no part in a motion. A number that
moves a hinge of such a loop out of its plane changes them all the same, and then nothing closes the loop any more: the
changed mechanism has no motion, and the motion no derivative by that number.
"""

from __future__ import annotations

import numpy as np

from mechgrad.dynamics.states import States
from mechgrad.kinematics.mechanism_record import elements_of, evaluate_rows, mechanism_of, row_report
from mechgrad.model.columns import STEP
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.steps.torn import torn

INSTANTS = 20  # at which idle rows are looked at
TORN = 1e-9  # change of a row per unit of a parameter: smaller is rounding


def check_idle_rows(parameters: Parameters, states: States) -> None:
    """Raise for the first parameter that changes a row which no motion can meet."""
    model = parameters.model
    kept = row_report(model).kept
    idle = np.setdiff1d(np.arange(elements_of(model).n_constraints), kept)
    shaping = [k for k in parameters.in_model if parameters.places(k)]
    if not idle.size or not shaping:
        return
    some = np.unique(np.linspace(0, len(states.t) - 1, INSTANTS).astype(int))
    q, v, t = (np.asarray(x)[some] for x in (states.q, states.v, states.t))
    for k in shaping:
        T = mechanism_of(parameters.moved(k), rows=idle, dtype=complex)
        found = evaluate_rows(T, q + 0j, v + 0j, None, t, 0, len(idle))
        miss = max(float(np.abs(x.imag).max(initial=0.0)) / STEP for x in (found.values, found.rates))
        if miss > TORN:
            raise torn(model, parameters.names[k], miss)
