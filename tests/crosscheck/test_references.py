"""The references for closed mechanisms: converged numbers, conservation, and Exudyn against the equations by hand."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.special import ellipj
from support import chain_reference, five_bar_reference, slider_crank_reference
from support.five_bar_reference import DATA, energy
from support.slider_crank_reference import BENCHMARK, SPRING_ISOTROPIC, SPRING_SLENDER, SliderCrank

# Digits of independent solutions: six Cartesian coordinates with multipliers (five-bar), automatic differentiation
# through an eighth-order Runge-Kutta method (slider-crank); both converged to what is printed.
FIVE_BAR_PSI = {
    5.0: (0.7268774613, 7.3422877928, 304.9206932062),
    50.0: (6.8874789857, 74.3197468882, 2926.1638327794),
}
FIVE_BAR_POINT_2 = np.array(  # t, x, y, x', y'
    [
        [0.5, 0.6091674683, -2.4766229292, 0.5715890549, 0.5396080543],
        [1.0, 0.8137976095, -2.1055353699, 0.0834777760, -1.2298580779],
        [1.5, 0.6360322718, -2.3418590550, -0.5742441735, 1.5408930988],
        [2.0, 0.4043186469, -2.2414529696, -0.2526861757, -1.5467998595],
        [3.0, 0.9118281499, -2.4203092144, -0.1568841362, -0.8464096612],
        [4.0, 0.3047827485, -2.3852470598, 0.5060625974, 0.2205133799],
        [5.0, 0.8840316817, -2.3037834442, -0.9123569162, 1.1299525548],
    ]
)
FIVE_BAR_GRADIENT = np.array(  # rows psi, columns of FIVE_BAR_CHANGES
    [
        [-4.2288108552, 3.2116041030, 0.3186566756, 0.4423506782, 3.3598099204],
        [-15.4520690697, 50.3087848515, 0.9701235491, 0.7456023208, -27.3592399516],
        [221.6400682322, 2436.6073476213, -32.4975227111, -85.6567185120, -2546.5902028567],
    ]
)
SLIDER_CRANK_BENCHMARK = np.array(  # t, x of C, angle, speed
    [
        [0.5, 0.184952630, 5.583762553, 14.408160810],
        [1.0, 0.211721661, 10.913590730, 10.427593000],
        [2.0, 0.289085197, 21.072744523, 22.584240028],
        [3.0, 0.228484814, 32.008327756, 5.916170358],
        [4.0, 0.188230476, 43.601753907, 9.539454749],
        [5.0, 0.240719574, 54.333332168, 11.494996265],
    ]
)
SLIDER_CRANK_CASES = {  # psi, angle and speed at the end, gradients by slider mass, stiffness, damping, natural length
    "isotropic": (
        SPRING_ISOTROPIC,
        (0.0160906271, 0.3517151950, 46.4164006694),
        (10.7278003425, 3.4839299464),
        [
            [0.0008909336, 0.0000673875, 0.0015204470, -0.0126200469],
            [-0.0175638783, -0.0011746980, -0.1837473255, 0.3734461314],
            [-7.5656706916, -0.6070742390, -32.2225287411, 139.3511337710],
        ],
    ),
    "slender": (
        SPRING_SLENDER,
        (0.0139756304, 0.3610640753, 69.2081996318),
        (10.3276553626, -5.5809412166),
        [
            [0.0010046554, 0.0000392503, -0.0002995364, -0.0057746697],
            [-0.0196892174, -0.0013501110, -0.2458105653, 0.4615394752],
            [-4.4356437082, -1.0224074961, -47.7508616638, 224.0478828816],
        ],
    ),
}

FIVE_BAR_CHANGES: tuple[Callable[[float], Any], ...] = (
    lambda h: replace(DATA, natural_length=(DATA.natural_length[0] + h, DATA.natural_length[1])),
    lambda h: replace(DATA, natural_length=(DATA.natural_length[0], DATA.natural_length[1] + h)),
    lambda h: replace(DATA, a1=replace(DATA.a1, mass=DATA.a1.mass + h)),
    lambda h: replace(DATA, a1=replace(DATA.a1, com=DATA.a1.com + h)),
    lambda h: replace(DATA, a1=replace(DATA.a1, length=DATA.a1.length + h)),
)


def fourth_order(function: Callable[[float], np.ndarray], h: float) -> np.ndarray:
    """Central difference of fourth order."""
    return (8 * (function(h) - function(-h)) - (function(2 * h) - function(-2 * h))) / (12 * h)


# -------------------------------------------------------------------------------------------------- five-bar
@pytest.mark.parametrize("duration", FIVE_BAR_PSI)
def test_five_bar_objectives(duration):
    found = five_bar_reference.solve(duration)
    assert np.allclose(found.psi[-1], FIVE_BAR_PSI[duration], rtol=1e-9, atol=0)


def test_five_bar_trajectory():
    t, *wanted = FIVE_BAR_POINT_2.T
    found = five_bar_reference.solve(samples=t)
    assert np.max(np.abs(np.column_stack([found.position, found.velocity]) - np.transpose(wanted))) < 1e-9


def test_five_bar_starts_with_the_acceleration_of_the_symmetric_linkage():
    found = five_bar_reference.solve(0.1, samples=np.array([0.0]))
    assert np.allclose(found.acceleration, [[0, -12.6853448]], atol=5e-8)
    assert np.allclose(found.position, [five_bar_reference.START_OF_POINT_2])


def test_five_bar_acceleration_is_the_derivative_of_velocity():
    """Sixth-order central differences at 1 ms: what remains is rounding over the step."""
    h, weights = 1e-3, np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
    found = five_bar_reference.solve(2.0, samples=1.3 + h * np.arange(-3, 4))
    assert np.max(np.abs(weights @ found.velocity / h - found.acceleration[3])) < 1e-7
    assert np.max(np.abs(weights @ found.position / h - found.velocity[3])) < 1e-8


def test_five_bar_keeps_its_energy():
    found = five_bar_reference.solve(samples=np.linspace(0, 5, 21))
    total = np.array([energy(DATA, *state) for state in found.state])
    kinetic = total - np.array([energy(DATA, *state[:2], 0, 0) for state in found.state])
    assert total[0] == pytest.approx(-53.955, abs=1e-12)
    assert np.max(kinetic) > 2
    assert np.max(np.abs(total - total[0])) < 1e-8


def test_five_bar_gradient():
    """Steps of 2e-4: the truncation h^4 and the integrator's 1e-12 / h both stay below 1e-8."""
    for column, change in enumerate(FIVE_BAR_CHANGES):
        found = fourth_order(lambda h, change=change: five_bar_reference.solve(data=change(h)).psi[-1], 2e-4)
        assert np.allclose(found, FIVE_BAR_GRADIENT[:, column], rtol=1e-8, atol=0), column


