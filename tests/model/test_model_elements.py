import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from row_values import SPLINE, everything, model_with

import mechgrad as mg
from mechgrad.errors import ValueRangeError
from mechgrad.model.elements import compile_elements
from mechgrad.model.primitives import rows as R
from mechgrad.model.tree import compile_tree

H = 1e-30
INTEGERS = ("markers_i", "rows_i", "coords_i", "laws_i", "functions_i", "surfaces_i")
NUMBERS = ("markers_f", "rows_f", "coords_f", "laws_f", "pieces_f", "surfaces_f")
MODEL = everything()


def compiled(model):
    return compile_elements(model, compile_tree(model))


TABLES = compiled(MODEL)


def stacked(elements):
    """All numbers of all tables, as one list."""
    return np.concatenate([getattr(elements, name).ravel() for name in NUMBERS])


def test_arrays_are_what_kernels_take():
    for name in (*INTEGERS, *NUMBERS):
        array = getattr(TABLES, name)
        assert array.flags.c_contiguous
        assert not array.flags.writeable
        assert array.dtype == (np.int64 if name in INTEGERS else np.float64)
    widths = {name: getattr(TABLES, name).shape[1] for name in (*INTEGERS, *NUMBERS)}
    assert widths == {
        "markers_i": 2, "rows_i": 8, "coords_i": 2, "laws_i": 7, "functions_i": 2, "surfaces_i": 4,
        "markers_f": 3, "rows_f": 5, "coords_f": 1, "laws_f": 24, "pieces_f": 6,
        "surfaces_f": 1,
    }  # fmt: skip


def test_rows_come_in_three_parts():
    kinds = TABLES.rows_i[:, 0]
    assert (kinds[: TABLES.n_holonomic] < R.FIRST_RATE_KIND).all()
    assert (kinds[TABLES.n_holonomic : TABLES.n_constraints] >= R.FIRST_RATE_KIND).all()
    names = TABLES.row_names
    assert len(names) == len(kinds)
    # the closure of the cut joint, then constraints in their order
    assert names[:5] == ("B: point x", "B: point y", "B: point z", "dot: angle", "parallel: axis 1")
    assert names[TABLES.n_holonomic : TABLES.n_constraints] == (
        "ball rolls: slip 1", "ball rolls: slip 2", "wheel rolls: slip along", "wheel rolls: slip across",
        "wheel skims: slip along", "wheel skims: slip across",
    )  # fmt: skip
    # the rows of laws follow one another without a gap
    first, count = TABLES.laws_i[:, 1], TABLES.laws_i[:, 2]
    assert first[0] == TABLES.n_constraints
    assert (first[1:] == first[:-1] + count[:-1]).all()
    assert first[-1] + count[-1] == len(kinds)


def row(name):
    return TABLES.row_names.index(name)


def test_rows_name_markers_coordinates_and_functions():
    tree = compile_tree(MODEL)
    i = row("in plane: height")
    kind, normal, point, plane = TABLES.rows_i[i, :4]
    assert kind == R.PLANE
    assert TABLES.markers_i[normal].tolist() == [tree.n_atoms, 1]
    assert TABLES.markers_i[point].tolist() == [tree.body_atom["ball"], 0]
    assert_allclose(TABLES.markers_f[plane], [0.5, 0.6, 0.1])
    assert_allclose(TABLES.rows_f[i], [0.2, 0, 0, 0, 0])
    i = row("sum: sum")
    first, count, function = TABLES.rows_i[i, 5:]
    names = {"slide": 1.5, "hinge": -0.5, "knee": 2.0}
    assert TABLES.coords_i[first : first + count].tolist() == [
        [MODEL.q_names.index(name), MODEL.v_names.index(name)] for name in names
    ]
    assert TABLES.coords_f[first : first + count, 0].tolist() == list(names.values())
    start, pieces = TABLES.functions_i[function]
    assert_allclose(TABLES.pieces_f[start : start + pieces], mg.functions.Table((0, 1, 2), (0.1, 0.3, 0.2)).pieces())
    assert (TABLES.rows_i[row("dot: angle"), [3, 4, 7]] == -1).all()
    assert_allclose(TABLES.rows_f[row("guided: point z")], [0, 0, 0, 1, 0])
    assert TABLES.rows_f[row("ball rolls: slip 1"), 4] == 0.3


