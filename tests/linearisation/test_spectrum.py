"""Eigenvalues, neutral states and derivatives of matrices alone; loci of matrices with known answers."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.linearisation.spectrum import clusters, eigenvalue_slopes, spectrum


def test_left_and_right_eigenvectors() -> None:
    A = np.random.default_rng(1).normal(size=(6, 6)) * np.outer(10.0 ** np.arange(-3, 3), 10.0 ** -np.arange(-3, 3))
    at = spectrum(A)
    np.testing.assert_allclose(np.sort_complex(at.eigenvalues), np.sort_complex(np.linalg.eigvals(A)), rtol=1e-9)
    np.testing.assert_allclose(at.left.conj().T @ at.right, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(A @ at.right, at.right * at.eigenvalues, atol=1e-9 * np.abs(A @ at.right).max())
    assert not at.neutral.any()
    assert (np.diff(at.eigenvalues.real) < 1e-9).all()  # the one that grows fastest first


def test_slopes_against_differences() -> None:
    rng = np.random.default_rng(2)
    A, dA = rng.normal(size=(2, 5, 5))
    at = spectrum(A)
    slopes = eigenvalue_slopes(at, dA[None], ["x"])[0]
    h = 1e-5
    for value, slope in zip(at.eigenvalues, slopes, strict=True):
        ends = [min(np.linalg.eigvals(A + s * h * dA), key=lambda x: abs(x - value)) for s in (1, -1)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-7)
    assert np.abs(slopes).max() > 0.1


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_chains_of_integrators_are_neutral(depth: int) -> None:
    """States that are only integrated, in coordinates and in combinations of them."""
    rng = np.random.default_rng(depth)
    inner = rng.normal(size=(3, 3))
    A = np.zeros((3 + depth, 3 + depth))
    A[depth:, depth:] = inner
    A[:depth, depth:] = rng.normal(size=(depth, 3))
    A[: depth - 1, 1:depth] = np.triu(rng.normal(size=(depth - 1, depth - 1)))
    at = spectrum(A)
    assert at.neutral.tolist() == [True] * depth + [False] * 3
    wanted = np.sort_complex(np.linalg.eigvals(inner))
    np.testing.assert_allclose(np.sort_complex(at.eigenvalues), wanted, atol=1e-12)
    np.testing.assert_allclose(A @ at.right, at.right * at.eigenvalues, atol=1e-11)
    # the same in other coordinates, where no column is zero
    T = np.linalg.qr(rng.normal(size=A.shape))[0]
    turned = spectrum(T @ A @ T.T)
    if depth > 1:
        np.testing.assert_allclose(np.sort_complex(turned.eigenvalues), wanted, atol=1e-9)
        assert turned.neutral.sum() == depth
        right = turned.right
        np.testing.assert_allclose(T @ A @ T.T @ right, right * turned.eigenvalues, atol=1e-8 * np.abs(right).max())
    else:
        # a single zero is an eigenvalue as any other
        assert np.abs(turned.eigenvalues).min() < 1e-12
        assert len(turned.eigenvalues) == 4


def test_equal_eigenvalues_split() -> None:
    T = np.random.default_rng(3).normal(size=(4, 4))
    A = T @ np.diag([-1.0, -1.0, 2.0, 3.0]) @ np.linalg.inv(T)
    inner = np.array([[0.3, 1.0], [0.5, -0.2]])
    dA = np.zeros((4, 4))
    dA[:2, :2], dA[2, 2] = inner, 7.0
    slopes = eigenvalue_slopes(spectrum(A), (T @ dA @ np.linalg.inv(T))[None], ["x"])[0]
    np.testing.assert_allclose(np.sort_complex(slopes[2:]), np.sort_complex(np.linalg.eigvals(inner)), atol=1e-8)
    np.testing.assert_allclose(slopes[:2], [0.0, 7.0], atol=1e-9)


def test_meeting_eigenvalues_have_none() -> None:
    A = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 2.0]])
    with pytest.raises(mg.InputError, match=r"eigenvalue -1 1/s is met by another one"):
        eigenvalue_slopes(spectrum(A), np.ones((1, 3, 3)), ["x"])


def test_clusters() -> None:
    groups = clusters(np.array([1.0, 2.0, 1.0 + 1e-9, 2.0 + 1j, 1.0 + 2e-9]))
    assert [g.tolist() for g in groups] == [[0, 2, 4], [1], [3]]


def oscillator(damping: float = 1.0) -> mg.results.Linearisation:
    spring = mg.forces.JointSpring("spring", "slide", stiffness=4.0, damping=damping)
    slide = mg.Prismatic("slide", "ground", "block", axis=(1, 0, 0))
    return mg.linearise(mg.Model("block", [mg.Body("block", 1.0)], [slide], gravity=(0, 0, 0), forces=[spring]))


def test_locus_through_a_branch() -> None:
    """x'' + c x' + 4 x: a pair until c = 4, two real ones beyond, whose product stays 4."""
    locus = oscillator().locus("spring.damping", np.linspace(0.5, 8.0, 16))
    c = locus.values
    np.testing.assert_allclose(locus.eigenvalues.sum(axis=1), -c, atol=1e-10)
    np.testing.assert_allclose(locus.eigenvalues.prod(axis=1), 4.0, atol=1e-7)
    assert np.abs(np.diff(locus.eigenvalues, axis=0)).max() < 2.5
    assert locus.crossings() == ()


