"""Compilation and its cache: an edit anywhere is seen, unchanged code starts warm, a user's settings stay theirs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import mechgrad as mg
from mechgrad.gallery import arm7
from mechgrad.kernels import host, jit

# Only the one-state torques are compiled here: some seconds per empty cache.
PENDULUM = """
import json
import numba

numba.config.CACHE_DIR = "the user's own"

import mechgrad as mg
from mechgrad.inverse.kernels.tree_torques import torques_one
from mechgrad.kernels import jit

bob = mg.Body("bob", mass=2.0, com=(0.0, 0.0, -1.0))
model = mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0.0, 1.0, 0.0))])
tau = mg.inverse_dynamics(model, [0.5])
print(json.dumps({
    "package": str(jit.PACKAGE),
    "tau": tau.tolist(),
    "hits": sum(torques_one.stats.cache_hits.values()),
    "misses": sum(torques_one.stats.cache_misses.values()),
    "user_cache": numba.config.CACHE_DIR,
    "our_cache": str(jit.CACHE_DIR),
}))
"""
TORQUE = 2.0 * 9.81 * 0.479425538604203  # m g l sin 0.5

# `dot` is called by torques.py, two folders away; its last definition wins.
DOUBLED_DOT = """

@inlined
def dot(a, b):
    return 2.0 * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
"""


def copy_package(to: Path) -> Path:
    return shutil.copytree(jit.PACKAGE, to / "mechgrad", ignore=shutil.ignore_patterns("__pycache__"))


def run_pendulum(folder: Path, **environment: str) -> tuple[dict[str, Any], str]:
    """The pendulum in a new process, with the package and the cache that lie in `folder`; (answer, stderr)."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MECHGRAD", "NUMBA"))}
    place = {"PYTHONPATH": str(folder), "MECHGRAD_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", PENDULUM],
        env=inherited | place | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_edits_are_seen_and_unchanged_code_starts_warm(tmp_path: Path) -> None:
    """One story, because every chapter costs seconds: cold, warm, then a callee in another file is edited."""
    package = copy_package(tmp_path)

    cold, said = run_pendulum(tmp_path)
    assert cold["package"] == str(package)
    assert cold["tau"] == pytest.approx([TORQUE], rel=1e-14)
    assert (cold["hits"], cold["misses"]) == (0, 1)
    assert said.count("mechgrad: compiling for this machine") == 1
    assert said.count("\n") == 1

    warm, said = run_pendulum(tmp_path)
    assert warm["tau"] == cold["tau"]
    assert warm["hits"] > 0
    assert warm["misses"] == 0
    assert warm["our_cache"] == cold["our_cache"]
    assert said == ""

    for path in [*Path(cold["our_cache"]).rglob("*.nbi"), *Path(cold["our_cache"]).rglob("*.nbc")]:
        path.write_bytes(b"damaged" + path.read_bytes()[7:])
    mended, _ = run_pendulum(tmp_path)
    assert (mended["tau"], mended["misses"]) == (cold["tau"], 1)
    assert run_pendulum(tmp_path)[0]["misses"] == 0

    vec3 = package / "kernels" / "vec3.py"
    vec3.write_text(vec3.read_text() + DOUBLED_DOT)
    edited, said = run_pendulum(tmp_path, MECHGRAD_QUIET="1")
    assert edited["tau"] == pytest.approx([2.0 * TORQUE], rel=1e-14)
    assert edited["misses"] == 1
    assert edited["our_cache"] != cold["our_cache"]
    assert said == ""

    for run in (cold, warm, edited):
        assert run["user_cache"] == "the user's own"
        assert Path(run["our_cache"]).parent == tmp_path / "cache"
        assert list(Path(run["our_cache"]).rglob("*.nbi")), "nothing was written to the cache"


