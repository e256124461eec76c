"""Accelerations of a tree by recursive elimination, O(n): no mass matrix, one 6x6 inertia per body instead.

Seen from its parent, body i with everything beyond it and all joints there free needs the wrench J_i dA + P_i when
its parent changes its acceleration by dA. `free_motion` gives accelerations of velocity and weight alone, and with them
p_i, what each body needs before any a_j acts (loads subtracted). For column j with twist S (a ball's three
columns one after the other):

    inward      I^ = I_i + sum over children J_c        p^ = p_i + sum over children P_c
                U = I^ S    D = S . U    u = tau_j - S . p^
                J = I^ - U U^T / D                      P = p^ + U u / D
    outward     a_j = (u - U . dA_before) / D           dA = dA_before + S a_j           dA of the world = 0

Everything stands in world axes, for each atom about its own origin: pivots are differences, and about a distant point
a small body at the end of a long arm would lose its inertia among m d^2. Twists are (s, 0) of hinges and (0, s) of
slides there. I^ is a general symmetric matrix; with moment N and force F, angular and linear acceleration w and u, and
the mass moments of `wrenches` (there S is int x x^T dm):

    N = A w + B u          a single body:  A = tr(S) - S    B = [h x]    C = m
    F = B^T w + C u

On its way to an origin at -d from its own, N becomes N + d x F, u becomes u + w x d, hence

    B <- B + [d x] C       A <- A - B [d x] + [d x] B_new^T       C <- C

A pivot D is compared with what it is a difference of. For hinges that is tr(A) of this atom and, before elimination, of
the atoms it was handed by (through atoms without a body of all before); for slides the mass beyond. The terms with d
are no larger: with A = X^T X and C = Y^T Y what stands there is (X + Y [d x])^T (X + Y [d x]), so that Y [d x] is no
longer than both tr(A) together say. What is left below PIVOT_TOLERANCE of that has lost all its digits, and the mass
matrix is singular.

Featherstone, Rigid Body Dynamics Algorithms (2008), ch. 7, has the elimination in link axes.
"""

from __future__ import annotations

from mechgrad.inverse.kernels.free_motion import free_motion
from mechgrad.inverse.kernels.wrenches import (
    FORCE,
    LOAD,
    MOMENT,
    WRENCH,
    apply_loads,
    centre_of_mass,
    centroidal_moments,
    dyad_added,
    gather_loads,
)
from mechgrad.kernels.elementary import reciprocal
from mechgrad.kernels.jit import allocating, entry, inlined, inner, spliced
from mechgrad.kernels.lanes import any_not_less, extract, gather, lane_zero, load, scatter, store, where_less, width
from mechgrad.kernels.slots import slots
from mechgrad.kernels.small_dense import PIVOT_TOLERANCE
from mechgrad.kernels.vec3 import (
    add,
    clear,
    cross,
    dot,
    get3,
    get6,
    get9,
    mat_mul,
    mat_tmul,
    plus_cross,
    put3,
    scale,
    sub,
    sym_mul,
    zero3,
)
from mechgrad.kinematics.kernels.outward import AT, DV, DW, FRAME, TWIST, W, apart, columns_of_kind, place_world
from mechgrad.model.joints.base import PRISMATIC
from mechgrad.model.tree import BEYOND, HAS_MASS, KIND, LAST_CHILD, MASS, PARENT, V_AT

# slots of an atom's articulated inertia: A (xx xy xz yy yz zz), B row by row, C like A, the size of the terms that its
# A is a difference of, p^ (moment, force), and the step to its origin from that before
ANGULAR, COUPLING, LINEAR, SPREAD, NEED_W, NEED_V, STEP = 0, 6, 15, 21, 22, 25, 28
ARTICULATED = 31
# slots of an eliminated column: U / D (angular, linear) and D. An atom has three at most: they go where its A, B, C
# were, which nobody needs any more
GAIN_W, GAIN_V, PIVOT = 0, 3, 6
ELIMINATED = 7
# slots of the change dA of an atom's acceleration, kept where its p^ was
CHANGE_W, CHANGE_V = NEED_W, NEED_V


