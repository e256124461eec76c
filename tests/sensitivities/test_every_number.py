"""Every number that a model can have, every kind of start, every formulation that applies: direct and adjoint against a
complex step of the whole way and differences along a random direction, no entry without influence.

The oracles share nothing with gradients but `simulate`, `assemble` and `equilibrium`. A new joint, constraint, force or
function makes the last test fail until a mechanism of `every_number` holds it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import every_number

import mechgrad as mg
from mechgrad.errors import AssemblyError
from mechgrad.measures.base import Measure
from mechgrad.model.constraints import CONSTRAINT_TYPES
from mechgrad.model.forces import FORCE_TYPES
from mechgrad.model.functions import FUNCTION_TYPES
from mechgrad.model.joints import JOINT_TYPES
from mechgrad.model.primitives.fields import table
from mechgrad.sensitivities.motion_parameters import Parameters

STEPS = 5
SEEN = 1e-11  # smallest column of interest: the largest are of the order of one, and rounding is below
STILL = 1e-5  # what steps may leave of a number that changes nothing


@final
@dataclass(frozen=True)
class _Mixture(Measure):
    """Random sums of where all points and vectors are and how they move, (nt, 3)."""

    uses: ClassVar[str] = "q v"

    def values(self, at):
        names = [x.name for x in (*at.model.points, *at.model.vectors)]
        found = mg.kinematics.marker_motion(at.model, names, at.states.q, at.states.v)
        w = np.random.default_rng(0).normal(size=(2, len(names), 3, 3))
        return np.einsum("tki,kij->tj", found.position, w[0]) + np.einsum("tki,kij->tj", found.velocity, w[1])


def moved(case, way):
    formulation, scheme = way
    if isinstance(formulation, mg.formulations.MatrixR):
        formulation = mg.formulations.MatrixR(tuple(case.start.held))
    how = {"samples": 3} if scheme == "dop853" else {"step": case.step}
    return mg.simulate(
        case.model,
        case.start if case.v0 is None else mg.state(case.model, case.start, case.v0),
        duration=STEPS * case.step,
        formulation=formulation,
        scheme=scheme,
        t0=case.t0,
        **how,
        **case.forces,
    )


def numbers_of(case, motion):
    """Everything that can be asked for, less what loops cannot follow."""
    known = Parameters(motion, ["gravity.x"])
    owners = {item.name for group in case.of for item in getattr(case.model, group)}
    everyone = {item.name for group in every_number.Case._field_defaults["of"] for item in getattr(case.model, group)}
    names = [
        p.path for p in case.model.parameters()
        if p.driver is None and case.model.locate(p.path)[0] not in everyone - owners
    ]  # fmt: skip
    names += [*known._start_values, *known._given]
    return [name for name in names if not any(fnmatchcase(name, torn) for torn in case.torn)]


def matching(name, patterns):
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def ways():
    for make, all_ways in every_number.CASES.items():
        quick = every_number.QUICK.get(make, range(len(all_ways)))
        for k, way in enumerate(all_ways):
            yield pytest.param(make, way, id=f"{make.__name__}-{k}", marks=[] if k in quick else [pytest.mark.slow])


@pytest.mark.parametrize(("make", "way"), list(ways()))
def test_direct_and_adjoint_by_every_number(make, way):
    case = make()
    motion = moved(case, way)
    names = numbers_of(case, motion)
    adjoint, direct = (mg.gradient(motion, mg.AtEnd(_Mixture()), names, method=m) for m in ("adjoint", "direct"))
    certificate = adjoint.certify(tolerance=1e-6)
    assert certificate.passed, str(certificate)
    exact = certificate.complex_step
    size = np.abs(exact).max(axis=0)
    still = [name for name, x in zip(names, size, strict=True) if x < SEEN and not matching(name, case.still)]
    assert still == [], "these change nothing: choose a better state, or say why"
    moving = [name for name, x in zip(names, size, strict=True) if x >= STILL and matching(name, case.still)]
    assert moving == [], "these were said to change nothing"
    scale = size.clip(1e-4 * size.max())
    np.testing.assert_allclose(direct.array / scale, exact / scale, atol=1e-6)


@pytest.mark.parametrize("make", [every_number.driven_linkage])
def test_numbers_that_loops_cannot_follow_are_refused(make):
    case = make()
    motion = moved(case, every_number.CASES[make][0])
    names = [p.path for p in case.model.parameters() if matching(p.path, case.torn)]
    assert names
    for name in names:
        with pytest.raises(AssemblyError, match="tears"):
            mg.gradient(motion, mg.AtEnd(_Mixture()), [name])


def fields_of(item):
    """Fields with numbers of an object and of its functions."""
    _, specs, functions, *_ = table(type(item))
    found = {(type(item).__name__, name) for name in specs}
    for name in functions:
        if (inner := getattr(item, name)) is not None:
            found |= {(type(item).__name__, name)} | fields_of(inner)
    return found


def test_no_number_is_left_out():
    covered = set()
    for make in every_number.CASES:
        model = make().model
        for item in (*model.bodies, *model.joints, *model.points, *model.vectors, *model.constraints, *model.forces):
            covered |= fields_of(item)
    public = set()
    for cls in (
        mg.Body, mg.Point, mg.Vector, mg.forces.UserForce, *JOINT_TYPES.values(), *CONSTRAINT_TYPES.values(),
        *FORCE_TYPES.values(), *FUNCTION_TYPES.values(),
    ):  # fmt: skip
        _, specs, functions, *_ = table(cls)
        public |= {(cls.__name__, name) for name in (*specs, *functions)}
    assert sorted(public - covered) == []
