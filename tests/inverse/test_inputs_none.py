"""What is left out where it is needed, and results as arrays of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.gallery import double_pendulum

MODEL = double_pendulum()


@pytest.mark.parametrize(
    "call",
    [
        lambda: mg.inverse_dynamics(MODEL, None),
        lambda: mg.inverse_dynamics_derivatives(MODEL, None),
        lambda: mg.forward_dynamics(MODEL, None, [0.0, 1.0]),
        lambda: mg.mass_matrix(MODEL, None),
        lambda: mg.kinematics.body_motion(MODEL, None),
        lambda: mg.kinematics.marker_motion(MODEL, [f"{MODEL.bodies[0].name}.com"], None),
        lambda: mg.joint_reactions(MODEL, None),
    ],
)
def test_coordinates_are_needed(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(mg.InputError, match=r"q is None.*\(2,\) or \(nt, 2\).*model\.neutral\(\)"):
        call()


@pytest.mark.parametrize("q", [[0.3, -0.5], [[0.3, -0.5], [0.7, 0.1], [0.0, 1.0]]])
def test_packed_matrices_are_arrays(q) -> None:  # type: ignore[no-untyped-def]
    M = mg.mass_matrix(MODEL, q)
    assert np.abs(M.dense()).min() > 0.01
    np.testing.assert_array_equal(np.asarray(M), M.dense())
    np.testing.assert_array_equal(np.array(M, dtype=complex), M.dense().astype(complex))
    np.testing.assert_array_equal(np.linalg.inv(M), np.linalg.inv(M.dense()))
    with pytest.raises(ValueError, match="copy=False"):
        np.array(M, copy=False)


@pytest.mark.parametrize("samples", [0, 1, -3, 2.5, 3.0, "3", True, np.nan])
@pytest.mark.parametrize("options", [{}, {"step": 0.01}, {"scheme": "trapezoidal"}, {"scheme": "hht", "step": 0.01}])
def test_numbers_of_samples(options, samples) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(mg.InputError, match=r"samples is .*whole number, at least 2, both ends"):
        mg.simulate(MODEL, [0.1, 0.2], duration=0.1, samples=samples, **options)


def test_numbers_of_samples_of_numpy() -> None:
    assert len(mg.simulate(MODEL, [0.1, 0.2], duration=0.1, samples=np.int64(3)).t) == 3
    with pytest.raises(mg.InputError, match=r"samples is 1\.5"):
        mg.certify_model(MODEL, samples=1.5)  # type: ignore[arg-type]
