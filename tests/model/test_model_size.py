"""Large trees: set-up in O(n), and sizes that are judged before any memory is taken."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import memory
from mechgrad.errors import TooLargeError
from mechgrad.kinematics.batch import tree_of
from mechgrad.model.structure import C_DIAGONAL, C_PAIR, C_PARENT

GIB = 2.0**30


def chain(n: int, reverse: bool = False) -> mg.Model:
    """A zigzag of n links about the origin."""
    bodies = [mg.Body(f"b{k}", 1.0 + 0.1 * (k % 3), (0.05, 0, 0.02), (0.01, 0.02, 0.02)) for k in range(n)]
    joints = [
        mg.Revolute(
            f"j{k}", f"b{k - 1}" if k else "ground", f"b{k}", (0.1 if k % 2 else -0.1, 0, 0),
            axis=(0, 1, 0) if k % 2 else (1, 0.2, 0),
        )
        for k in range(n)
    ]  # fmt: skip
    return mg.Model("chain", bodies[::-1] if reverse else bodies, joints)


def bush(rng: np.random.Generator, n: int) -> mg.Model:
    """A random tree of joints with one, three, six and no velocities."""
    kinds: list[type[mg.results.Joint]] = [mg.Revolute, mg.Spherical, mg.Floating, mg.Fixed, mg.Prismatic]
    joints = [
        kinds[rng.integers(len(kinds))](
            f"j{k}", f"b{rng.integers(k)}" if k and rng.random() < 0.8 else "ground", f"b{k}"
        )
        for k in range(n)
    ]
    return mg.Model("bush", [mg.Body(f"b{k}", mass=1.0) for k in range(n)], joints)


def peak(call: Callable[[], object]) -> float:
    """Bytes that a call takes at most."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("seed", range(4))
def test_related_pairs_against_a_search(seed: int) -> None:
    """Pattern, pairs and chains against ancestors found one by one, and the order of a CSR matrix."""
    tree = tree_of(bush(np.random.default_rng(seed), 15))
    n = tree.n_v
    chains = [tree.path(int(parent)) for parent in tree.columns_i[:, C_PARENT]]
    related = sorted({(j, j) for j in range(n)} | {p for j in range(n) for i in chains[j] for p in ((i, j), (j, i))})
    assert list(zip(tree.pattern.rows.tolist(), tree.pattern.cols.tolist(), strict=True)) == related
    at = {pair: k for k, pair in enumerate(related)}
    assert len(related) > 3 * n  # deep enough to tell
    assert tree.columns_i[:, C_DIAGONAL].tolist() == [at[j, j] for j in range(n)]
    for j in range(n):
        first = int(tree.columns_i[j, C_PAIR])
        mine = tree.pairs[first : first + len(chains[j])]
        assert mine.tolist() == [[at[i, j], at[j, i]] for i in chains[j]]
        start = int(tree.chain_start[j])
        here = slice(start, start + len(chains[j]) + 1)
        assert tree.chain_positions[here].tolist() == [at[j, i] for i in (j, *chains[j])]
        assert tree.chain_transposed[here].tolist() == [at[i, j] for i in (j, *chains[j])]


def test_set_up_takes_memory_in_proportion() -> None:
    """A chain of 3000 links: model, tree, torques, accelerations and a step; pairs alone would take 70 MB."""
    mg.simulate(chain(2), np.zeros(2), duration=1e-3, step=1e-3)  # compiled beforehand

    def first_step() -> None:
        model = chain(3000)
        q = model.neutral()
        mg.inverse_dynamics(model, q)
        mg.forward_dynamics(model, q)
        mg.simulate(model, q, duration=1e-3, step=1e-3)
        tree = tree_of(model)
        assert "pairs" not in vars(tree.structure)
        assert "pattern" not in vars(tree.structure)

    assert peak(first_step) < 8e3 * 3000  # 8 kB a link; 5 measured


def test_set_up_takes_time_in_proportion() -> None:
    """Twenty times the links take about twenty times as long; quadratic set-up took hundreds of times."""

    def seconds(n: int) -> float:
        model = chain(n)
        begin = time.process_time()
        mg.Model("again", model.bodies, model.joints)
        mg.inverse_dynamics(model, model.neutral())
        return time.process_time() - begin

    seconds(2)
    few = min(seconds(300) for _ in range(3))
    assert min(seconds(6000) for _ in range(2)) < 60 * few


