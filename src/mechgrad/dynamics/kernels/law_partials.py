"""What laws add to stiffness and damping: K += Gamma^T (F_g Gamma + F_g' Gamma_rate), C += Gamma^T F_g' Gamma.

Only of laws that act, and of the columns that move their rows: an open contact costs a look, a closed one the square of
the number of columns below its bodies.
"""

from __future__ import annotations

from mechgrad.dynamics.kernels.laws import law_int
from mechgrad.kernels.elementary import magnitude
from mechgrad.kernels.jit import inlined, inner
from mechgrad.kernels.lanes import any_not_less, load, store
from mechgrad.model.mechanism import L_FIRST, L_KIND, L_ROWS, LAW_WIDTH, N_V
from mechgrad.model.primitives.rows import FIRST_GROUND

NOTHING = 1e-300  # sum of partials below which there are none


@inner
def law_acts(ints, y, y_g, y_gd, k, scalar):
    """Whether the forces of law k depend on anything in this state: contacts that are open do not."""
    most, total = ints[LAW_WIDTH], scalar * 0.0
    first, rows = law_int(ints, k, L_FIRST), law_int(ints, k, L_ROWS)
    if law_int(ints, k, L_KIND) >= FIRST_GROUND:  # without a force there is no partial either
        for i in range(first, first + rows):
            total = total + magnitude(load(y, i, scalar))
        return any_not_less(total, NOTHING)
    for i in range(first, first + rows):
        for j in range(i * most, i * most + rows):
            total = total + magnitude(load(y_g, j, scalar)) + magnitude(load(y_gd, j, scalar))
    return any_not_less(total, NOTHING)


@inner
def damped(ints, y_gd, first, last, scalar):
    """Whether the forces on the rows first .. last - 1 depend on rates."""
    total = scalar * 0.0
    for k in range(first * ints[LAW_WIDTH], last * ints[LAW_WIDTH]):
        total = total + magnitude(load(y_gd, k, scalar))
    return any_not_less(total, NOTHING)


@inner
def add_law_partials(ints, near_laws, J, J_rate, y, y_g, y_gd, K, C, scalar):
    """K += Gamma^T (F_g Gamma + F_g' Gamma_rate), C += Gamma^T F_g' Gamma over all laws that act, column by column of
    those that move their rows."""
    n_v, most = ints[N_V], ints[LAW_WIDTH]
    for near in range(near_laws[0]):
        k = near_laws[1 + near]
        if not law_acts(ints, y, y_g, y_gd, k, scalar):
            continue
        start, rows = law_int(ints, k, L_FIRST), law_int(ints, k, L_ROWS)
        with_rates = damped(ints, y_gd, start, start + rows, scalar)
        for c in range(n_v):
            if not _moves_rows(J, J_rate, start, rows, n_v, c, with_rates, scalar):
                continue
            for i in range(start, start + rows):
                by_q, by_v = scalar * 0.0, scalar * 0.0
                for j in range(rows):
                    g = load(J, (start + j) * n_v + c, scalar)
                    by_q = by_q + load(y_g, i * most + j, scalar) * g
                    if with_rates:
                        damping = load(y_gd, i * most + j, scalar)
                        by_q = by_q + damping * load(J_rate, (start + j) * n_v + c, scalar)
                        by_v = by_v + damping * g
                if not any_not_less(magnitude(by_q) + magnitude(by_v), NOTHING):
                    continue
                for row in range(n_v):
                    weight = load(J, i * n_v + row, scalar)
                    at = row * n_v + c
                    store(K, at, load(K, at, scalar) + weight * by_q)
                    store(C, at, load(C, at, scalar) + weight * by_v)


@inlined
def _moves_rows(J, J_rate, start, rows, n_v, c, with_rates, scalar):
    """Whether column c changes the rows start .. start + rows - 1, or their rates."""
    total = scalar * 0.0
    for k in range(start, start + rows):
        total = total + magnitude(load(J, k * n_v + c, scalar))
        if with_rates:
            total = total + magnitude(load(J_rate, k * n_v + c, scalar))
    return any_not_less(total, NOTHING)
