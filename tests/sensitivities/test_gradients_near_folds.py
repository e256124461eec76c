"""Gradients of long implicit steps near a dead point: derivatives take constraints for met, and say if they are not."""

from __future__ import annotations

import pytest

import mechgrad as mg

MASSES = ["slider.mass", "rod.mass"]


def towards_the_dead_point(step: float) -> mg.Trajectory:
    """The slider-crank of the gallery, whose crank and rod come close to one line: rows lose digits there."""
    model = mg.gallery.slider_crank(spring=True)
    return mg.simulate(model, mg.assemble(model, {"crank axis": 0.5}, {"crank axis": 6.0}), 0.2, step=step)


def squares(x):
    return (x**2).sum(-1)


@pytest.mark.parametrize(("step", "exact"), [(0.01, False), (0.005, False), (0.0025, True)])
def test_what_a_gradient_says_of_itself_is_what_its_certificate_finds(step: float, exact: bool) -> None:
    gradient = mg.gradient(towards_the_dead_point(step), mg.Integral(squares, mg.measures.JointReaction("B")), MASSES)
    certificate = gradient.certify()
    assert certificate.influence.min() > 0.0
    assert certificate.passed == exact
    told = str(gradient)
    assert ("Exact for the steps as taken, of 0.0025 s" in told) == exact
    assert ("Not exact: derivatives take constraints for met" in told) == (not exact)
