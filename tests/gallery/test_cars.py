"""Cars of the gallery swing as their characteristic polynomials say."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery


def by_size(roots: np.ndarray) -> np.ndarray:
    return np.array(sorted(roots, key=lambda s: (round(abs(s), 6), s.imag)))


def test_the_quarter_car_has_the_published_ratios_and_stands_still() -> None:
    model = gallery.quarter_car()
    body = model.value("body.mass")
    paths = ("tyre.stiffness", "strut.stiffness", "strut.damping", "wheel.mass")
    assert [model.value(path) / body for path in paths] == pytest.approx([653.0, 63.3, 6.0, 0.15], rel=1e-15)
    assert np.abs(mg.forward_dynamics(model, [0.0, 0.0])).max() < 1e-12
    assert np.abs(mg.forward_dynamics(model, [0.05, 0.0])).max() > 100.0
    assert mg.mobility(model, [0.0, 0.0]).freedoms == 2


@pytest.mark.parametrize("damping", [1500.0, 0.0])
def test_frequencies_of_the_quarter_car(damping: float) -> None:
    model = gallery.quarter_car().with_values({"strut.damping": damping})
    body, wheel, k, tyre = (
        model.value(p) for p in ("body.mass", "wheel.mass", "strut.stiffness", "tyre.stiffness")
    )  # fmt: skip
    both = body + wheel
    polynomial = [body * wheel, damping * both, k * both + tyre * body, damping * tyre, k * tyre]
    found = mg.linearise(model, mg.state(model, [0.0, 0.0]))
    assert found.about == "rest"
    np.testing.assert_allclose(by_size(found.eigenvalues), by_size(np.roots(polynomial)), rtol=1e-11, atol=1e-10)


def seen_from(mount: str, model: mg.Model, s: complex) -> complex:
    """Dynamic stiffness [N/m] that an axle with its tyre, under its strut, shows the body."""
    strut = model.value(f"{mount} strut.stiffness") + s * model.value(f"{mount} strut.damping")
    rest = model.value(f"{mount} axle.mass") * s**2 + model.value(f"{mount} tyre.stiffness")
    return strut * rest / (strut + rest)


def characteristic(model: mg.Model, s: complex) -> tuple[complex, float]:
    """Of the half car, by hand, at s; and how large its terms are."""
    mass, inertia = model.value("body.mass"), model.value("body.inertia.yy")
    ahead, behind = model.value("front mount.position.x"), -model.value("rear mount.position.x")
    front, rear = seen_from("front", model, s), seen_from("rear", model, s)
    heave = mass * s**2 + front + rear
    pitch = inertia * s**2 + ahead**2 * front + behind**2 * rear
    across = behind * rear - ahead * front
    return heave * pitch - across**2, abs(mass * s**2 * pitch) + abs(across**2) + abs(heave * inertia * s**2)


def test_frequencies_of_the_half_car() -> None:
    model = gallery.half_car()
    assert np.abs(mg.forward_dynamics(model, np.zeros(4))).max() < 1e-11
    found = mg.linearise(model, mg.state(model, np.zeros(4)))
    assert found.about == "rest"
    assert len(set(np.round(found.eigenvalues, 6))) == 8  # all roots of a polynomial of degree eight
    for s in found.eigenvalues:
        value, size = characteristic(model, s)
        assert abs(value) < 1e-10 * size
        near, _ = characteristic(model, 1.001 * s)
        assert abs(near) > 1e-5 * size
    assert mg.mobility(model, np.zeros(4)).freedoms == 4


def test_heave_and_pitch_part_where_stiffness_and_distance_balance() -> None:
    """Undamped, on axles that are held by tyres a million times stiffer: sqrt(k / m) and sqrt(k l^2 / J)."""
    model = gallery.half_car()
    model = model.with_values({
        "front strut.damping": 0.0, "rear strut.damping": 0.0, "front tyre.stiffness": 1e13,
        "rear tyre.stiffness": 1e13, "front tyre.free_position": 0.0, "rear tyre.free_position": 0.0,
    })  # fmt: skip
    # the axles' equal balance: 56 kN/m 0.9 m is 42 kN/m 1.2 m, so that heave and pitch do not know each other
    slow = [mode.frequency for mode in mg.linearise(model, mg.state(model, np.zeros(4))).modes]
    wanted = np.sqrt([98e3 / 1200.0, (56e3 * 0.81 + 42e3 * 1.44) / 2100.0]) / (2 * np.pi)
    np.testing.assert_allclose(sorted(slow)[:2], sorted(wanted), rtol=1e-7)
