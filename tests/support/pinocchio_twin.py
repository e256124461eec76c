"""The same mechanism in Pinocchio, built from the joints' documented transforms, not from our compiled tree."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

import mechgrad as mg


def se3(R: np.ndarray | None = None, p: np.ndarray | tuple = (0.0, 0.0, 0.0)) -> pin.SE3:
    """A pose."""
    return pin.SE3(np.eye(3) if R is None else np.asarray(R), np.asarray(p, float))


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    return Rotation.from_quat(quaternion, scalar_first=True).as_matrix()


def _rz(t: float) -> np.ndarray:
    return Rotation.from_euler("z", t).as_matrix()


def _rx(t: float) -> np.ndarray:
    return Rotation.from_euler("x", t).as_matrix()


def _pieces(joint: mg.results.Joint) -> tuple[pin.SE3, list[pin.JointModel], pin.SE3]:
    """Placement before the motion, one-degree-of-freedom motions one after the other, placement behind it."""
    unit = lambda w: np.asarray(w) / np.linalg.norm(w)  # noqa: E731
    if isinstance(joint, mg.drawing.DenavitHartenberg):
        axis = joint.sign * np.array([0.0, 0.0, 1.0])
        motion = (
            pin.JointModelRevoluteUnaligned(axis)
            if joint.kind == "revolute"
            else pin.JointModelPrismaticUnaligned(axis)
        )
        screw_z = se3(_rz(joint.theta), (0, 0, joint.d))
        screw_x = se3(None, (joint.a, 0, 0)) * se3(_rx(joint.alpha))
        if joint.convention == "standard":
            return screw_z, [motion], screw_x
        return screw_x * screw_z, [motion], se3()
    before, behind = se3(None, joint.origin), se3(_rotation(joint.orientation)) * se3(None, -joint.child_origin)
    if isinstance(joint, mg.Fixed):
        return before, [], behind
    if isinstance(joint, mg.Revolute):
        return before, [pin.JointModelRevoluteUnaligned(unit(joint.axis))], behind
    if isinstance(joint, mg.Prismatic):
        return before, [pin.JointModelPrismaticUnaligned(unit(joint.axis))], behind
    if isinstance(joint, mg.Cylindrical):
        w = unit(joint.axis)
        return before, [pin.JointModelPrismaticUnaligned(w), pin.JointModelRevoluteUnaligned(w)], behind
    if isinstance(joint, mg.Cardan):
        motions = [pin.JointModelRevoluteUnaligned(unit(w)) for w in (joint.axis1, joint.axis2)]
        return before, motions, behind
    if isinstance(joint, mg.Planar):
        n = unit(joint.normal)
        u = unit(joint.direction - (joint.direction @ n) * n)
        slides = [pin.JointModelPrismaticUnaligned(w) for w in (u, np.cross(n, u))]
        return before, [*slides, pin.JointModelRevoluteUnaligned(n)], behind
    raise AssertionError(type(joint))


class Twin:
    """Pinocchio model of a tree of joints that are chains of revolute and prismatic motions.

    Pinocchio's derivatives need depth-first numbering; `order[k]` is its index of our column k.
    """

    def __init__(self, model: mg.Model) -> None:
        self.model = pin.Model()
        self.model.gravity.linear = np.asarray(model.gravity)
        self.frames: dict[str, tuple[int, pin.SE3]] = {"ground": (0, se3())}
        self.order = np.zeros(model.n_v, int)
        self._add_children(model, "ground")
        self.data = self.model.createData()
        assert self.model.nv == model.n_v

    def _add_children(self, model: mg.Model, parent: str) -> None:
        for joint in model.joints:
            if joint.parent != parent:
                continue
            index, place = self.frames[parent]
            before, motions, behind = _pieces(joint)
            place = place * before
            for k, motion in enumerate(motions):
                index = self.model.addJoint(index, motion, place, f"{joint.name}/{k}")
                self.order[model.v_slice(joint.name).start + k] = self.model.nv - 1
                place = se3()
            place = place * behind
            body = model.body(joint.child)
            self.frames[body.name] = (index, place)
            if index:
                self.model.appendBodyToJoint(index, pin.Inertia(body.mass, body.com, body.inertia), place)
            self._add_children(model, body.name)

    def theirs(self, *vectors: np.ndarray) -> list[np.ndarray]:
        """Our vectors in Pinocchio's order."""
        new = [np.empty_like(x) for x in vectors]
        for x, y in zip(vectors, new, strict=True):
            y[self.order] = x
        return new

    def external(self, loads: list[mg.Load], q: np.ndarray) -> list[pin.Force]:
        """Loads of one state as wrenches on the joints, in joint frames."""
        pin.forwardKinematics(self.model, self.data, *self.theirs(q))
        total = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for load in loads:
            index, place = self.frames[load.body]
            pose = self.data.oMi[index] * place
            R = pose.rotation if load.axes == "body" else np.eye(3)
            force, couple = R @ np.asarray(load.force), R @ np.asarray(load.torque)
            x = pose.act(np.asarray(load.point, float))
            wrench = pin.Force(force, couple + np.cross(x, force))
            total[index] = total[index] + self.data.oMi[index].actInv(wrench)
        return total

    def torques(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, loads: list[mg.Load] | None = None) -> np.ndarray:
        """Inverse dynamics of one state."""
        state = self.theirs(q, v, a)
        external = [self.external(loads, q)] if loads else []
        return pin.rnea(self.model, self.data, *state, *external)[self.order]

    def derivatives(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """tau_q, tau_v, M of one state, without loads."""
        pin.computeRNEADerivatives(self.model, self.data, *self.theirs(q, v, a))
        return self.ours(self.data.dtau_dq), self.ours(self.data.dtau_dv), self.ours(self.data.M, symmetric=True)

    def ours(self, matrix: np.ndarray, symmetric: bool = False) -> np.ndarray:
        """A matrix of theirs in our order; of symmetric ones they fill the upper half."""
        if symmetric:
            matrix = np.triu(matrix) + np.triu(matrix, 1).T
        return matrix[np.ix_(self.order, self.order)]
