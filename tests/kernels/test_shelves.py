"""Workspaces that are lent: nobody's else until they are given back, and gone with the record they were made for."""

from __future__ import annotations

import gc
from typing import NamedTuple

import numpy as np

from mechgrad.kernels import shelves
from mechgrad.kernels.shelves import LARGEST, MOST, given_back, lent


class Record(NamedTuple):
    ints: np.ndarray


def record():
    return Record(np.arange(5))


def room(size=8):
    return (np.zeros(size),)


def test_what_is_lent_is_nobodys_else():
    T = record()
    first, second = lent(T, ("a",), room), lent(T, ("a",), room)
    assert first is not second
    given_back(T, ("a",), first)
    assert lent(T, ("a",), room) is first
    assert lent(T, ("a",), room) is not first


def test_every_kind_and_every_record_has_its_own():
    T, other = record(), record()
    mine = lent(T, ("a",), room)
    given_back(T, ("a",), mine)
    assert lent(T, ("b",), room) is not mine
    assert lent(other, ("a",), room) is not mine
    assert lent(T, ("a",), room) is mine


def test_they_go_with_the_record():
    T = record()
    given_back(T, ("a",), room())
    key = id(T.ints)
    assert key in shelves._shelves
    del T
    gc.collect()
    assert key not in shelves._shelves


def test_few_and_small_ones_are_kept():
    T = record()
    given_back(T, ("large",), (np.zeros(LARGEST // 8 + 1),))
    assert lent(T, ("large",), lambda: ("new",)) == ("new",)
    for _ in range(2 * MOST):
        given_back(T, ("a",), room())
    found = [lent(T, ("a",), lambda: None) for _ in range(2 * MOST)]
    assert sum(x is not None for x in found) == MOST
