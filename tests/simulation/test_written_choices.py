"""Formulations and schemes as results print them are what `simulate` takes."""

from __future__ import annotations

from typing import Any

import pytest

import mechgrad as mg
from mechgrad.dynamics.formulations import as_formulation, known_formulations
from mechgrad.gallery import double_pendulum
from mechgrad.steps.schemes import as_scheme, known_schemes

FORMULATIONS = [
    mg.formulations.ALI3P(penalty=1e8, accelerations=False), mg.formulations.Index1(projection=False),
    mg.formulations.Penalty(1e11, damping=0.5), mg.formulations.MatrixR(["A", "1"]), mg.formulations.MatrixR(),
    mg.formulations.SemiRecursive(tolerance=1e-11), mg.formulations.FullyRecursive(max_iterations=7),
]  # fmt: skip
SCHEMES = [
    mg.schemes.Newmark(0.3, 0.6), mg.schemes.Trapezoidal(), mg.schemes.HHT(damping=0.1),
    mg.schemes.GeneralizedAlpha(radius=0.6), mg.schemes.RK4(), mg.schemes.DOP853(),
    mg.schemes.RungeKutta([[0, 0], [0.5, 0]], [0, 1]),
]  # fmt: skip


@pytest.mark.parametrize("given", [*FORMULATIONS, *SCHEMES], ids=str)
def test_what_is_printed_is_read(given: Any) -> None:
    read = as_formulation if given in FORMULATIONS else as_scheme
    assert read(str(given)) == given
    assert read(repr(given)) == given
    assert read(given) is given


def test_every_kind_is_printed() -> None:
    for given, known in ((FORMULATIONS, known_formulations()), (SCHEMES, known_schemes())):
        ours = {kind for kind in known.values() if kind.__module__.startswith("mechgrad.")}  # other tests add theirs
        assert {type(x) for x in given} == ours


def test_a_motion_is_made_again_from_its_text() -> None:
    motion = mg.simulate(double_pendulum(), [0.3, 0.2], 0.01, step=1e-3)
    inside = str(motion).split("(", 1)[1].rsplit("). Next", 1)[0]  # FullyRecursive(), RK4()
    formulation, scheme = inside.split(", ")
    again = mg.simulate(double_pendulum(), [0.3, 0.2], 0.01, step=1e-3, formulation=formulation, scheme=scheme)
    assert (again.formulation, again.scheme) == (motion.formulation, motion.scheme)
    assert (again.q == motion.q).all()


@pytest.mark.parametrize("name", ["hht", "HHT", "Generalized-Alpha", "GeneralizedAlpha", "generalized_alpha()"])
def test_names_in_several_spellings(name: str) -> None:
    assert as_scheme(name) in (mg.schemes.HHT(), mg.schemes.GeneralizedAlpha())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("HTT", "unknown scheme 'HTT'. Known: newmark"),
        ("HHT(damping=0.1", "scheme .* cannot be read"),
        ("HHT(damping=open('x'))", "scheme .* cannot be read"),
        ("HHT(**{})", "scheme .* cannot be read"),
        ("HHT(damp=0.1)", "states numbers that HHT has not: .*It has: damping"),
        ("HHT(0.1, 0.2)", "states numbers that HHT has not"),
        ("HHT(damping=2.0)", "damping"),
        ("runge-kutta", r"has no usual numbers: give RungeKutta\(A, B\)"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, message: str) -> None:
    with pytest.raises(mg.MechgradError, match=message):
        as_scheme(text)
    with pytest.raises(mg.MechgradError, match="unknown formulation"):
        as_formulation(text.replace("HHT", "HTT"))
