"""Degrees of freedom, redundancy, singular configurations, independent coordinates."""

import numpy as np
import pytest
from kinematic_loops import five_bar, four_bar, spatial_slider_crank

import mechgrad as mg
from mechgrad.errors import AssemblyError
from mechgrad.gallery import double_pendulum
from mechgrad.kinematics.assembly import assemble
from mechgrad.kinematics.held import Equations
from mechgrad.kinematics.mobility import independent_coordinates, mobility


def test_five_bar_closed_by_a_full_hinge():
    found = mobility(five_bar())
    assert (found.freedoms, found.finite_freedoms, found.rank) == (2, 2, 2)
    assert found.idle == ("B: point z", "B: axis 1", "B: axis 2")
    assert found.redundant == ()
    assert not found.singular
    assert len(found.independent) == 2
    text = str(found)
    assert "degrees of freedom      2" in text
    assert "B: point z, B: axis 1, B: axis 2" in text


def parallelogram(middle=1.0):
    """Two cranks of length 1 with a coupler of length 2, and a third crank in the middle."""

    def crank(k, x):
        return [mg.Revolute(f"foot {k}", "ground", f"crank {k}", (x, 0, 0))]

    joints = [*crank(1, 0.0), *crank(2, 2.0), *crank(3, middle)]
    joints.append(mg.Revolute("head 1", "crank 1", "coupler", (0, 1, 0)))
    joints.append(mg.Revolute("head 2", "crank 2", "coupler", (0, 1, 0), child_origin=(2, 0, 0)))
    joints.append(mg.Revolute("head 3", "crank 3", "coupler", (0, 1, 0), child_origin=(middle, 0, 0)))
    bodies = [mg.Body(name, 1.0) for name in ("crank 1", "crank 2", "crank 3", "coupler")]
    return mg.Model("parallelogram", bodies, joints, cut=["head 2", "head 3"])


def test_the_extra_bar_of_a_parallelogram_is_redundant():
    q = assemble(parallelogram(), {"foot 1": 0.4}).q
    found = mobility(parallelogram(), q)
    assert (found.freedoms, found.rank, len(found.redundant)) == (1, 3, 1)
    (dependent,) = found.dependent
    assert dependent[0] == found.redundant[0]
    assert {name.split(":")[0] for name in dependent} == {"head 2", "head 3"}
    # the row is a combination of the others: their Jacobian has the same rank without it
    assert "follows from" in str(found)
    assert not found.singular


def test_without_the_extra_bar_nothing_is_redundant():
    full = parallelogram()
    model = mg.Model("p", [b for b in full.bodies if b.name != "crank 3"],
                     [j for j in full.joints if "3" not in j.name], cut=["head 2"])  # fmt: skip
    found = mobility(model, assemble(model, {"foot 1": 0.4}).q)
    assert (found.freedoms, found.rank, found.redundant, found.dependent) == (1, 2, (), ())


def test_change_point_of_a_four_bar():
    """Crank + frame = coupler + rocker: in line, the mechanism may go on in two ways."""
    model = four_bar(crank=0.5, coupler=1.2, rocker=0.7, frame=1.0)
    in_line = [np.pi, np.pi, np.pi]  # crank tip at -0.5, pin at 1 - 0.7 = 0.3; the coupler cannot reach: 0.8
    with pytest.raises(AssemblyError, match=r"misses 'pin: point x' by"):
        mobility(model, in_line)
    model = four_bar(crank=0.5, coupler=0.8, rocker=0.7, frame=1.0)
    found = mobility(model, [np.pi, np.pi, -np.pi])
    assert found.singular
    assert (found.freedoms, found.rank, found.generic_rank) == (2, 1, 2)
    assert "yes, rank nearby 2" in str(found)
    beside = assemble(model, {"crank": 2.0}, guess=[2.0, 2.0, -2.0])
    assert not mobility(model, beside.q).singular


def test_a_driver_does_not_hide_a_singular_configuration():
    model = four_bar(
        0.5, 0.8, 0.7, 1.0, constraints=[mg.constraints.Driver("motor", "crank", mg.functions.Polynomial((np.pi, 1.0)))]
    )
    found = mobility(model, [np.pi, np.pi, -np.pi])
    assert found.singular
    assert (found.rank, found.generic_rank) == (2, 3)


def test_independent_coordinates_of_the_slider_crank():
    model = spatial_slider_crank()
    q = assemble(model, {"crank": 0.8}).q
    found = mobility(model, q)
    # the rod may not turn about its own axis: the Cardan holds it
    assert found.freedoms == 1
    names = independent_coordinates(model, q)
    assert names == list(found.independent)
    assert len(names) == 1
    N = np.linalg.svd(_gamma(model, q))[2][-1]
    plain = [model.v_names.index(name) for name in model.v_names if "w" not in name.split(".")[-1]]
    assert abs(N[model.v_names.index(names[0])]) == pytest.approx(np.abs(N[plain]).max())


def _gamma(model, q):
    return Equations.of(model, ()).at(q, None, 0.0).J


def test_balls_need_points():
    model = mg.Model(
        "ball",
        [mg.Body("b", 1.0)],
        [mg.Spherical("s", "ground", "b")],
        [mg.Point("P", "b", (0.3, 0, 0)), mg.Point("Q", "b", (0, 0.2, 0.1))],
    )
    q = model.integrate(model.neutral(), [0.2, 0.3, -0.4])
    with pytest.raises(AssemblyError, match=r"3 degrees of freedom, of which .* fix 0 here.*for example [PQ]\.[xyz], "):
        independent_coordinates(model, q)
    found = mobility(model, q)
    assert len(found.independent) == 3
    x = dict(zip("PQ", mg.kinematics.marker_motion(model, ["P", "Q"], q).position, strict=True))
    at = {name: x[name[0]]["xyz".index(name[-1])] for name in found.independent}
    again = assemble(model, at, guess=model.integrate(q, [0.05, -0.02, 0.03])).q
    np.testing.assert_allclose(again, q, atol=1e-10)


def test_rolling_lowers_velocities_only():
    wheel = mg.constraints.Rolling("track", "ball.origin", 0.5, "up", contact=True, plane_point="ground.origin")
    model = mg.Model("ball", [mg.Body("ball", 1.0)], [mg.Floating("free", "ground", "ball")],
                     vectors=[mg.Vector("up", "ground", (0, 0, 1))], constraints=[wheel])  # fmt: skip
    found = mobility(model)
    assert (found.freedoms, found.finite_freedoms, found.rank) == (3, 5, 3)


def test_a_tree_is_free():
    found = mobility(double_pendulum())
    assert (found.freedoms, found.rank, found.independent) == (2, 0, ("shoulder", "elbow"))