def test_plain_coordinates_behind_balls_have_two_indices():
    tables = compiled(model_with([mg.constraints.Driver("d", "wheel free.y", 0.0)]))
    assert tables.coords_i.tolist() == [[MODEL.q_names.index("wheel free.y"), MODEL.v_slice("wheel free").start + 1]]
    assert tables.coords_i[0, 0] != tables.coords_i[0, 1]


def test_markers_sit_in_the_frames_of_atoms():
    """Against the motion of markers: atoms carry body frames by the joint's tail."""
    model = model_with([mg.constraints.SamePoint("c", "on arm", "arm.com")])
    tree, tables = compile_tree(model), compiled(model)
    axes, origin = tree.body_tail["arm"]
    a, b = tables.rows_i[-1, 1:3]
    assert_allclose(tables.markers_f[a], axes @ model.point("on arm").position + origin)
    assert_allclose(tables.markers_f[b], axes @ model.body("arm").com + origin)
    assert np.abs(origin).max() > 0.01


def test_markers_are_shared_by_name_not_by_numbers():
    same_place = [mg.Point("p", "arm", (0.4, -0.2, 0.1))]
    model = model_with()
    model = mg.Model(
        "m",
        model.bodies,
        model.joints,
        [*model.points, *same_place],
        model.vectors,
        constraints=[
            mg.constraints.FixedDistance("c1", "on arm", "hub", 1.0),
            mg.constraints.FixedDistance("c2", "on arm", "p", 1.0),
        ],
    )
    (_, a, _, *_), (_, b, c, *_) = compiled(model).rows_i[-2:]
    assert a == b
    assert b != c


def test_laws_hold_numbers_functions_and_users():
    kinds = TABLES.laws_i[:, 0].tolist()
    assert kinds == [R.SPRING, R.CURVE, R.CURVE, R.SPRING, R.SPRING, *[R.SPRING] * 6, R.MOTOR, R.MOTOR, R.FRICTION,
                     R.CONTACT, R.CONTACT, R.TYRE, R.CONTACT, R.TYRE, R.GROUND_SPHERE, R.GROUND_WHEEL, R.GROUND_TANH,
                     R.GROUND_TYRE, R.GROUND_MAGIC, R.GROUND_SPHERE, R.CAPSULES, R.CAPSULES, R.USER]  # fmt: skip
    assert TABLES.laws_f[0].tolist() == [100.0, 3.0, 0.4] + 21 * [0]
    tyre = TABLES.laws_f[kinds.index(R.TYRE)]
    assert tyre.tolist() == [2e5, 0.1, 1.1, 1.0, 0.9, 0.12, 0.14, 0.2, 0, 0, 1e-3, 0.01] + 12 * [0]
    assert [k for k, surface in enumerate(TABLES.laws_i[:, 6]) if surface >= 0] == [
        k for k, kind in enumerate(kinds) if kind in R.GROUND and kind != R.CAPSULES
    ]
    start, pieces = TABLES.functions_i[TABLES.laws_i[1, 3]]
    assert_allclose(TABLES.pieces_f[start : start + pieces], SPLINE.pieces())
    ends = TABLES.functions_i.sum(axis=1)
    assert (TABLES.functions_i[1:, 0] == ends[:-1]).all()
    assert ends[-1] == len(TABLES.pieces_f)
    assert TABLES.laws_i[2, 4] == -1
    assert TABLES.laws_i[:, 5].tolist() == [-1] * (len(kinds) - 1) + [0]
    assert [force.name for force in TABLES.user] == ["user"]


def test_free_rows_stand_behind_all_others():
    free = R.Row(R.LINEAR, coordinates=(("knee", 1.0),), label="knee")
    tables = compile_elements(MODEL, compile_tree(MODEL), [free])
    assert (TABLES.n_rows, tables.n_rows) == (len(TABLES.rows_i), len(TABLES.rows_i))
    assert np.array_equal(tables.rows_i[:-1], TABLES.rows_i)
    assert tables.row_names[-1] == "independent: knee"
    first, count = tables.rows_i[-1, 5:7]
    assert tables.coords_i[first : first + count, 0].tolist() == [MODEL.q_names.index("knee")]


def test_a_model_without_elements_has_empty_tables():
    tables = compiled(mg.Model("p", [mg.Body("bob")], [mg.Revolute("pin", "ground", "bob")]))
    assert [getattr(tables, name).shape[0] for name in (*INTEGERS, *NUMBERS)] == [0] * 12
    assert (tables.n_holonomic, tables.n_constraints, tables.dtype) == (0, 0, float)


