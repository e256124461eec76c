"""A kind of step from outside of the package: symplectic Euler of open trees, in one folder.

    v1 = v0 + h a(q0, v0, t0),        q1 = q0 + h v1

What it takes to add one: `step` (a march), `record` (its steps, linearised), `tangent`, `adjoint`, and `methods`, which
says what it serves.
"""