# ----------------------------------------------------------------------------------------------- slider-crank
def test_slider_crank_benchmark():
    t, *wanted = SLIDER_CRANK_BENCHMARK.T
    found = slider_crank_reference.solve(samples=t)
    got = np.column_stack([found.position - BENCHMARK.offset, found.angle, found.speed])
    assert np.max(np.abs(got - np.transpose(wanted))) < 1e-8


@pytest.mark.parametrize("case", SLIDER_CRANK_CASES)
def test_slider_crank_with_spring(case):
    data, psi, end, gradient = SLIDER_CRANK_CASES[case]
    found = slider_crank_reference.solve(data)
    assert np.allclose(found.psi[-1], psi, rtol=1e-8, atol=0)
    assert np.allclose([found.angle[-1], found.speed[-1]], end, rtol=0, atol=1e-8)
    changes: tuple[Callable[[float], SliderCrank], ...] = (
        lambda h: replace(data, masses=(*data.masses[:2], data.masses[2] + h)),
        lambda h: replace(data, stiffness=data.stiffness + h),
        lambda h: replace(data, damping=data.damping + h),
        lambda h: replace(data, natural_length=data.natural_length + h / 10),
    )
    for column, change in enumerate(changes):
        got = fourth_order(lambda h, change=change: slider_crank_reference.solve(change(h)).psi[-1], 1e-3)
        wanted = np.array(gradient)[:, column] / (10 if column == 3 else 1)
        assert np.allclose(got, wanted, rtol=1e-6, atol=1e-10), (column, got, wanted)