@inlined
def own_inertia(atoms_i, atoms_f, i, frames, moving, scalar):
    """A, B, C, moment and force of the body of atom i alone, about the atom's origin."""
    zero = scalar * 0.0
    force, moment, mass, S, h = zero3(scalar), zero3(scalar), zero, (zero, zero, zero, zero, zero, zero), zero3(scalar)
    if atoms_i[i, HAS_MASS]:
        S, com = centroidal_moments(atoms_f, i, frames, scalar), centre_of_mass(atoms_f, i, frames, scalar)
        mass, o = zero + atoms_f[i, MASS], i * FRAME
        if moving:
            w, dw, dv = get3(frames, o + W, scalar), get3(frames, o + DW, scalar), get3(frames, o + DV, scalar)
            force = scale(mass, plus_cross(plus_cross(dv, dw, com), w, cross(w, com)))
            # w x J w with J = tr(S) - S: the trace turns nothing
            turn = sub(scale(trace(S), dw), plus_cross(sym_mul(S, dw), w, sym_mul(S, w)))
            moment = plus_cross(turn, com, force)
        h = scale(mass, com)
        S = dyad_added(S, h, com)
    A = (S[3] + S[5], zero - S[1], zero - S[2], S[0] + S[5], zero - S[4], S[0] + S[3])
    B = (zero, zero - h[2], h[1], h[2], zero, zero - h[0], zero - h[1], h[0], zero)
    return A, B, (mass, zero, zero, mass, zero, mass), moment, force


@inlined
def and_beyond(inertias, k, A, B, C, moment, force, scalar):
    """These and what the atoms beyond have left in the slots from k on."""
    a, b, c = (
        get6(inertias, k + ANGULAR, scalar),
        get9(inertias, k + COUPLING, scalar),
        get6(inertias, k + LINEAR, scalar),
    )
    A = (A[0] + a[0], A[1] + a[1], A[2] + a[2], A[3] + a[3], A[4] + a[4], A[5] + a[5])
    B = (
        B[0] + b[0], B[1] + b[1], B[2] + b[2], B[3] + b[3], B[4] + b[4], B[5] + b[5], B[6] + b[6], B[7] + b[7],
        B[8] + b[8],
    )  # fmt: skip
    C = (C[0] + c[0], C[1] + c[1], C[2] + c[2], C[3] + c[3], C[4] + c[4], C[5] + c[5])
    moment, force = add(moment, get3(inertias, k + NEED_W, scalar)), add(force, get3(inertias, k + NEED_V, scalar))
    return A, B, C, moment, force


@inlined
def leave(inertias, k, A, B, C, spread, moment, force):
    """Put what an atom leaves for the one before it into its slots from k on."""
    put3(inertias, k + ANGULAR, (A[0], A[1], A[2]))
    put3(inertias, k + ANGULAR + 3, (A[3], A[4], A[5]))
    put3(inertias, k + COUPLING, (B[0], B[1], B[2]))
    put3(inertias, k + COUPLING + 3, (B[3], B[4], B[5]))
    put3(inertias, k + COUPLING + 6, (B[6], B[7], B[8]))
    put3(inertias, k + LINEAR, (C[0], C[1], C[2]))
    put3(inertias, k + LINEAR + 3, (C[3], C[4], C[5]))
    store(inertias, k + SPREAD, spread)
    put3(inertias, k + NEED_W, moment)
    put3(inertias, k + NEED_V, force)


@inlined
def dyad_taken(S, a, b):
    """Upper triangle of S - a b^T, where a b^T is symmetric."""
    return (
        S[0] - a[0] * b[0],
        S[1] - a[0] * b[1],
        S[2] - a[0] * b[2],
        S[3] - a[1] * b[1],
        S[4] - a[1] * b[2],
        S[5] - a[2] * b[2],
    )


@inlined
def rows_taken(B, a, b):
    """B - a b^T, row by row."""
    return (
        B[0] - a[0] * b[0],
        B[1] - a[0] * b[1],
        B[2] - a[0] * b[2],
        B[3] - a[1] * b[0],
        B[4] - a[1] * b[1],
        B[5] - a[1] * b[2],
        B[6] - a[2] * b[0],
        B[7] - a[2] * b[1],
        B[8] - a[2] * b[2],
    )