def test_hash_depends_on_every_source_of_machine_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = copy_package(tmp_path)
    seen = {jit.source_hash(package)}
    assert seen == {jit.source_hash()}, "the place of the package must not matter"
    sources = jit.compiled_sources(package)
    assert package / "model" / "primitives" / "rows.py" in sources  # numbers that kernels import
    with monkeypatch.context() as patch:
        patch.setattr(jit, "compiled_sources", lambda package: sources)  # comments import nothing: not looked up again
        for path in sources:
            path.write_text(path.read_text() + "\n# edited\n")
            seen.add(jit.source_hash(package))
    assert len(seen) == len(sources) + 1
    assert jit.source_hash(package) in seen
    (package / "kernels" / "new.py").write_text("from mechgrad.model import newer\n")
    seen.add(jit.source_hash(package))
    (package / "model" / "newer.py").write_text("WIDTH = 3\n")
    seen.add(jit.source_hash(package))
    assert len(seen) == len(sources) + 3
    others = set(package.rglob("*.py")) - set(jit.compiled_sources(package))
    assert len(others) > 100
    for path in others:
        path.write_text(path.read_text() + "\n# edited\n")
    assert jit.source_hash(package) in seen


def test_machine_code_comes_from_hashed_sources_only() -> None:
    """Whatever a compiled function can see was defined in a hashed file."""
    hashed = {".".join(path.relative_to(jit.PACKAGE.parent).with_suffix("").parts) for path in jit.compiled_sources()}
    for module in [m for name, m in sys.modules.items() if name.startswith("mechgrad.") and m is not None]:
        for name, value in vars(module).items():
            if isinstance(value, Dispatcher):
                home = value.py_func.__module__
                assert home in hashed, f"{module.__name__}.{name} is compiled in {home}"
                for seen in value.py_func.__code__.co_names:
                    owner = getattr(value.py_func.__globals__.get(seen), "__module__", None) or home
                    assert owner in hashed or not owner.startswith("mechgrad"), f"{home}.{name} sees {seen} of {owner}"


def test_hash_is_of_text_not_of_time(tmp_path: Path) -> None:
    package = copy_package(tmp_path)
    before = jit.source_hash(package)
    for path in package.rglob("*.py"):
        os.utime(path, (1.0, 1.0))
    (package / "notes.txt").write_text("not a source")
    assert jit.source_hash(package) == before


def test_every_entry_is_cached_in_our_directory() -> None:
    assert "mechgrad.inverse.kernels.tree_torques.torques_one" in jit.ENTRIES
    for name, kernel in jit.ENTRIES.items():
        assert Path(kernel._cache.cache_path).is_relative_to(jit.CACHE_DIR), name


LANES_PROGRAM = """
import json
import numpy as np
import mechgrad as mg
from mechgrad.gallery import arm7
from mechgrad.kernels.lanes import LANES

x = np.linspace(-1.0, 1.0, 11 * 7).reshape(11, 7)
print(json.dumps({"lanes": LANES, "tau": mg.inverse_dynamics(arm7(), x, x, x).tolist()}))
"""


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_every_lane_width_gives_the_same_numbers(lanes: int) -> None:
    """Eleven samples: whole blocks and a rest at every width."""
    x = np.linspace(-1.0, 1.0, 11 * 7).reshape(11, 7)
    done = subprocess.run(
        [sys.executable, "-c", LANES_PROGRAM],
        env=os.environ | {"MECHGRAD_LANES": str(lanes), "PYTHONPATH": str(jit.PACKAGE.parent)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    answer = json.loads(done.stdout)
    assert answer["lanes"] == lanes
    np.testing.assert_allclose(answer["tau"], mg.inverse_dynamics(arm7(), x, x, x), rtol=1e-13, atol=1e-13)


def test_an_impossible_lane_width_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MECHGRAD_LANES", "3")
    with pytest.raises(ValueError, match="MECHGRAD_LANES is '3'; it must be one of 1, 4, 8"):
        host.host_lanes()
