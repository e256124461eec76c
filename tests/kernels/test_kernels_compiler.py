"""Passes are compiled into their entries and nowhere else; where Numba is told otherwise, it compiles as ever."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from kernels.test_kernels_jit import TORQUE, copy_package, run_pendulum

from mechgrad.kernels import compiler, jit
from mechgrad.kernels.compiler import EntryLibrary, InnerLibrary, numba_is_as_expected


@jit.inner
def squared(x):
    return x * x


@jit.inner
def fourth_power(x):
    return squared(squared(x))


@numba.njit(pipeline_class=compiler.EntryCompiler, error_model="numpy", fastmath=jit.FASTMATH, nogil=True)
def sum_of_fourth_powers(numbers):
    total = 0.0
    for x in numbers:
        total += fourth_power(x) + squared(x)
    return total


@numba.njit
def of_a_user(x):
    return fourth_power(x) + 1.0


def test_the_installed_numba_was_tried() -> None:
    """A new series of Numba is tried by all of these tests before its number is entered."""
    assert numba.version_info[:2] in compiler.NUMBA_SERIES
    assert compiler.LEAN


def test_passes_have_no_machine_code_and_stand_in_entries_once() -> None:
    numbers = np.array([1.0, 2.0, 3.0])
    assert sum_of_fourth_powers(numbers) == 98.0 + 14.0
    (entry,) = sum_of_fourth_powers.overloads.values()
    assert type(entry.library) is EntryLibrary
    for dispatcher in (squared, fourth_power):
        (inner,) = dispatcher.overloads.values()
        assert type(inner.library) is InnerLibrary
        assert inner.library.get_pointer_to_function(inner.fndesc.llvm_func_name) == 0
    defined = [f.name for f in entry.library._final_module.functions if not f.is_declaration]
    assert len(defined) == len(set(defined))


def test_a_function_of_a_user_may_call_a_pass() -> None:
    assert of_a_user(2.0) == 17.0


def test_other_series_and_settings_are_compiled_as_numba_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not numba_is_as_expected((0, 999))
    for name, value in {"OPT": 0, "DEBUGINFO_DEFAULT": 1, "LOOP_VECTORIZE": 0, "DUMP_LLVM": 1}.items():
        with monkeypatch.context() as patch:
            patch.setattr(numba.config, name, value)
            assert not numba_is_as_expected(), name
    assert numba_is_as_expected()


def test_told_otherwise_numba_gives_the_same_answer_elsewhere(tmp_path) -> None:
    """In a folder of its own, so that code for one setting never serves the other."""
    copy_package(tmp_path)
    usual, _ = run_pendulum(tmp_path)
    told, _ = run_pendulum(tmp_path, NUMBA_OPT="1")
    assert told["tau"] == pytest.approx(usual["tau"], rel=1e-15)
    assert told["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert told["misses"] == 1
    assert told["our_cache"] != usual["our_cache"]