@inlined
def pivot_terms(kind, mass, spread):
    """Size of the terms whose difference the inertia along a column is."""
    return mass + 0.0 * spread if kind == PRISMATIC else spread


@inlined
def trace(S):
    """Of a symmetric matrix."""
    return S[0] + S[3] + S[5]


@inlined
def carried_inertia(A, B, C, d):
    """A and B about the origin at -d."""
    b0, b1, b2 = B[0:3], B[3:6], B[6:9]
    x = plus_cross((B[0], B[3], B[6]), d, (C[0], C[1], C[2]))  # columns of B_new
    y = plus_cross((B[1], B[4], B[7]), d, (C[1], C[3], C[4]))
    z = plus_cross((B[2], B[5], B[8]), d, (C[2], C[4], C[5]))
    A = (
        A[0] + d[1] * (b0[2] + z[0]) - d[2] * (b0[1] + y[0]),
        A[1] + d[2] * b0[0] - d[0] * b0[2] + d[1] * z[1] - d[2] * y[1],
        A[2] + d[0] * b0[1] - d[1] * b0[0] + d[1] * z[2] - d[2] * y[2],
        A[3] + d[2] * (b1[0] + x[1]) - d[0] * (b1[2] + z[1]),
        A[4] + d[0] * b1[1] - d[1] * b1[0] + d[2] * x[2] - d[0] * z[2],
        A[5] + d[0] * (b2[1] + y[2]) - d[1] * (b2[0] + x[2]),
    )
    return A, (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


@inlined
def step_from(frames, i, parent, scalar):
    """From the origin of the atom before to that of atom i."""
    return sub(get3(frames, i * FRAME + AT, scalar), get3(frames, parent * FRAME + AT, scalar))


@spliced
def _eliminate(atoms_i, atoms_f, frames, twists, loaded, moving, wrenches, tau, inertias, a, scalar):
    """Inward: U, D and u / D of every column, J and P of every atom into its parent's I^ and p^. Returns what
    `articulated_accelerations` does."""
    failed, one = 0.0 * scalar, 1.0 + 0.0 * scalar
    for i in range(atoms_i.shape[0] - 1, -1, -1):
        k, kind, handed = i * ARTICULATED, atoms_i[i, KIND], 0.0 * scalar
        A, B, C, moment, force = own_inertia(atoms_i, atoms_f, i, frames, moving, scalar)
        if loaded:
            push = get3(wrenches, i * WRENCH + FORCE, scalar)
            moment = add(moment, get3(wrenches, i * WRENCH + MOMENT, scalar))
            moment = sub(moment, cross(get3(frames, i * FRAME + AT, scalar), push))
            force = add(force, push)
        if atoms_i[i, LAST_CHILD] >= 0:
            A, B, C, moment, force = and_beyond(inertias, k, A, B, C, moment, force, scalar)
            handed = load(inertias, k + SPREAD, scalar)
        spread = trace(A)
        size = spread + handed
        first, parent = atoms_i[i, V_AT], atoms_i[i, PARENT]
        for j in range(first + columns_of_kind(kind) - 1, first - 1, -1):
            if kind == PRISMATIC:
                s = get3(twists, j * TWIST + 3, scalar)
                Uw, Uv = mat_mul(B, s), sym_mul(C, s)
                pivot, u = dot(s, Uv), load(tau, j, scalar) - dot(s, force)
            else:
                s = get3(twists, j * TWIST, scalar)
                Uw, Uv = sym_mul(A, s), mat_tmul(B, s)
                pivot, u = dot(s, Uw), load(tau, j, scalar) - dot(s, moment)
            least = PIVOT_TOLERANCE * pivot_terms(kind, atoms_f[i, BEYOND], size)
            failed = where_less(least, pivot, failed, one)
            inverse = reciprocal(pivot)
            gain_w, gain_v = scale(inverse, Uw), scale(inverse, Uv)
            e = k + (j - first) * ELIMINATED
            put3(inertias, e + GAIN_W, gain_w)
            put3(inertias, e + GAIN_V, gain_v)
            store(inertias, e + PIVOT, pivot)
            store(a, j, inverse * u)
            if j > first or parent >= 0:  # what would act on the world is not asked
                A, B, C = dyad_taken(A, Uw, gain_w), rows_taken(B, Uw, gain_v), dyad_taken(C, Uv, gain_v)
                moment, force = add(moment, scale(u, gain_w)), add(force, scale(u, gain_v))
        store(inertias, k + SPREAD, size)
        if parent >= 0:
            spread = 2.0 * (spread if atoms_i[i, HAS_MASS] else size)
            if apart(atoms_i, atoms_f, i):
                d = step_from(frames, i, parent, scalar)
                put3(inertias, k + STEP, d)
                A, B = carried_inertia(A, B, C, d)
                moment = plus_cross(moment, d, force)
            p = parent * ARTICULATED
            if atoms_i[parent, LAST_CHILD] != i:  # others were there before
                A, B, C, moment, force = and_beyond(inertias, p, A, B, C, moment, force, scalar)
                spread = spread + load(inertias, p + SPREAD, scalar)
            leave(inertias, p, A, B, C, spread, moment, force)
    return failed


@spliced
def _substitute(atoms_i, atoms_f, twists, inertias, a, scalar):
    """Outward: a_j = u / D - (U / D) . dA_before, and dA of every atom where its p^ was."""
    for i in range(atoms_i.shape[0]):
        k, parent, kind = i * ARTICULATED, atoms_i[i, PARENT], atoms_i[i, KIND]
        dw, dv = zero3(scalar), zero3(scalar)
        if parent >= 0:
            p = parent * ARTICULATED
            dw, dv = get3(inertias, p + CHANGE_W, scalar), get3(inertias, p + CHANGE_V, scalar)
            if apart(atoms_i, atoms_f, i):
                dv = plus_cross(dv, dw, get3(inertias, k + STEP, scalar))
        first = atoms_i[i, V_AT]
        for j in range(first, first + columns_of_kind(kind)):
            e = k + (j - first) * ELIMINATED
            gain_w, gain_v = get3(inertias, e + GAIN_W, scalar), get3(inertias, e + GAIN_V, scalar)
            a_j = load(a, j, scalar) - (dot(gain_w, dw) + dot(gain_v, dv))
            store(a, j, a_j)
            if kind == PRISMATIC:
                dv = add(dv, scale(a_j, get3(twists, j * TWIST + 3, scalar)))
            else:
                dw = add(dw, scale(a_j, get3(twists, j * TWIST, scalar)))
        put3(inertias, k + CHANGE_W, dw)
        put3(inertias, k + CHANGE_V, dv)


@inner
def articulated_accelerations(atoms_i, atoms_f, frames, twists, loaded, moving, wrenches, tau, inertias, a, scalar):
    """Accelerations `a` (n_v slots) of one state and generalized forces `tau`; `inertias`: ARTICULATED slots per atom.

    moving : whether bodies need what their motion needs: frames and twists are those of `free_motion`. Otherwise they
        may be those of `outward` (of twists the axes are read, of frames what places them), and a = M^-1 tau
    loaded : whether `wrenches` (WRENCH slots per atom) holds what bodies need beside, about the point from which
        positions count

    On return inertias[atom] holds its eliminated columns and the change of its spatial acceleration (CHANGE_W,
    CHANGE_V), about its origin.

    Returns 0, or 1 in samples where the pivot of a column vanishes (`first_failure` finds it).
    """
    failed = _eliminate(atoms_i, atoms_f, frames, twists, loaded, moving, wrenches, tau, inertias, a, scalar)
    _substitute(atoms_i, atoms_f, twists, inertias, a, scalar)
    return failed


@allocating
def recursive(atoms_i, atoms_f, q, v, tau, loads_i, loads_f, a, scalar):
    """Rows of q, v, tau to rows of a (nt, n_v).

    Returns (-1, 0, 0), or (row, 0, 0) for the first block with a bad number, or (row, 1 + j, pivot beside
    its terms) for the first sample with a column j whose pivot vanishes.
    """
    n_atoms, n_q, n_v = atoms_i.shape[0], q.shape[1], v.shape[1]
    n, n_loads = width(scalar), loads_i.shape[0]
    q_, v_ = slots(n_q, a, scalar), slots(n_v, a, scalar)
    tau_, a_ = slots(n_v, a, scalar), slots(n_v, a, scalar)
    frames, twists = slots((n_atoms + 1) * FRAME, a, scalar), slots(n_v * TWIST, a, scalar)
    wrenches, inertias = slots(n_atoms * WRENCH, a, scalar), slots(n_atoms * ARTICULATED, a, scalar)
    loads = slots(n_loads * LOAD, a, scalar)
    place_world(frames, n_atoms, atoms_f[n_atoms, 0], atoms_f[n_atoms, 1], atoms_f[n_atoms, 2], scalar)
    for row in range(0, q.shape[0], n):
        gather(q, row, q_, 0, scalar)
        gather(v, row, v_, 0, scalar)
        gather(tau, row, tau_, 0, scalar)
        check = free_motion(atoms_i, atoms_f, q_, v_, False, frames, twists, scalar)
        for j in range(n_v):
            t = load(tau_, j, scalar)
            check = check + (t - t)
        if n_loads:
            clear(wrenches, 0, n_atoms * WRENCH, scalar)
            gather_loads(loads_f, row, loads, scalar)
            apply_loads(loads_i, loads, frames, wrenches, scalar)
        failed = articulated_accelerations(
            atoms_i, atoms_f, frames, twists, n_loads > 0, True, wrenches, tau_, inertias, a_, scalar
        )
        if any_not_less(check, 1.0):
            return row, 0, 0.0
        if any_not_less(failed, 0.5):
            return first_failure(atoms_i, atoms_f, inertias, failed, row, scalar)
        scatter(a_, 0, a, row, scalar)
    return -1, 0, 0.0


@inner
def vanishing_column(atoms_i, atoms_f, inertias, lane, scalar):
    """The first column, from the tips inward, whose pivot vanishes in a sample, and this pivot beside its terms;
    (-1, 0) if none does."""
    for i in range(atoms_i.shape[0] - 1, -1, -1):
        first, kind, k = atoms_i[i, V_AT], atoms_i[i, KIND], i * ARTICULATED
        terms = pivot_terms(kind, atoms_f[i, BEYOND], load(inertias, k + SPREAD, scalar))
        size = extract(terms, lane).real
        for j in range(first + columns_of_kind(kind) - 1, first - 1, -1):
            pivot = extract(load(inertias, k + (j - first) * ELIMINATED + PIVOT, scalar), lane).real
            if not pivot > PIVOT_TOLERANCE * size:
                return j, pivot / size if size > 0.0 else 0.0
    return -1, 0.0


@inner
def first_failure(atoms_i, atoms_f, inertias, failed, row, scalar):
    """The first sample of a block that failed: its row, 1 + the column, and that column's pivot beside its terms."""
    for lane in range(width(scalar)):
        if extract(failed, lane).real > 0.5:
            column, share = vanishing_column(atoms_i, atoms_f, inertias, lane, scalar)
            return row + lane, 1 + column, share
    return row, 0, 0.0


@entry
def recursive_one(atoms_i, atoms_f, q, v, tau, loads_i, loads_f, a):
    """`recursive` sample by sample."""
    return recursive(atoms_i, atoms_f, q, v, tau, loads_i, loads_f, a, 0.0)


@entry
def recursive_lanes(atoms_i, atoms_f, q, v, tau, loads_i, loads_f, a):
    """`recursive` in SIMD lanes."""
    return recursive(atoms_i, atoms_f, q, v, tau, loads_i, loads_f, a, lane_zero())


@entry
def recursive_complex(atoms_i, atoms_f, q, v, tau, loads_i, loads_f, a):
    """`recursive` of complex numbers."""
    return recursive(atoms_i, atoms_f, q, v, tau, loads_i, loads_f, a, 0j)
