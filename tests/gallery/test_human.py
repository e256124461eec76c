"""The human: the published table, and the pose that the table has to give."""

from __future__ import annotations

import numpy as np
import pytest

from mechgrad.gallery import human, human_motion
from mechgrad.model import DenavitHartenberg, Model


def frames(model: Model) -> dict[str, np.ndarray]:
    """Pose of every body's frame at q = 0, from the rows alone: Rz(theta) Tz(d) Tx(a) Rx(alpha)."""
    poses = {"ground": np.eye(4)}
    for joint in model.joints:
        assert isinstance(joint, DenavitHartenberg)
        c, s = np.cos(joint.theta), np.sin(joint.theta)
        ca, sa = np.cos(joint.alpha), np.sin(joint.alpha)
        row = np.array(
            [
                [c, -s * ca, s * sa, joint.a * c],
                [s, c * ca, -c * sa, joint.a * s],
                [0.0, sa, ca, joint.d],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
        poses[joint.child] = poses[joint.parent] @ row
    return poses


def place(pose: np.ndarray, point: np.ndarray) -> np.ndarray:
    return pose[:3, 3] + pose[:3, :3] @ point


def test_size_and_mass() -> None:
    model = human()
    assert model.n_q == model.n_v == 43
    assert model.total_mass == pytest.approx(77.5, rel=1e-14)
    assert model.joint_names == tuple(f"dh.{i}" for i in range(1, 44))
    assert sum(body.mass > 0 for body in model.bodies) == 20


def test_legs_hang_on_the_pelvis_and_arms_on_the_torso() -> None:
    parents = [0, *range(1, 43)]
    parents[13] = parents[21] = 5
    parents[31] = parents[40] = 22
    child_of = {joint.child: number for number, joint in enumerate(human().joints, start=1)}
    assert [child_of.get(joint.parent, 0) for joint in human().joints] == parents


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("shank_right", (0.09, 0.0, -0.87)),
        ("shank_left", (-0.09, 0.0, -0.87)),
        ("toes_right", (0.09, 0.22, -0.87)),
        ("toes_left", (-0.09, 0.22, -0.87)),
        ("hand_right", (0.17, 0.0, -0.24)),
        ("hand_left", (-0.17, 0.0, -0.24)),
        ("torso", (0.0, 0.0, 0.49)),
        ("head", (0.0, 0.0, 0.84)),
    ],
)
def test_stands_upright_facing_y(body: str, expected: tuple[float, float, float]) -> None:
    np.testing.assert_allclose(frames(human())[body][:3, 3], expected, atol=1e-15)


def test_links_lie_between_parent_origin_and_own_origin() -> None:
    model = human()
    poses = frames(model)
    for joint in model.joints:
        body = model.body(joint.child)
        if body.mass:
            middle = (poses[joint.parent][:3, 3] + poses[joint.child][:3, 3]) / 2
            np.testing.assert_allclose(place(poses[joint.child], body.com), middle, atol=1e-15, err_msg=body.name)


def test_inertia_is_that_of_a_cylinder_along_the_link() -> None:
    """Closed form for the forearm, which lies along d: axial m r^2/2, transverse m (3 r^2 + L^2)/12."""
    body = human(radius=0.1).body("forearm_left")
    length, radius = 0.26, 0.026
    transverse = 1.3 * (3 * radius**2 + length**2) / 12
    # alpha = +90 degrees turns the joint axis into -y of the row's frame: the axis of the cylinder.
    np.testing.assert_allclose(body.inertia, np.diag([transverse, 1.3 * radius**2 / 2, transverse]), rtol=1e-14)


def test_slender_human_has_rods() -> None:
    for body in human(radius=0.0).bodies:
        if body.mass:
            length = 2 * np.sqrt(body.com @ body.com)
            eigenvalues = np.sort(np.linalg.eigvalsh(body.inertia))
            np.testing.assert_allclose(eigenvalues, np.array([0, 1, 1]) * body.mass * length**2 / 12, atol=1e-16)


def test_numbers_are_free_of_rounding_dust() -> None:
    """Quarter turns have exact sines; a com of 1e-17 would show in files and blur the pattern of zeros."""
    for body in human().bodies:
        for number in (*body.com, *body.inertia.ravel()):
            assert number == 0.0 or abs(number) > 1e-8


def test_motion() -> None:
    t, q, v, a = human_motion()
    assert q.shape == v.shape == a.shape == (301, 43)
    assert t[10] == pytest.approx(0.1)
    assert q[10, 7] == pytest.approx(np.sin(0.2 * np.pi))
    # v and a are derivatives of q: complex step of the formula at an irregular time.
    assert v[10, 7] == pytest.approx(np.sin(2 * np.pi * (0.1 + 1e-30j)).imag / 1e-30)
    np.testing.assert_allclose(np.gradient(v[:, 0], t, edge_order=2)[5:-5], a[5:-5, 0], atol=0.03 * np.abs(a).max())
    assert human_motion(samples=11, duration=2.0, frequency=0.5)[0][-1] == 2.0
