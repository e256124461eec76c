"""Records of parameters made by one line, or by numbers alone: the same as those of the model made anew with a step."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.dynamics import row_slopes
from mechgrad.dynamics.row_slopes import coordinate_slopes, velocity_slopes
from mechgrad.dynamics.states import States, as_complex, linearised, unforced
from mechgrad.gallery import five_bar, five_bar_start, human
from mechgrad.kernels import workspaces
from mechgrad.kinematics.mechanism_record import elements_of, mechanism_of, row_report
from mechgrad.model.columns import STEP
from mechgrad.sensitivities.motion_parameters import Parameters

TABLES = ("atoms_f", "markers_f", "loads_f", "numbers")


@pytest.fixture(scope="module")
def motion():
    return mg.simulate(five_bar(), five_bar_start(), 0.05, step=1e-3)


def test_records_are_those_of_the_model_made_anew(motion):
    """Every number of the five-bar: all tables, and all integers."""
    names = [p.path for p in motion.model.parameters() if not p.path.startswith("start")]
    parameters = Parameters(motion, names)
    alone = 0
    for k, name in enumerate(parameters.names):
        found = parameters.record(k)
        moved = motion.model.stepped({name: motion.model.value(name) + 1j * STEP}).afresh()
        anew = mechanism_of(moved, rows=motion.system.rows, tau=motion.tau, dtype=complex, pairs=False)
        np.testing.assert_array_equal(found.ints, anew.ints)
        np.testing.assert_array_equal(found.atoms_i, anew.atoms_i)
        for table in TABLES:
            mine, theirs = getattr(found, table), getattr(anew, table)
            np.testing.assert_array_equal(mine.real, theirs.real)
            np.testing.assert_allclose(mine.imag / STEP, theirs.imag / STEP, rtol=1e-14, atol=1e-14, err_msg=name)
        alone += k in parameters.of_bodies.positions
    assert alone == sum(p.path.split(".")[1] in ("mass", "com", "inertia") for p in motion.model.parameters("*"))


def test_masses_beyond_follow():
    """A mass is part of that of all beyond, for every atom on its way to the ground."""
    model = human()
    swing = mg.simulate(model, model.neutral(), 2e-3, step=1e-3)
    body = model.bodies[-1].name
    parameters = Parameters(swing, [f"{body}.mass"])
    moved = model.stepped({f"{body}.mass": model.value(f"{body}.mass") + 1j * STEP}).afresh()
    anew = mechanism_of(moved, dtype=complex, pairs=False)
    assert np.count_nonzero(anew.atoms_f.imag) > 2  # its own, and those of masses beyond
    np.testing.assert_allclose(parameters.record(0).atoms_f.imag, anew.atoms_f.imag, rtol=1e-14)


def test_a_centre_of_mass_with_a_spring_is_a_point():
    """It moves the spring's end: one line of the table of atoms says too little."""
    bob = mg.Body("bob", mass=1.0, com=(0.0, 0.0, -1.0), inertia=(0.1, 0.1, 0.1))
    spring = mg.forces.SpringDamper("spring", "anchor", "bob.com", stiffness=50.0, free_length=0.8)
    hinge, anchor = mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0)), mg.Point("anchor", "ground", (1.0, 0.0, 0.0))
    model = mg.Model("m", [bob], [hinge], [anchor], forces=[spring])
    assert elements_of(model).centres == {"bob"}
    swing = mg.simulate(model, [0.5], duration=0.2, step=1e-2)
    assert Parameters(swing, ["bob.com.x", "bob.mass"]).of_bodies.positions == [1]
    end = mg.AtEnd(mg.measures.JointCoordinate("pin"))
    exact, adjoint, steps = (
        mg.gradient(swing, end, ["bob.com.x"], method=method).array for method in ("direct", "adjoint", "complex")
    )
    assert abs(exact[0, 0]) > 1e-3
    np.testing.assert_allclose(exact, steps, rtol=1e-11)
    np.testing.assert_allclose(adjoint, steps, rtol=1e-11)


def test_row_reports_are_shared_where_constraints_are_the_same():
    model = five_bar()
    report = row_report(model)
    assert row_report(model.with_values({"A1.mass": 2.0, "S1.stiffness": 80.0, "12.com.x": 0.3})) is report
    other = row_report(model.with_values({"1.origin.x": model.value("1.origin.x") + 0.01}))
    assert other is not report
    np.testing.assert_array_equal(other.kept, report.kept)


def test_directions_at_once_are_those_one_by_one(motion, monkeypatch):
    record = motion.record
    T = as_complex(unforced(motion.system.T))
    at = States(*(np.asarray(x) for x in (record.q, record.v, record.a, record.multipliers, record.t)))
    together = coordinate_slopes(motion.model, T, at)
    J = linearised(unforced(motion.system.T), at, False).J
    by_v = velocity_slopes(motion.model, T, at, together[0], J, False)
    monkeypatch.setattr(row_slopes, "AT_ONCE", 1)
    alone = coordinate_slopes(motion.model, T, at)
    anew = velocity_slopes(motion.model, T, at, alone[0], J, False)
    for a, b in zip((*together, by_v), (*alone, anew), strict=True):
        assert b.any()
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(by_v, 2.0 * together[0], rtol=1e-12, atol=1e-12)  # all coordinates are plain


def test_workspaces_leave_nothing_behind(motion):
    """Gradients with workspaces of others, and with new ones, are the same to the last bit."""
    goal = mg.Integral(lambda x: (x * x).sum(-1), mg.measures.PointAcceleration("P2"))
    wrt = ["A1.mass", "S1.stiffness", "1.origin.x"]
    held = mg.simulate(five_bar(), mg.assemble(five_bar(), {"A": five_bar_start()[0], "1": five_bar_start()[1]},
                                               guess=five_bar_start()), 0.05, step=1e-3)  # fmt: skip
    for method in ("direct", "adjoint"):
        first = mg.gradient(held, goal, wrt, method=method, threads=1).array
        again = mg.gradient(held, goal, wrt, method=method, threads=1).array
        workspaces._kept.clear()
        fresh = mg.gradient(held, goal, wrt, method=method, threads=1).array
        np.testing.assert_array_equal(first, again)
        np.testing.assert_array_equal(first, fresh)
