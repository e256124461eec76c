"""Poses and motion of whole bodies, over batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from mechgrad.errors import unknown_name
from mechgrad.kinematics.batch import Batch
from mechgrad.kinematics.kernels.marker_motions import MOTION, POINT, SPIN, VECTOR
from mechgrad.kinematics.marker_motions import MOTIONS, marker_derivatives
from mechgrad.typing import Array, ArrayLike

if TYPE_CHECKING:
    from mechgrad.model.model import Model

_PARTS = 5  # origin, three axes, spin


@final
@dataclass(frozen=True, eq=False)
class BodyMotion:
    """Pose and motion of every body, world axes; the leading nt is absent for a single state.

    Attributes
    ----------
    names : the bodies, in the order of `model.bodies`
    R : (nt, bodies, 3, 3)
        R_WB, columns are the body's axes.
    p : (nt, bodies, 3)
        Origin of the body's frame [m].
    v, a : (nt, bodies, 3)
        Velocity and acceleration of that origin [m/s, m/s^2].
    w, dw : (nt, bodies, 3)
        Angular velocity and acceleration [rad/s, rad/s^2].
    """

    names: tuple[str, ...]
    R: Array
    p: Array
    v: Array
    a: Array
    w: Array
    dw: Array

    def of(self, body: str) -> BodyMotion:
        """The same for one body, without the body axis."""
        if body not in self.names:
            raise unknown_name("body", body, self.names)
        k = self.names.index(body)
        return BodyMotion(
            (body,), self.R[..., k, :, :], *(x[..., k, :] for x in (self.p, self.v, self.a, self.w, self.dw))
        )


def body_motion(model: Model, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None) -> BodyMotion:
    """Pose, velocity and acceleration of every body. q: (n_q,) or (nt, n_q); v, a are zeros if left out.

    >>> body_motion(double_pendulum(), [0.0, 0.0]).of("lower").p
    array([ 0.,  0., -1.])
    """
    batch = Batch(model, (("q", q, model.n_q), ("v", v, model.n_v), ("a", a, model.n_v)))
    tree = batch.tree
    rows, local = [], []
    for body in model.bodies:
        axes, origin = tree.body_tail[body.name]
        atom = tree.body_atom[body.name]
        rows += [(atom, POINT), *[(atom, VECTOR)] * 3, (atom, SPIN)]
        local += [origin, *axes.T, np.zeros(3)]
    indices = np.array(rows, np.int64).reshape(-1, 2)
    numbers: Array = np.array(local, batch.dtype).reshape(-1, 3)
    for array in (indices, numbers):
        array.setflags(write=False)
    out = batch.empty(len(rows) * MOTION)
    kernel, atoms_f = batch.pick(MOTIONS), batch.atoms_f

    def call(part: slice) -> int:
        return kernel(tree.atoms_i, atoms_f, *batch.rows(part), indices, numbers, out[part])  # type: ignore[no-any-return]

    batch.sweep(call)
    x = out.reshape(batch.nt, len(model.bodies), _PARTS, 3, 3)
    x = x[0] if batch.single else x
    R = np.ascontiguousarray(np.swapaxes(x[..., 1:4, 0, :], -1, -2))
    origin, spin = x[..., 0, :, :], x[..., 4, :, :]
    return BodyMotion(
        model.body_names, R, origin[..., 0, :], origin[..., 1, :], origin[..., 2, :], spin[..., 1, :], spin[..., 2, :]
    )


def body_jacobian(model: Model, body: str, q: ArrayLike) -> Array:
    """Jacobian of a body's motion, angular part first: (w, v_origin) = J v. Shape (6, n_v) or (nt, 6, n_v), world
    axes."""
    J = marker_derivatives(model, [f"{body}.spin", f"{body}.origin"], q).x_q
    return J.reshape(*J.shape[:-3], 6, J.shape[-1])
