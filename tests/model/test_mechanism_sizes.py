"""Sizes of a mechanism as fields of its record."""

from __future__ import annotations

import pytest

from mechgrad.dynamics.system import System
from mechgrad.gallery import five_bar


def test_sizes_are_fields():
    model = five_bar()
    record = System(model).T
    assert (record.n_q, record.n_v) == (model.n_q, model.n_v) == (4, 4)
    assert record.n_atoms == len(record.atoms_i)
    assert record.n_markers == len(record.markers_i)
    assert record.n_holonomic == record.n_constraints == 2  # one loop, closed in the plane
    assert record.n_rows == record.n_all == record.n_constraints + record.n_laws
    assert record.law_width == 1
    assert not record.about_com
    # each name its own entry, all of them in the header
    assert len(set(record.header().values())) == len(record.header())


def test_other_names_are_no_fields():
    with pytest.raises(AttributeError, match="Mechanism has no field 'n_wheels'"):
        System(five_bar()).T.n_wheels  # noqa: B018