def test_undamped_modes_do_not_cross() -> None:
    """Their real parts are rounding, of either sign."""
    locus = oscillator(0.0).locus("spring.stiffness", np.linspace(1.0, 9.0, 12))
    assert np.abs(locus.eigenvalues.real).max() < 1e-12
    assert locus.crossings() == ()


@pytest.mark.parametrize("values", [[-1.0, -0.3, 0.9], [-1.0, 0.0, 1.0]])
def test_crossing_is_exact(values: list[float]) -> None:
    locus = oscillator().locus("spring.damping", values)
    (crossing,) = locus.crossings()
    assert crossing.value == pytest.approx(0.0, abs=1e-14)
    assert crossing.eigenvalue == pytest.approx(2j)
    assert crossing.rate == pytest.approx(-0.5)


def test_eigenvalues_that_cross_stay_themselves() -> None:
    """Two oscillators apart: frequencies pass each other, and the columns know which is which."""
    bodies = [mg.Body(k, 1.0) for k in "ab"]
    joints = [mg.Prismatic(f"slide {k}", "ground", k, axis=(1, 0, 0)) for k in "ab"]
    springs = [mg.forces.JointSpring(f"spring {k}", f"slide {k}", stiffness=4.0) for k in "ab"]
    lin = mg.linearise(mg.Model("two", bodies, joints, gravity=(0, 0, 0), forces=springs))
    values = np.array([2.0, 3.1, 5.3, 7.0, 9.0])
    locus = lin.locus("spring a.stiffness", values)
    own = [column for column in locus.eigenvalues.T if np.ptp(column.imag) > 0.1]
    still = [column for column in locus.eigenvalues.T if np.ptp(column.imag) < 1e-9]
    assert len(own) == len(still) == 2
    for column in own:
        np.testing.assert_allclose(np.abs(column.imag), np.sqrt(values), atol=1e-10)


def test_locus_draws() -> None:
    figure = oscillator().locus("spring.damping", [0.5, 1.0, 2.0]).plot()
    plane, growth, frequency = figure.axes
    assert len(plane.lines) == 5  # two curves, two dots, an axis
    assert growth.get_xlabel() == frequency.get_xlabel() == "spring.damping [N s/m or N m s/rad]"


@pytest.mark.parametrize("values", [[1.0], [1.0, 1.0], [[1.0, 2.0]], [1.0, np.nan]])
def test_locus_wants_values(values: list[float]) -> None:
    with pytest.raises(mg.InputError, match=r"values of 'spring\.damping'"):
        oscillator().locus("spring.damping", values)
