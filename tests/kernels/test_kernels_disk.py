"""Machine code on disk: damaged files are rebuilt, folders of strangers left alone, waiting is explained."""

from __future__ import annotations

import io
import json
import os
import pickle
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest
from numba.core import config as numba_config

from mechgrad.inverse.kernels.tree_torques import torques_one
from mechgrad.kernels import jit
from mechgrad.kernels.disk import cache, files, locks, notices, place

# ------------------------------------------------------------------------------------------------------- places


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary directory of its own, and a user cache that cannot be written to."""
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    monkeypatch.setenv("MECHGRAD_CACHE_DIR", str(blocked))
    monkeypatch.delenv("MECHGRAD_QUIET", raising=False)
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    return shared


def usual(temporary: Path) -> Path:
    return temporary / f"mechgrad-{os.getuid()}"


def test_the_fallback_is_private_and_used_again(temporary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = place.choose("0123456789abcdef")
    assert chosen == usual(temporary) / "0123456789abcdef"
    assert stat.S_IMODE(chosen.parent.stat().st_mode) == 0o700
    assert place.choose("0123456789abcdef") == chosen
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o750, 0o701])
def test_a_folder_that_others_can_enter_is_refused(temporary: Path, mode: int, capsys: Any) -> None:
    usual(temporary).mkdir()
    usual(temporary).chmod(mode)
    planted = usual(temporary) / "0123456789abcdef"
    planted.mkdir()
    chosen = place.choose("0123456789abcdef")
    assert chosen != planted
    assert chosen.parent.parent == temporary
    assert stat.S_IMODE(chosen.parent.stat().st_mode) == 0o700
    said = capsys.readouterr().err
    assert f"is open to others (mode {mode:04o}); machine code from it is not run" in said
    assert "MECHGRAD_CACHE_DIR" in said


def test_a_link_and_a_folder_of_somebody_else_are_refused(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    usual(temporary).symlink_to(elsewhere)
    assert elsewhere not in place.choose("0123456789abcdef").resolve().parents
    assert "is a link or no folder" in capsys.readouterr().err
    usual(temporary).unlink()
    other = os.getuid() + 1
    (temporary / f"mechgrad-{other}").mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: other)
    assert (temporary / f"mechgrad-{other}") not in place.choose("0123456789abcdef").parents
    assert f"belongs to user {other - 1}" in capsys.readouterr().err


def test_cleaning_takes_only_what_is_ours(tmp_path: Path) -> None:
    current, stale = tmp_path / "0123456789abcdef", tmp_path / "fedcba9876543210"
    foreign = [tmp_path / "my_other_project", tmp_path / "0123456789abcdeg", tmp_path / "short"]
    for folder in (current, stale, *foreign):
        folder.mkdir()
        (folder / "file").write_text("x")
    assert place.clean(current) == [stale]
    assert not stale.exists()
    assert all((folder / "file").exists() for folder in (current, *foreign))


# -------------------------------------------------------------------------------------------------------- files


def twice(x: float) -> float:
    return 2.0 * x


def dispatcher(folder: Path) -> Any:
    """A small kernel, kept in this folder, as a new process would see it."""
    compiled = numba.njit(twice)
    before = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = str(folder)
    try:
        cache.keep(compiled, folder, "twice")
    finally:
        numba_config.CACHE_DIR = before
    return compiled


def kept(folder: Path, suffix: str) -> Path:
    (found,) = folder.rglob(f"*{suffix}")
    return found


class Mine:
    """A pickle that would be noticed: it makes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize(
    "damage", ["cut", "bit", "empty", "text", "plain numba", "foreign", "sealed nonsense", "folder"]
)
def test_damaged_and_foreign_files_are_rebuilt(tmp_path: Path, suffix: str, damage: str) -> None:
    assert dispatcher(tmp_path)(3.0) == 6.0
    path = kept(tmp_path, suffix)
    good = path.read_bytes()
    warm = dispatcher(tmp_path)
    assert warm(3.0) == 6.0
    assert sum(warm.stats.cache_hits.values()) == 1
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        path.write_bytes(
            {
                "cut": good[: len(good) // 2],
                "bit": bytes(flipped),
                "empty": b"",
                "text": b"not a pickle",
                "plain numba": good[len(files.MAGIC) + 32 :],
                "foreign": pickle.dumps(Mine(tmp_path / "was run")),
                "sealed nonsense": files.sealed(b"\x80\x04garbage"),
            }[damage]
        )
    again = dispatcher(tmp_path)
    assert again(3.0) == 6.0
    assert sum(again.stats.cache_misses.values()) == 1
    assert not (tmp_path / "was run").exists()
    if damage != "folder":  # where nothing can be written, every process compiles for itself
        last = dispatcher(tmp_path)
        assert last(3.0) == 6.0
        assert sum(last.stats.cache_hits.values()) == 1


# -------------------------------------------------------------------------------------------------------- locks

THREE = """
import sys, time, numba
from numba.core import config
from pathlib import Path
from mechgrad.kernels.disk import cache, notices

folder = Path(sys.argv[1])

@numba.njit
def slow(x):
    return x + 1.0

compiler = slow._compiler.compile
def compile(*args):
    (folder / f"compiled-{sys.argv[2]}").touch()
    time.sleep(1.5)
    return compiler(*args)

slow._compiler.compile = compile
config.CACHE_DIR = str(folder)
cache.keep(slow, folder, "slow")
notices.watch("slow", folder)
(folder / f"ready-{sys.argv[2]}").touch()
while not (folder / "go").exists():
    time.sleep(0.01)
assert slow(1.0) == 2.0
"""


def start(program: str, folder: Path, number: int) -> subprocess.Popen[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MECHGRAD", "NUMBA"))}
    place_of_source = {"PYTHONPATH": str(jit.PACKAGE.parent)}
    script = folder / "program.py"
    script.write_text(program)
    return subprocess.Popen(
        [sys.executable, str(script), str(folder), str(number)],
        env=inherited | place_of_source, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_three_cold_processes_compile_once(tmp_path: Path) -> None:
    running = [start(THREE, tmp_path, number) for number in range(3)]
    while len(list(tmp_path.glob("ready-*"))) < 3:
        assert all(process.poll() is None for process in running)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    said = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], said
    assert len(list(tmp_path.glob("compiled-*"))) == 1
    # two, unless a busy machine woke one of them after the second and a half that compilation takes here
    assert 1 <= sum("another process compiles slow for this machine; waiting for it" in text for text in said) <= 2


DYING = """
import os, sys, time
from pathlib import Path
from mechgrad.kernels.disk.locks import FileLock

lock = FileLock(Path(sys.argv[1]) / "lock")
assert lock.acquire(1.0, print)
(Path(sys.argv[1]) / "held").touch()
time.sleep(60.0)
"""


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    holder = start(DYING, tmp_path, 0)
    try:
        while not (tmp_path / "held").exists():
            assert holder.poll() is None
            time.sleep(0.01)
        lock, waited = locks.FileLock(tmp_path / "lock"), []
        assert not lock.acquire(0.2, lambda: waited.append(1))
        assert waited == [1]
    finally:
        holder.kill()
        holder.communicate()
    assert lock.acquire(5.0, lambda: None)
    assert lock.acquire(0.0, lambda: None), "held already"
    lock.release()
    lock.release()


def test_a_failed_compilation_lets_go(tmp_path: Path) -> None:
    compiled = dispatcher(tmp_path)

    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    compiled._compiler.compile = interrupted
    with pytest.raises(KeyboardInterrupt):
        compiled(3.0)
    lock = locks.FileLock(tmp_path / "locks" / "twice.lock")
    assert lock.acquire(0.0, lambda: None)
    lock.release()


def test_without_locks_kernels_are_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("no folder")
    assert dispatcher(tmp_path)(3.0) == 6.0


# ------------------------------------------------------------------------------------------------------ notices
NAME = "mechgrad.inverse.kernels.tree_torques.torques_one"


def compilation_of(function: Any) -> SimpleNamespace:
    """What Numba tells its listeners."""
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


@pytest.fixture
def seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Seconds of kernels that this machine and the package know."""
    monkeypatch.delenv("MECHGRAD_QUIET", raising=False)
    shipped = {NAME: 4.0, "one": 10.0, "two": 20.0, "quick": 0.1}
    (tmp_path / "shipped.json").write_text(json.dumps(shipped))
    monkeypatch.setattr(notices, "SHIPPED", tmp_path / "shipped.json")
    monkeypatch.setattr(notices, "_names", dict.fromkeys(shipped, tmp_path / "seconds.json"))
    return tmp_path / "seconds.json"


def test_expected_seconds_come_from_this_machine_or_from_its_pace(seconds: Path) -> None:
    assert notices.expected("one") == 10.0
    notices.learn("two", 60.0)
    notices.learn("quick", 9.0)  # too short a time to know the pace by
    assert notices.expected("two") == 60.0
    assert notices.expected("one") == 30.0
    seconds.write_text("[1, 2")
    assert notices.expected("one") == 10.0
    seconds.write_text('{"one": "nan", "two": -1, "quick": [1]}')
    assert notices.expected("one") == 10.0


def test_kernels_have_their_seconds() -> None:
    """Measured, not guessed; a few new ones may wait until the table is written again (CONTRIBUTING.md)."""
    shipped, kernels = notices._table(notices.SHIPPED), set(jit.ENTRIES)
    assert len(kernels & set(shipped)) > 0.8 * len(kernels), sorted(kernels - set(shipped))
    assert 100.0 < sum(shipped.values()) < 1000.0


def test_one_line_for_the_first_kernel_and_one_for_each_long_one(seconds: Path, capsys: Any) -> None:
    teller = notices.Teller()
    for name in ("one", "quick", "two"):
        teller(name, None)
        teller(name, 12.0)
    first, second = capsys.readouterr().err.splitlines()
    assert first == (
        "mechgrad: compiling for this machine, once: one, about 10 s; `mechgrad warm` compiles everything ahead ..."
    )
    assert second == "mechgrad: compiling for this machine, once: two, about 20 s; 24 s so far ..."


def test_a_clock_on_terminals(seconds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(notices, "TICK", 0.02)
    teller = notices.Teller()
    teller("one", None)
    time.sleep(0.2)
    teller("one", 0.2)
    shown = screen.getvalue()
    assert shown.count(" of about 10 s") > 1
    assert shown.endswith("\r")
    time.sleep(0.1)
    assert screen.getvalue() == shown, "the clock goes on"


def test_quiet_is_quiet(seconds: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MECHGRAD_QUIET", "1")
    notices.Teller()("one", None)
    place.said("anything")
    assert capsys.readouterr() == ("", "")


def test_only_our_entries_are_reported_and_with_their_duration(seconds: Path) -> None:
    reports: list[tuple[str, float | None]] = []
    notice = notices.CompileNotice(lambda name, took: reports.append((name, took)))
    for function in (torques_one.py_func, twice):
        notice.on_start(compilation_of(function))
        notice.on_end(compilation_of(function))
    assert [name for name, _ in reports] == [NAME, NAME]
    assert reports[0][1] is None
    assert reports[1][1] is not None
    assert reports[1][1] >= 0.0
    assert NAME in json.loads(seconds.read_text())
