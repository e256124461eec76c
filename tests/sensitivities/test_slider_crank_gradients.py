"""Gradients of the spatial slider-crank with a spring, against converged values, both readings of its inertia."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.gallery import slider_crank

WRT = ["slider.mass", "S1.stiffness", "S1.damping", "S1.free_length"]
# automatic differentiation through a solution of order eight: all digits converged
CONVERGED = {
    4e-3: np.array([
        [0.0008909336, 0.0000673875, 0.0015204470, -0.0126200469],
        [-0.0175638783, -0.0011746980, -0.1837473255, 0.3734461314],
        [-7.5656706916, -0.6070742390, -32.2225287411, 139.3511337710],
    ]),
    4e-4: np.array([
        [0.0010046554, 0.0000392503, -0.0002995364, -0.0057746697],
        [-0.0196892174, -0.0013501110, -0.2458105653, 0.4615394752],
        [-4.4356437082, -1.0224074961, -47.7508616638, 224.0478828816],
    ]),
}  # fmt: skip
VALUES = {
    4e-3: np.array([0.0160906271, 0.3517151950, 46.4164006694]),
    4e-4: np.array([0.0139756304, 0.3610640753, 69.2081996318]),
}


def goals():
    home = np.array([0.25, 0.0, 0.0])
    return [
        mg.Integral(lambda x: ((x - home) ** 2).sum(-1), mg.measures.PointPosition("D")),
        mg.Integral(lambda x: (x**2).sum(-1), mg.measures.PointVelocity("D")),
        mg.Integral(lambda x: (x**2).sum(-1), mg.measures.PointAcceleration("D")),
    ]


def motion(inertia, step, **options):
    model = slider_crank(axial_inertia=inertia, spring=True)
    start = mg.assemble(model, {"crank axis": 0.0}, {"crank axis": 6.0})
    return mg.simulate(model, start, duration=5.0, step=step, **options)


@pytest.mark.parametrize("inertia", CONVERGED)
def test_converged_digits(inertia):
    """RK4 of index-1: six digits and more."""
    found = motion(inertia, 5e-4, formulation=mg.formulations.Index1(), scheme="rk4")
    for method in ("direct", "adjoint"):
        g = mg.gradient(found, goals(), WRT, method=method)
        np.testing.assert_allclose(g.array, CONVERGED[inertia], rtol=1e-6)
        np.testing.assert_allclose(g.values, VALUES[inertia], rtol=1e-7)


@pytest.mark.parametrize(
    "formulation",
    [mg.formulations.ALI3P(), mg.formulations.Index1(), mg.formulations.Penalty(), mg.formulations.MatrixR()],
    ids=str,
)
@pytest.mark.parametrize("reference", ["origin", "com"])
def test_every_formulation(formulation, reference):
    """The isotropic rod at 1 ms: the trapezoidal rule leaves 1e-4 on the independent angle, 5e-3 on all coordinates."""
    exact = 3e-4 if isinstance(formulation, mg.formulations.MatrixR) else 6e-3
    found = motion(4e-3, 1e-3, formulation=formulation, scheme="trapezoidal", reference=reference)
    direct, adjoint = (mg.gradient(found, goals(), WRT, method=method) for method in ("direct", "adjoint"))
    np.testing.assert_allclose(direct.array, CONVERGED[4e-3], rtol=exact)
    np.testing.assert_allclose(adjoint.array, direct.array, rtol=1e-7)
