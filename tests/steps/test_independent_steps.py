"""Matrix R with implicit schemes: direct derivatives against complex steps, adjoints against direct derivatives."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.dynamics.states import StateGradients, StateSlopes
from mechgrad.errors import InputError
from mechgrad.gallery import five_bar, five_bar_start, slider_crank
from mechgrad.sensitivities.gradient_by_tables import TableGradient
from mechgrad.sensitivities.motion_parameters import Parameters
from mechgrad.sensitivities.repeat import repeated
from mechgrad.steps.matrix_r import pieces as independent
from mechgrad.steps.matrix_r.kernels import tangent as matrix_r_tangent
from mechgrad.steps.matrix_r.methods import METHODS
from mechgrad.steps.matrix_r.pieces import IndependentSteps

MATRIX_R = METHODS[0]

STEP = 1e-30
SCHEMES = ("trapezoidal", "hht", "generalized-alpha")

# mass, centre of mass, inertia, tree joint, closure, markers of springs and of independent coordinates, forces, start
FIVE_BAR = (
    "A1.mass", "12.com.x", "23.com.y", "3B.inertia.zz", "1.origin.x", "2.origin.y", "B.child_origin.x", "B.origin.y",
    "P1.position.y", "P2.position.x", "P2.position.y", "PB.position.x", "S1.stiffness", "S1.damping", "S2.free_length",
    "gravity.y", "start.position.A", "start.position.1", "start.velocity.A", "start.velocity.1",
)  # fmt: skip
SLIDER_CRANK = (
    "crank.mass", "rod.com.y", "rod.inertia.xy", "crank axis.origin.y", "B.origin.z", "C.child_origin.x",
    "slide.origin.z", "PC.position.x", "D.position.x", "S1.damping", "gravity.z", "start.position.PC.x",
    "start.velocity.PC.x",
)  # fmt: skip
HELD = ({"A": -2.25, "1": 1.82}, {"A": 0.7, "1": -0.4})  # away from symmetry and from rest


@cache
def five_bar_at_start():
    model = five_bar().with_values({"S1.damping": 3.0})
    return model, mg.assemble(model, *HELD, guess=five_bar_start())


@cache
def slider_crank_at_start(cut: str):
    model = slider_crank(cut=cut, spring=True)
    return model, mg.assemble(model, {"PC.x": 0.21}, {"PC.x": 0.3})


@cache
def driven_at_start():
    """One of two freedoms follows time, so that constraints have rates and second rates of their own."""
    bare = five_bar()
    drive = mg.constraints.Driver("drive", "A", mg.functions.Harmonic(0.2, frequency=3.0, phase=0.4, offset=-2.4))
    model = mg.Model(
        "driven five-bar", bare.bodies, bare.joints, bare.points, gravity=bare.gravity,
        forces=bare.forces, constraints=[drive],
    )  # fmt: skip
    return model, mg.assemble(model, {"P2.x": 0.45}, {"P2.x": 0.3}, guess=five_bar_start())


@cache
def doubled_at_start():
    """The hinge that closes the loop is held a second time by rows that depend on its own."""
    bare = five_bar()
    end = mg.Point("PE", "3B", bare.joint("B").child_origin)
    model = mg.Model(
        "five-bar, closed twice", bare.bodies, bare.joints, [*bare.points, end],
        gravity=bare.gravity, forces=bare.forces, constraints=[mg.constraints.SamePoint("again", "PE", "PB")],
    )  # fmt: skip
    return model, mg.assemble(model, *HELD, guess=five_bar_start())


class Case:
    """One motion with its derivatives, and the same by complex steps."""

    def __init__(self, model, start, wrt, *, duration=0.1, step=2e-3, **options) -> None:
        self.model, self.motion = model, mg.simulate(model, start, duration=duration, step=step, **options)
        self.parameters = Parameters(self.motion, wrt)
        self.dq, self.dv = self.parameters.start.slopes(self.parameters)
        self.sweeps = MATRIX_R.sweeps(self.motion.record)

    def direct(self) -> StateSlopes:
        return self.sweeps.direct(self.parameters, self.dq, self.dv)

    def by_complex_step(self, k: int) -> list[np.ndarray]:
        values = self.parameters.values().astype(complex)
        values[k] += 1j * STEP
        motion = repeated(self.motion, self.parameters, values)
        return [x.imag / STEP for x in (motion.q, motion.v, motion.a, motion.multipliers)]

    def check_direct(self, bound: float = 1e-9) -> None:
        found = self.direct()
        for k, name in enumerate(self.parameters.names):
            here = [x[:, k] for x in found]
            # changes of Euler parameters from those along the tangent
            here[0] = np.asarray(self.model.integrate(self.motion.q + 0j, 1j * STEP * here[0])).imag / STEP
            for what, x, wanted in zip(("q", "v", "a", "lam"), here, self.by_complex_step(k), strict=True):
                assert np.abs(wanted).max() > 1e-6, (name, what)
                np.testing.assert_allclose(
                    x, wanted, rtol=0, atol=bound * np.abs(wanted).max(), err_msg=f"{name} {what}"
                )

    def gradients(self, count: int = 2) -> StateGradients:
        rng = np.random.default_rng(7)
        sizes = (self.model.n_v,) * 3 + (self.motion.system.n_constraints,)
        return StateGradients(*(rng.normal(size=(len(self.motion.t), count, n)) for n in sizes))

    def check_adjoint(self, bound: float = 1e-11) -> None:
        g = self.gradients()
        weights: list = []
        yq, yv = self.sweeps.adjoint(g, weights.append)
        tables = TableGradient(self.motion.system, len(yq), self.parameters)
        for some in weights:
            tables.add(some)
        found = yq @ self.dq.T + yv @ self.dv.T + tables.by_parameters()
        parts = [np.einsum("toi,tpi->op", a, b) for a, b in zip(g, self.direct(), strict=True)]
        size = sum(np.abs(x) for x in parts)
        assert size.min() > 1e-4
        assert np.abs((found - sum(parts)) / size).max() < bound


def matrix_r(*names: str) -> mg.formulations.MatrixR:
    # tight, since the imaginary part of an iteration comes to rest after the real one
    return mg.formulations.MatrixR(list(names) or None, tolerance=1e-14)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("names", [(), ("P2.x", "P2.y")], ids=["joints", "point"])
def test_five_bar(names, scheme):
    case = Case(*five_bar_at_start(), FIVE_BAR, formulation=matrix_r(*names), scheme=scheme)
    case.check_direct()
    case.check_adjoint()


@pytest.mark.parametrize(
    ("cut", "name"),
    [("B", "crank axis"), ("B", "PC.x"), ("slide", "crank axis"), ("slide", "PC.x"), ("crank axis", "slide"),
     ("C", "crank axis")],
)  # fmt: skip
def test_slider_crank_whatever_is_cut(cut, name):
    """All but the first cut leave a ball in the tree."""
    case = Case(*slider_crank_at_start(cut), SLIDER_CRANK, formulation=matrix_r(name), scheme="generalized-alpha",
                duration=0.05, step=1e-3)  # fmt: skip
    case.check_direct()
    case.check_adjoint()


def test_constraints_that_follow_time():
    wrt = ("drive.function.amplitude", "drive.function.phase", "12.mass", "2.origin.x", "P2.position.x",
           "start.position.P2.x", "start.velocity.P2.x")  # fmt: skip
    for name in ("P2.x", "3"):
        case = Case(*driven_at_start(), wrt, formulation=matrix_r(name), scheme="hht")
        case.check_direct()
        case.check_adjoint()


def test_rows_that_depend_on_others_are_not_solved():
    wrt = ("A1.mass", "23.com.x", "P2.position.x", "S1.stiffness", "start.position.A", "start.velocity.1")
    case = Case(*doubled_at_start(), wrt, formulation=matrix_r("P2.x", "P2.y"), scheme="trapezoidal")
    rows = case.motion.choices[0].rows
    assert (len(case.motion.constraint_names), len(rows)) == (4, 2)
    assert len(mg.mobility(case.model, case.motion.q[0]).redundant) == 2
    case.check_direct()
    case.check_adjoint()


def test_few_samples_are_checkpoints():
    """The derivatives at few instants are those of all steps in between."""
    options = {"formulation": matrix_r("P2.x", "P2.y"), "scheme": "generalized-alpha"}
    whole, few = (Case(*five_bar_at_start(), FIVE_BAR, samples=samples, **options) for samples in (None, 6))
    assert (whole.sweeps.steps.every, few.sweeps.steps.every) == (1, 10)
    few.check_direct()
    few.check_adjoint()
    for x, y in zip(whole.direct(), few.direct(), strict=True):
        np.testing.assert_allclose(y, x[::10], rtol=0, atol=1e-9 * np.abs(x).max())


@pytest.mark.parametrize("samples", [None, 26])
def test_chunks_join(samples, monkeypatch):
    case = Case(*five_bar_at_start(), FIVE_BAR, samples=samples, formulation=matrix_r(), scheme="hht")
    whole, adjoints = case.direct(), case.sweeps.adjoint(case.gradients(), lambda _: None)
    monkeypatch.setattr(independent, "CHUNK_BYTES", 1)
    case.sweeps = MATRIX_R.sweeps(case.motion.record)
    assert len(case.sweeps.steps.pieces(1)) > 4
    for x, y in zip(
        (*whole, *adjoints), (*case.direct(), *case.sweeps.adjoint(case.gradients(), lambda _: None)), strict=True
    ):
        np.testing.assert_allclose(y, x, rtol=0, atol=1e-12 * np.abs(x).max())
    case.check_adjoint()


def test_adjoint_weights_have_no_part_in_rows_of_laws():
    case = Case(*five_bar_at_start(), FIVE_BAR, formulation=matrix_r("P2.x", "P2.y"), scheme="trapezoidal")
    system = case.motion.system
    kept: list = []
    case.sweeps.adjoint(case.gradients(), kept.append)
    steps = kept[0]
    for weight in (steps.w0, steps.w1, steps.w2):
        assert not weight[:, :, system.n_constraints : system.n_rows].any()
        assert np.abs(weight[:, :, : system.n_constraints]).max() > 1e-6
        assert np.abs(weight[:, :, system.n_rows :]).max() > 1e-6


def test_other_motions_are_refused():
    model, start = five_bar_at_start()
    for options in ({"formulation": "ali3p", "scheme": "trapezoidal"}, {"formulation": "matrix-r", "scheme": "rk4"}):
        motion = mg.simulate(model, start, duration=0.01, step=1e-3, **options)
        with pytest.raises(InputError, match="not by implicit steps of Matrix R"):
            IndependentSteps(motion.record)
    stopped = mg.simulate(
        model, start, duration=0.1, step=1e-3, formulation="matrix-r", scheme="hht", stop=lambda t, q, v: t - 0.0503
    )
    with pytest.raises(InputError, match="needs steps of one length"):
        IndependentSteps(stopped.record)


def test_a_singular_step_is_named(monkeypatch):
    case = Case(*five_bar_at_start(), ["A1.mass"], formulation=matrix_r("A", "1"), scheme="trapezoidal")
    monkeypatch.setattr(matrix_r_tangent, "independent_tangent_steps", lambda *_: 3)
    with pytest.raises(InputError, match=r"step to t = 0.008 s .* A, 1 do not determine the motion"):
        case.direct()
