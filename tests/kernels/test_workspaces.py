"""Workspaces that are borrowed: nobody's else until they are given back, and gone with their record."""

from __future__ import annotations

import gc
from typing import NamedTuple

import numpy as np

from mechgrad.kernels import workspaces
from mechgrad.kernels.workspaces import LARGEST, MOST, borrow, give_back


class Record(NamedTuple):
    ints: np.ndarray


def record():
    return Record(np.arange(5))


def workspace(size=8):
    return (np.zeros(size),)


def test_what_is_lent_is_nobodys_else():
    T = record()
    first, second = borrow(T, ("a",), workspace), borrow(T, ("a",), workspace)
    assert first is not second
    give_back(T, ("a",), first)
    assert borrow(T, ("a",), workspace) is first
    assert borrow(T, ("a",), workspace) is not first


def test_every_kind_and_every_record_has_its_own():
    T, other = record(), record()
    mine = borrow(T, ("a",), workspace)
    give_back(T, ("a",), mine)
    assert borrow(T, ("b",), workspace) is not mine
    assert borrow(other, ("a",), workspace) is not mine
    assert borrow(T, ("a",), workspace) is mine


def test_they_go_with_the_record():
    T = record()
    give_back(T, ("a",), workspace())
    key = id(T.ints)
    assert key in workspaces._kept
    del T
    gc.collect()
    assert key not in workspaces._kept


def test_few_and_small_ones_are_kept():
    T = record()
    give_back(T, ("large",), (np.zeros(LARGEST // 8 + 1),))
    assert borrow(T, ("large",), lambda: ("new",)) == ("new",)
    for _ in range(2 * MOST):
        give_back(T, ("a",), workspace())
    found = [borrow(T, ("a",), lambda: None) for _ in range(2 * MOST)]
    assert sum(x is not None for x in found) == MOST
