"""Remarks of solvers are kept back; our warnings pass, and filters are as they were, also after several threads."""

from __future__ import annotations

import threading
import warnings

import pytest

from mechgrad.errors import MechgradWarning
from mechgrad.optimization.solvers.remarks import without_remarks


def both():
    with without_remarks():
        warnings.warn("theirs", RuntimeWarning, stacklevel=1)
        warnings.warn("ours", MechgradWarning, stacklevel=1)


def test_ours_pass_as_filters_say_and_others_do_not():
    with pytest.warns(MechgradWarning, match="ours") as seen:
        both()
    assert [str(w.message) for w in seen] == ["ours"]
    with pytest.raises(MechgradWarning):  # as the settings of these tests say
        both()


def test_threads_leave_the_filters_as_they_were():
    """The first one in is the first one out: with a block of its own each, the second would restore what it saw."""
    before = list(warnings.filters)
    first_out, second_in = threading.Event(), threading.Event()

    def first():
        with without_remarks():
            second_in.wait(5.0)
        first_out.set()

    def second():
        with without_remarks():
            second_in.set()
            first_out.wait(5.0)
            warnings.warn("theirs", RuntimeWarning, stacklevel=1)

    threads = [threading.Thread(target=f) for f in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(warnings.filters) == before