def test_slider_crank_rates_are_derivatives():
    h, weights = 1e-3, np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
    found = slider_crank_reference.solve(SPRING_SLENDER, 1.0, samples=0.4 + h * np.arange(-3, 4))
    assert abs(weights @ found.position / h - found.velocity[3]) < 1e-9
    assert abs(weights @ found.velocity / h - found.acceleration[3]) < 1e-7
    assert abs(found.acceleration[3]) > 0.1


# ---------------------------------------------------------------------------------------------------- exudyn
@pytest.fixture(scope="module")
def exudyn() -> ModuleType:
    if importlib.util.find_spec("exudyn") is None:
        pytest.skip("needs Exudyn: pip install exudyn")
    return importlib.import_module("support.exudyn_twins")


def errors(run: Any, reference: Any) -> np.ndarray:
    """Largest differences of position, velocity and acceleration, in the axes that the reference has."""
    found = []
    for name in ("position", "velocity", "acceleration"):
        wanted = getattr(reference, name).reshape(len(run.t), -1)
        found.append(np.max(np.abs(getattr(run, name)[:, : wanted.shape[1]] - wanted)))
    return np.array(found)


def test_exudyn_five_bar_converges_to_the_reference(exudyn):
    """Second order: half the step, a quarter of the error, 3e-6 m at 0.5 ms."""
    found = []
    for step in (1e-3, 5e-4):
        run = exudyn.five_bar(step, 2.0, records=20)
        found.append(errors(run, five_bar_reference.solve(2.0, samples=run.t)))
    assert np.all(found[1] < (5e-6, 4e-5, 3e-4))
    assert np.allclose(found[0] / found[1], 4, atol=0.4)


@pytest.mark.parametrize(
    "data", [BENCHMARK, SPRING_ISOTROPIC, SPRING_SLENDER], ids=["benchmark", "isotropic", "slender"]
)
def test_exudyn_slider_crank_converges_to_the_reference(exudyn, data):
    found = []
    for step in (1e-3, 5e-4):
        run = exudyn.slider_crank(step, 1.0, records=20, data=data)
        found.append(errors(run, slider_crank_reference.solve(data, 1.0, samples=run.t)))
    assert np.all(found[1] < (6e-6, 6e-5, 1.5e-3))
    assert np.allclose(found[0] / found[1], 4, atol=0.4)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_chains_of_exudyn_and_pinocchio_move_alike(exudyn, n):
    """The same scheme on both trees agrees to rounding; rigid bodies with constraints to the error of the trapezoid."""
    _, way = chain_reference.solve(n, 1e-3, 0.3)
    tree = exudyn.chain_tree(n, 1e-3, 0.3, records=6, solver=exudyn.Solver("rk4"))
    rigid = [exudyn.chain(n, step, 0.3, records=6) for step in (1e-3, 5e-4)]
    assert np.max(np.abs(way - way[0])) > 0.01
    assert np.max(np.abs(tree.position - way[::50])) < 1e-12
    first, second = (np.max(np.abs(run.position - way[::50])) for run in rigid)
    assert second < 1e-5
    assert first / second == pytest.approx(4, abs=0.4)


def test_single_link_swings_as_a_pendulum():
    """sin(q / 2) = k cd(w t, k^2) with k = sin(q0 / 2): the exact motion from rest."""
    data = chain_reference.chain_data(1)
    q, way = chain_reference.solve(1, 1e-3, 0.2)
    arm, k = data["length"] / 2, np.sin(data["angles"][0] / 2)
    w = np.sqrt(data["mass"] * 9.81 * arm / (data["inertia"][0] + data["mass"] * arm**2))
    _, cn, dn, _ = ellipj(0.2 * w, k**2)
    assert q[0] == pytest.approx(2 * np.arcsin(k * cn / dn), abs=1e-10)
    assert way[-1] == pytest.approx([0, 0.2 * np.sin(q[0]), -0.2 * np.cos(q[0])])


def test_chain_data_are_plain_and_complete():
    data = chain_reference.chain_data(5)
    assert data["axes"] == ["x", "y", "x", "y", "x"]
    assert data["angles"] == pytest.approx(0.1 * np.sin(np.arange(1, 6)))
    assert data["inertia"] == pytest.approx((0.04 / 12 + 1e-4, 0.04 / 12 + 1e-4, 1e-4))
    assert not any(dataclasses.is_dataclass(x) or isinstance(x, np.ndarray) for x in data.values())
