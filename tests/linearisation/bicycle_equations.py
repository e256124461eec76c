"""The canonical equations of the Whipple bicycle, from 25 numbers (Meijaard, Papadopoulos, Ruina and Schwab 2007,
appendix A): z down, x forward, lean to the right and steering to the right positive.

    M q'' + v C1 q' + (g K0 + v^2 K2) q = 0,        q = (lean, steering)
"""

from __future__ import annotations

from typing import Any

import numpy as np

BENCHMARK = {
    "w": 1.02, "c": 0.08, "tilt": np.pi / 10, "g": 9.81, "v": 5.0,
    "rR": 0.3, "mR": 2.0, "IRxx": 0.0603, "IRyy": 0.12,
    "xB": 0.3, "zB": -0.9, "mB": 85.0, "IBxx": 9.2, "IBzz": 2.8, "IBxz": 2.4,
    "xH": 0.9, "zH": -0.7, "mH": 4.0, "IHxx": 0.05892, "IHzz": 0.00708, "IHxz": -0.00756,
    "rF": 0.35, "mF": 3.0, "IFxx": 0.1405, "IFyy": 0.28,
}  # fmt: skip


def canonical(numbers: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """M, C1, K0, K2."""
    w, c, tilt = numbers["w"], numbers["c"], numbers["tilt"]
    rR, mR, xB, zB, mB = (numbers[k] for k in ("rR", "mR", "xB", "zB", "mB"))
    xH, zH, mH, rF, mF = (numbers[k] for k in ("xH", "zH", "mH", "rF", "mF"))
    IBxx, IBzz, IBxz, IHxx, IHzz, IHxz = (numbers[k] for k in ("IBxx", "IBzz", "IBxz", "IHxx", "IHzz", "IHxz"))
    IRxx, IFxx = numbers["IRxx"], numbers["IFxx"]
    cos, sin = np.cos(tilt), np.sin(tilt)
    # the whole bicycle about the rear contact
    mT = mR + mB + mH + mF
    xT = (xB * mB + xH * mH + w * mF) / mT
    zT = (-rR * mR + zB * mB + zH * mH - rF * mF) / mT
    ITxx = IRxx + IBxx + IHxx + IFxx + mR * rR**2 + mB * zB**2 + mH * zH**2 + mF * rF**2
    ITxz = IBxz + IHxz - mB * xB * zB - mH * xH * zH + mF * w * rF
    ITzz = IRxx + IBzz + IHzz + IFxx + mB * xB**2 + mH * xH**2 + mF * w**2
    # what is steered, about its centre of mass and along the steering axis
    mA = mH + mF
    xA, zA = (xH * mH + w * mF) / mA, (zH * mH - rF * mF) / mA
    IAxx = IHxx + IFxx + mH * (zH - zA) ** 2 + mF * (rF + zA) ** 2
    IAxz = IHxz - mH * (xH - xA) * (zH - zA) + mF * (w - xA) * (rF + zA)
    IAzz = IHzz + IFxx + mH * (xH - xA) ** 2 + mF * (w - xA) ** 2
    uA = (xA - w - c) * cos - zA * sin
    IAll = mA * uA**2 + IAxx * sin**2 + 2 * IAxz * sin * cos + IAzz * cos**2
    IAlx = -mA * uA * zA + IAxx * sin + IAxz * cos
    IAlz = mA * uA * xA + IAxz * sin + IAzz * cos
    mu = c / w * cos
    SR, SF = numbers["IRyy"] / rR, numbers["IFyy"] / rF
    ST, SA = SR + SF, mA * uA + mu * mT * xT
    M = np.array([[ITxx, IAlx + mu * ITxz], [IAlx + mu * ITxz, IAll + 2 * mu * IAlz + mu**2 * ITzz]])
    K0 = np.array([[mT * zT, -SA], [-SA, -SA * sin]])
    K2 = np.array([[0.0, (ST - mT * zT) / w * cos], [0.0, (SA + SF * sin) / w * cos]])
    C1 = np.array(
        [
            [0.0, mu * ST + SF * cos + ITxz / w * cos - mu * mT * zT],
            [-(mu * ST + SF * cos), IAlz / w * cos + mu * (SA + ITzz / w * cos)],
        ]
    )
    return M, C1, K0, K2


def system_matrix(numbers: dict[str, Any]) -> np.ndarray:
    """A of x' = A x, x = (lean, steering, their rates); complex numbers travel through."""
    M, C1, K0, K2 = canonical(numbers)
    stiffness = numbers["g"] * K0 + numbers["v"] ** 2 * K2
    below = -np.linalg.solve(M, np.hstack([stiffness, numbers["v"] * C1]))
    return np.vstack([np.hstack([np.zeros((2, 2)), np.eye(2)]), below])


def eigenvalues(numbers: dict[str, Any]) -> np.ndarray:
    """Sorted."""
    return np.sort_complex(np.linalg.eigvals(system_matrix(numbers)))


def eigenvalue_slope(numbers: dict[str, Any], name: str) -> np.ndarray:
    """d(eigenvalues)/d(number), sorted as the eigenvalues: A by a complex step, and left and right eigenvectors."""
    step = 1e-30
    dA = system_matrix({**numbers, name: numbers[name] + 1j * step}).imag / step
    values, V = np.linalg.eig(system_matrix(numbers))
    slopes = np.diag(np.linalg.solve(V, dA @ V))
    return np.asarray(slopes[np.lexsort((values.imag, values.real))])
