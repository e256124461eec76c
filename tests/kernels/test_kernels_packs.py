"""Machine code that comes with the package: it runs where it fits; where anything differs, kernels are compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from kernels.test_kernels_jit import DOUBLED_DOT, TORQUE, copy_package, run_pendulum

from mechgrad.kernels.disk import packs
from mechgrad.kernels.host import LANES

ROOT = Path(__file__).resolve().parents[2]
LEVEL = packs.host_level(LANES)
pytestmark = pytest.mark.skipif(LEVEL is None, reason="packs are for x86-64 with AVX2 or AVX-512")


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of the kernels of torques of one state, for this processor."""
    out = tmp_path_factory.mktemp("packs")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MECHGRAD", "NUMBA"))}
    command = [sys.executable, ROOT / "tools" / "build_packs.py", out, "--level", LEVEL, "--only", "torques, one state"]
    done = subprocess.run(command, env=inherited | {"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["kernels"] >= 1
    assert told["missing"] == []
    return out


@pytest.fixture
def installed(pack: Path, tmp_path: Path) -> Path:
    """A copy of the package with the pack, in another place."""
    package = copy_package(tmp_path)
    folder = package / "kernels" / "packs" / LEVEL
    folder.mkdir(parents=True)
    for path in (pack / LEVEL).iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return tmp_path


def manifest(folder: Path) -> Path:
    return folder / "mechgrad" / "kernels" / "packs" / str(LEVEL) / packs.MANIFEST


def test_where_it_fits_nothing_is_compiled(installed: Path) -> None:
    """In an empty cache, and nothing is written to it."""
    answer, said = run_pendulum(installed)
    assert answer["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert (answer["misses"], said) == (0, "")
    assert answer["hits"] > 0
    assert not list(Path(answer["our_cache"]).rglob("*.nbi"))


def test_a_cache_that_cannot_be_written_to_is_not_needed(installed: Path) -> None:
    answer, _ = run_pendulum(installed, MECHGRAD_CACHE_DIR="/proc/none", MECHGRAD_QUIET="1")
    assert answer["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert answer["misses"] == 0


# A processor that calls itself something else, as machines do that packs were not built on.
RENAMED = """
import llvmlite.binding
llvmlite.binding.get_host_cpu_name = lambda: "btver2"
"""
# A processor without one of the instructions of every level.
POORER = """
import llvmlite.binding
_all = llvmlite.binding.get_host_cpu_features
def _fewer():
    found = _all()
    found["bmi2"] = False
    return found
llvmlite.binding.get_host_cpu_features = _fewer
"""
# Files of the package can be read only: asked of the process itself, since root may write anywhere.
READ_ONLY = """
import os, sys
_package = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mechgrad")
_writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
def _refuse(event, given):
    if event == "open":
        path, written = given[0], given[2] & _writes
    elif event in ("os.mkdir", "os.rename", "os.remove"):
        path, written = given[0], True
    else:
        return
    if written and isinstance(path, (str, bytes)) and os.fsdecode(os.path.abspath(path)).startswith(_package):
        raise PermissionError(13, "Permission denied", path)
sys.addaudithook(_refuse)
"""


def before_all(folder: Path, code: str) -> None:
    """Have this run at the beginning of every Python process whose path begins with the folder."""
    (folder / "sitecustomize.py").write_text(code)


def test_a_processor_of_another_name_compiles_nothing(installed: Path) -> None:
    before_all(installed, RENAMED)
    answer, said = run_pendulum(installed)
    assert answer["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert (answer["misses"], said) == (0, "")
    asked = "from numba.core.registry import cpu_target as t; print(t.target_context.codegen().magic_tuple())"
    environment = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run([sys.executable, "-c", asked], env=environment, capture_output=True, text=True, check=True)
    assert "btver2" in done.stdout, "the processor did not get its other name"


def test_a_processor_without_an_instruction_compiles(installed: Path) -> None:
    before_all(installed, POORER)
    answer, said = run_pendulum(installed)
    assert answer["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert answer["misses"] == 1
    assert "no machine code for this processor" in said


def test_an_installation_that_can_only_be_read_compiles_nothing(installed: Path) -> None:
    before_all(installed, READ_ONLY)
    answer, said = run_pendulum(installed)
    assert answer["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert (answer["misses"], said) == (0, "")
    assert not list((installed / "mechgrad").rglob("__pycache__")), "files were written all the same"
    (manifest(installed).parent / packs.MANIFEST).unlink()
    answer, said = run_pendulum(installed)
    assert answer["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert (answer["misses"], "cannot be read" in said) == (1, True)


def test_edited_sources_are_compiled(installed: Path) -> None:
    vec3 = installed / "mechgrad" / "kernels" / "vec3.py"
    vec3.write_text(vec3.read_text() + DOUBLED_DOT)
    answer, said = run_pendulum(installed)
    assert answer["tau"] == pytest.approx([2.0 * TORQUE], rel=1e-14)
    assert answer["misses"] == 1
    assert "machine code that comes with mechgrad is of other sources; kernels are compiled instead" in said


@pytest.mark.parametrize("what", ["numba", "python", "llvmlite", "numpy"])
def test_other_makes_are_compiled(installed: Path, what: str) -> None:
    path = manifest(installed)
    path.write_text(json.dumps(json.loads(path.read_text()) | {what: "0.1"}))
    answer, said = run_pendulum(installed)
    assert answer["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert answer["misses"] == 1
    assert f"is for {what} 0.1 (here: " in said


def test_damaged_files_count_as_none(installed: Path) -> None:
    code = sorted(manifest(installed).parent.glob("*torques_one.code"))
    assert code
    for path in code:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    answer, _ = run_pendulum(installed)
    assert answer["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert answer["misses"] == 1


def test_a_damaged_manifest_counts_as_none(installed: Path) -> None:
    manifest(installed).write_text("{")
    answer, said = run_pendulum(installed)
    assert answer["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert (answer["misses"], "cannot be read" in said) == (1, True)


@pytest.mark.parametrize("told", [{"NUMBA_OPT": "0"}, {"NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_CPU_NAME": "generic"}])
def test_who_told_numba_how_to_compile_is_heard(installed: Path, told: dict[str, str]) -> None:
    answer, said = run_pendulum(installed, MECHGRAD_LANES="1", **told)
    assert answer["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert answer["misses"] == 1
    assert "Numba was told how to compile" in said


def test_another_number_of_lanes_is_compiled(installed: Path) -> None:
    answer, said = run_pendulum(installed, MECHGRAD_LANES="1")
    assert answer["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert answer["misses"] == 1
    assert "no machine code for this processor and 1 lanes" in said


def test_a_processor_without_a_feature_gets_no_code_that_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    offered = dict.fromkeys(packs.LEVELS["x86-64-v4"][1], True)
    monkeypatch.setattr(packs.llvm, "get_host_cpu_features", lambda: offered)
    assert packs.host_level(8) == "x86-64-v4"
    assert packs.host_level(4) == "x86-64-v3"
    offered["avx512vl"] = False
    assert packs.host_level(8) is None
    assert packs.host_level(4) == "x86-64-v3"
    offered["fma"] = False
    assert packs.host_level(4) is None


def test_a_package_without_packs_says_nothing(tmp_path: Path) -> None:
    assert packs.fitting(tmp_path / "none", "0", LANES) == (None, "")
    (tmp_path / "packs").mkdir()
    found, why = packs.fitting(tmp_path / "packs", "0", LANES)
    assert found is None
    assert f"no machine code of level {LEVEL}" in why
