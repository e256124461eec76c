import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mechgrad.model import Body, Point, Vector


def rod(mass, length):
    return Body("rod", mass, com=(length / 2, 0, 0), inertia=(0, mass * length**2 / 12, mass * length**2 / 12))


def test_inertia_is_stored_as_a_matrix_from_any_of_its_three_forms():
    assert Body("b").inertia.tolist() == np.zeros((3, 3)).tolist()
    assert Body("b", inertia=[1, 2, 3]).inertia.tolist() == np.diag([1.0, 2.0, 3.0]).tolist()
    full = [[2, 0.1, 0.2], [0.1, 3, 0.3], [0.2, 0.3, 4]]
    assert Body("b", inertia=full).inertia.tolist() == full


def test_integers_lists_tuples_and_arrays_become_read_only_doubles():
    for com in ((0, 0, 1), [0, 0, 1], np.array([0, 0, 1]), np.array([0, 0, 1], np.float32)):
        body = Body("b", mass=2, com=com)
        assert body.com.dtype == np.float64
        assert type(body.mass) is float
        assert not body.com.flags.writeable
        assert not body.inertia.flags.writeable


def test_complex_numbers_are_kept_only_where_they_were_given():
    body = Body("b", mass=2 + 1e-30j, com=(0, 1j, 0))
    assert body.mass.imag == 1e-30
    assert body.com.dtype == np.complex128
    assert body.inertia.dtype == np.float64


def test_complex_bodies_are_judged_by_their_real_part():
    assert Body("b", mass=0 - 1j, inertia=np.array([1, 1, 2]) + 5j).mass == -1j


def test_a_slender_rod_sits_on_the_border_and_passes():
    assert rod(3.0, 0.7).inertia[0, 0] == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_a_rod_in_any_direction_passes_despite_rounding(seed):
    p = np.random.default_rng(seed).normal(size=3)
    inertia = 2.0 / 12 * (p @ p * np.eye(3) - np.outer(p, p))
    assert_allclose(Body("b", 2.0, inertia=inertia).inertia, inertia, rtol=1e-15)


def test_rounded_cad_data_pass_and_larger_violations_do_not():
    Body("b", 1, inertia=(1.0, 1.0, 2.0 + 1e-9))
    with pytest.raises(ValueError, match="principal moments"):
        Body("b", 1, inertia=(1.0, 1.0, 2.0 + 1e-8))


def test_asymmetry_within_rounding_is_averaged_away_and_stays_put():
    given = np.diag([1.0, 1.0, 1.0])
    given[0, 1] = 0.1
    given[1, 0] = 0.1 + 1e-12
    once = Body("b", 1, inertia=given)
    assert once.inertia[0, 1] == once.inertia[1, 0]
    assert Body("b", 1, inertia=once.inertia) == once


def test_virtual_bodies_have_neither_mass_nor_inertia():
    assert Body("virtual").mass == 0.0


def test_equality_is_by_exact_numbers_and_type():
    assert rod(1, 2) == rod(1.0, 2.0)
    assert rod(1, 2) != rod(1 + 1e-15, 2)
    assert Point("p", "b", (1, 0, 0)) != Vector("p", "b", (1, 0, 0))
    assert hash(rod(1, 2)) == hash(rod(1, 2))


def test_bodies_survive_copy_and_pickle():
    assert copy.deepcopy(rod(1, 2)) == rod(1, 2) == pickle.loads(pickle.dumps(rod(1, 2)))


def test_repr_is_one_line_without_defaults():
    assert repr(Body("b", 2, com=(0, 0.5, 0))) == "Body('b', mass=2, com=(0, 0.5, 0))"
    assert "\n" not in repr(Body("b", 2, inertia=(1, 1, 1)))


def test_markers_share_the_name_local():
    assert Point("p", "b", (1, 2, 3)).local.tolist() == [1, 2, 3]
    assert Vector("v", "b", (0, 0, 4)).local.tolist() == [0, 0, 4]