def test_long_chains_without_pairs_move_as_others_do() -> None:
    """The step without matrices is that of equations with them: accelerations by factors."""
    model = chain(12)
    rng = np.random.default_rng(3)
    q, v = rng.uniform(-1, 1, (2, 12))
    a = mg.forward_dynamics(model, q, v, method="factor")
    moved = mg.simulate(model, mg.state(model, q, v), duration=1e-4, step=1e-4)
    assert np.abs(a).max() > 1.0
    np.testing.assert_allclose(moved.a[0], a, rtol=1e-9)
    # trapezoidal steps have matrices; both have errors of order h^3
    other = mg.simulate(model, mg.state(model, q, v), duration=1e-4, step=1e-4, scheme="trapezoidal")
    np.testing.assert_allclose(moved.v[1] - v, other.v[1] - v, rtol=1e-3)


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 1 GiB left."""
    monkeypatch.setattr(memory, "available_memory", lambda: GIB)


def refused(call: Callable[[], object], *texts: str) -> None:
    with pytest.raises(TooLargeError) as error:
        call()
    for text in (*texts, "1 GiB is there"):
        assert text in str(error.value)
    assert isinstance(error.value, MemoryError)
    assert isinstance(error.value, mg.InputError)


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("scheme", [None, "trapezoidal"])
def test_samples_beyond_memory(scheme: str | None) -> None:
    """n_q + 4 n_v numbers and 64 bytes each: (2 + 8) 8 + 64 = 144 B for two hinges."""

    def call() -> object:
        return mg.simulate(chain(2), [0.1, 0.2], duration=1.0, samples=10**9, scheme=scheme)

    assert peak(lambda: refused(call, "134 GiB", "1000000000 instants", "fewer samples")) < 1e7


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("scheme", ["rk4", "trapezoidal"])
def test_steps_beyond_memory(scheme: str) -> None:
    def call() -> object:
        return mg.simulate(chain(2), [0.1, 0.2], duration=1.0, step=1e-12, scheme=scheme)

    assert peak(lambda: refused(call, "131 TiB", "samples=...", "longer step")) < 1e7


def test_steps_that_cannot_be_counted() -> None:
    with pytest.raises(mg.InputError, match=r"more than 1e\+15 steps"):
        mg.simulate(chain(2), [0.1, 0.2], duration=1.0, step=1e-300, samples=2)


@pytest.mark.usefixtures("little")
def test_matrices_beyond_memory() -> None:
    """What is dense by nature says what it needs; what is not goes on."""
    model = chain(20_000)
    q = model.neutral()
    assert np.isfinite(mg.inverse_dynamics(model, q)).all()
    refused(
        lambda: mg.mass_matrix(model, q), "199990000 related pairs of 20000 velocities", "18.6 GiB", "forward_dynamics"
    )
    refused(lambda: mg.inverse_dynamics_derivatives(model, q), "18.6 GiB")
    refused(lambda: mg.forward_dynamics(model, q, method="factor"), "1.49 GiB", "recursive")
    refused(lambda: mg.forward_dynamics_derivatives(model, q), "8.94 GiB")
    refused(lambda: mg.simulate(model, q, duration=1e-3, step=1e-3, scheme="trapezoidal"), "17.9 GiB", "rk4")


@pytest.mark.usefixtures("little")
def test_samples_of_results_beyond_memory() -> None:
    model = chain(3)
    refused(lambda: mg.mass_matrix(model, np.broadcast_to(np.zeros(3), (10**8, 3))), "6.71 GiB", "100000000 samples")
    D = mg.mass_matrix(chain(300), np.zeros((2, 300)))
    wide = mg.terms.Packed(np.broadcast_to(D.values[:1], (10**4, D.values.shape[1])), D.pattern)
    refused(wide.dense, "(10000, 300, 300)", "6.71 GiB", ".sparse()")


def test_available_memory_is_told() -> None:
    there = memory.available_memory()
    assert there is not None
    assert 1e6 < there < 1e15


def test_containers_limit_memory(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """What is left is limit - used + files that are only cached."""
    for name, text in (
        ("memory.max", "3000000"),
        ("memory.current", "2500000"),
        ("memory.stat", "anon 1\ninactive_file 7"),
    ):
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert memory.available_memory() == 500007.0
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available_memory() > 1e6