OWN = [p.path for p in MODEL.parameters() if p.kind in ("constraint", "force")]
GEOMETRY = [p.path for p in MODEL.parameters() if p.kind not in ("constraint", "force", "mass", "inertia", "gravity")]
# markers that are used, with directions and offsets without symmetry
USED = [path for path in GEOMETRY if path.split(".")[0] in ("on cart", "on arm", "on ball", "up", "cart axis", "axle")]


def test_every_element_has_its_numbers_among_the_parameters():
    assert {path.split(".")[0] for path in OWN} == {item.name for item in (*MODEL.constraints, *MODEL.forces)} - {
        "parallel",
        "same vector",
        "same point",
        "on line",
        "user",
    }
    nested = {"driver.function.values.4", "motor.torque.values.3", "constant motor.torque.value", "sum.factors.2"}
    assert nested | {"bushing.orientation_b.z", "curve.damper.coefficients.1"} <= set(OWN)
    units = {p.path: p.unit for p in MODEL.parameters()}
    assert units["motor.torque.values.3"] == "N m"
    assert units["curve.damper.coefficients.2"] == "N/(m/s)^2"
    assert units["turning.angle.coefficients.1"] == "rad/s"
    assert units["winch.distance.frequency"] == "Hz"
    assert units["winch.distance.phase"] == "rad"
    assert units["driver.function.values.0"] == ""


@pytest.mark.parametrize("path", [*OWN, *GEOMETRY])
def test_tables_carry_a_complex_step(path):
    x = MODEL.value(path)
    moved = compiled(MODEL.with_values({path: x + 1j * H}))
    for name in INTEGERS:
        assert np.array_equal(getattr(moved, name), getattr(TABLES, name))
    slope = stacked(moved).imag / H
    h = 1e-5 * max(abs(x), 1.0)
    up, down = (stacked(compiled(MODEL.stepped({path: x + step}))) for step in (h, -h))
    assert_allclose(stacked(moved).real, stacked(TABLES), atol=1e-15)
    # central differences: h^2 times third derivatives of order one, and roundings of 2e5 (the tyre's stiffness)
    assert_allclose(slope, (up - down) / (2 * h), atol=1e-6)
    idle = ("balls.length", "balls.length_b")  # spheres have none
    assert path in idle or path not in [*OWN, *USED] or np.abs(slope).max() > 1e-3


def test_complex_numbers_anywhere_make_all_tables_complex():
    moved = compiled(MODEL.with_values({"motor.torque.values.1": 0.5 + 1j * H}))
    assert moved.dtype is complex
    assert all(getattr(moved, name).dtype == np.complex128 for name in NUMBERS)


def test_files_hold_everything_but_python_functions(tmp_path):
    model = everything(user=False)
    mg.save_model(model, tmp_path / "everything.toml")
    again = mg.load_model(tmp_path / "everything.toml")
    assert again == model
    assert np.array_equal(stacked(compiled(again)), stacked(compiled(model)))
    changed = model.with_values({"motor.torque.values.3": 9.0})
    assert changed != model
    assert changed.value("motor.torque.values.3") == 9.0
    with pytest.raises(ValueRangeError, match="force 'user'"):
        mg.save_model(MODEL, tmp_path / "user.toml")


def test_models_with_elements_can_be_pickled():
    assert pickle.loads(pickle.dumps(MODEL)) == MODEL


def test_a_design_variable_moves_several_functions():
    model = mg.Model(
        "two motors",
        [mg.Body("a", 1.0), mg.Body("b", 1.0)],
        [mg.Revolute("p", "ground", "a"), mg.Revolute("r", "a", "b")],
        forces=[mg.forces.Motor("m1", "p", mg.functions.Table((0, 1), (0, 0))), mg.forces.Motor("m2", "r", 0.0)],
        variables=[mg.DesignVariable("torque", {"m1.torque.values.1": 1.0, "m2.torque.value": -2.0}, 3.0)],
    )
    assert (model.value("m1.torque.values.1"), model.value("m2.torque.value")) == (3.0, -6.0)
    assert compiled(model.with_values({"torque": 5.0})).pieces_f[:, 1].tolist() == [0.0, -10.0]
