"""What goes in and out of the computations: shapes, types, blocks, threads, memory, and errors that say what to do."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from support.oracles import relative_error
from support.random_trees import random_loads, random_state, random_tree

import mechgrad as mg
from mechgrad.gallery import arm7, double_pendulum, human, human_motion
from mechgrad.inverse.spatial import DERIVATIVES, TORQUES
from mechgrad.kernels.host import LANES
from mechgrad.kinematics.batch import BLOCK


@pytest.fixture(scope="module")
def tree() -> mg.Model:
    return random_tree(40, 12)


# -------------------------------------------------------------------------------------------- shapes and types
@pytest.mark.parametrize("nt", [1, 2, LANES - 1, LANES, LANES + 1, 3 * LANES + 5])
def test_every_number_of_samples_gives_the_single_states(tree, nt):
    q, v, a = random_state(tree, nt, nt)
    loads = random_loads(tree, 1)
    wrt = ["b1.mass", "j0.origin.x", "L2.point.y"]
    D = mg.inverse_dynamics_derivatives(tree, q, v, a, loads=loads, wrt=wrt)
    assert D.tau.shape == (nt, tree.n_v)
    assert D.dq.dense().shape == (nt, tree.n_v, tree.n_v)
    for k in range(nt):
        one = mg.inverse_dynamics_derivatives(tree, q[k], v[k], a[k], loads=loads, wrt=wrt)
        assert one.tau.shape == (tree.n_v,)
        for x, y in zip(D._values, one._values, strict=True):
            assert relative_error(x[k], y) < 1e-13


def test_any_layout_and_type_gives_the_same_numbers(tree):
    nt = 2 * LANES + 3
    q, v, a = random_state(tree, 1, nt)
    want = mg.inverse_dynamics(tree, q, v, a)
    frozen = q.copy()
    frozen.setflags(write=False)
    wide = np.zeros((nt, 2 * tree.n_q))
    wide[:, ::2] = q
    for other in (np.asfortranarray(q), frozen, wide[:, ::2], q.tolist(), q[::-1][::-1]):
        assert np.array_equal(mg.inverse_dynamics(tree, other, v, a), want)
    single = mg.inverse_dynamics(tree, q.astype(np.float32), v.astype(np.float32), a.astype(np.float32))
    assert single.dtype == float
    assert relative_error(single, want) < 1e-4
    assert mg.inverse_dynamics(tree, q + 0j, v, a).dtype == complex
    assert relative_error(mg.inverse_dynamics(tree, q + 0j, v, a).real, want) < 1e-13


def test_what_is_left_out_is_zero_and_one_state_serves_all_samples(tree):
    q, v, a = random_state(tree, 1, 5)
    zero = np.zeros_like(v)
    assert np.array_equal(mg.inverse_dynamics(tree, q), mg.inverse_dynamics(tree, q, zero, zero))
    same = mg.inverse_dynamics(tree, q, v[0], a)
    assert np.array_equal(same, mg.inverse_dynamics(tree, q, np.tile(v[0], (5, 1)), a))


def test_no_layout_compiles_a_kernel_again(tree):
    """Each kernel has one signature whatever a user gives; a new one would cost seconds in the middle of a session."""
    for other in (tree, human(), double_pendulum()):
        q, v, a = random_state(other, 2, 9)
        frozen = q.copy()
        frozen.setflags(write=False)
        for state in (q, q[0], frozen, frozen[0], np.asfortranarray(q), q[::2], q.astype(np.float32)):
            lead = slice(None) if np.ndim(state) == 2 else 0
            rest = (v[: len(state)], a[: len(state)]) if np.ndim(state) == 2 else (v[lead], a[lead])
            for loads in (None, random_loads(other, 1)):
                mg.inverse_dynamics(other, state, *rest, loads=loads)
                mg.inverse_dynamics_derivatives(other, state, *rest, loads=loads)
                mg.inverse_dynamics_derivatives(other, state, *rest, loads=loads, wrt=["*.mass"])
    for kernels in (TORQUES, DERIVATIVES):
        for kernel in kernels:
            assert len(kernel.signatures) <= 1


# ---------------------------------------------------------------------------------------------- out and threads
def test_out_is_written_and_returned(tree):
    q, v, a = random_state(tree, 1, 11)
    want = mg.inverse_dynamics(tree, q, v, a)
    out = np.full_like(want, np.nan)
    assert mg.inverse_dynamics(tree, q, v, a, out=out) is not None
    assert np.array_equal(out, want)
    one = np.empty(tree.n_v)
    mg.inverse_dynamics(tree, q[3], v[3], a[3], out=one)
    assert relative_error(one, want[3]) < 1e-13
    D = mg.inverse_dynamics_derivatives(tree, q, v, a, wrt="*.mass")
    again = mg.inverse_dynamics_derivatives(tree, q[::-1].copy(), v, a, wrt="*.mass")
    assert mg.inverse_dynamics_derivatives(tree, q, v, a, wrt="*.mass", out=again) is again
    for x, y in zip(D._values, again._values, strict=True):
        assert np.array_equal(x, y)
    M = mg.mass_matrix(tree, q)
    other = mg.mass_matrix(tree, q[::-1].copy())
    assert mg.mass_matrix(tree, q, out=other) is other
    assert np.array_equal(M.values, other.values)


@pytest.mark.parametrize("bad", [np.empty((11, 3)), np.empty((11, 1000))[:, ::2], [0.0], np.empty((11, 9), np.float32)])
def test_an_out_that_cannot_be_written_is_refused(tree, bad):
    q, v, a = random_state(tree, 1, 11)
    with pytest.raises(mg.InputError, match=r"out has .*C-contiguous"):
        mg.inverse_dynamics(tree, q, v, a, out=bad)


def test_out_of_other_parameters_is_refused(tree):
    q, v, a = random_state(tree, 1, 3)
    D = mg.inverse_dynamics_derivatives(tree, q, v, a, wrt="b1.mass")
    with pytest.raises(mg.InputError, match="same wrt"):
        mg.inverse_dynamics_derivatives(tree, q, v, a, wrt="b2.mass", out=D)


def test_threads_and_blocks_change_nothing():
    model = arm7()
    nt = 2 * BLOCK + 37
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1, 1, (3, nt, model.n_v))
    want = mg.inverse_dynamics(model, q, v, a)
    assert np.array_equal(mg.inverse_dynamics(model, q, v, a, threads=2), want)
    assert np.array_equal(mg.inverse_dynamics(model, q, v, a, threads=0), want)
    assert np.array_equal(mg.inverse_dynamics(model, np.asfortranarray(q), v, a), want)
    D1, D2 = (mg.inverse_dynamics_derivatives(model, q, v, a, wrt="*.mass", threads=t) for t in (1, 2))
    for x, y in zip(D1._values, D2._values, strict=True):
        assert np.array_equal(x, y)
    assert np.array_equal(mg.forward_dynamics(model, q, v, want, threads=2), mg.forward_dynamics(model, q, v, want))
    with pytest.raises(mg.InputError, match="threads is -1"):
        mg.inverse_dynamics(model, q, v, a, threads=-1)


def test_a_million_samples_need_little_beside_the_output():
    """Also when every input must be converted: float32, read-only, every second row."""
    model = arm7()
    nt = 1_000_000
    wave = np.linspace(0, 1, 2 * nt * 7, dtype=np.float32).reshape(2 * nt, 7)[::2]
    wave.setflags(write=False)
    out = np.empty((nt, 7))
    mg.inverse_dynamics(model, wave[:9], wave[:9], wave[:9])
    tracemalloc.start()
    try:
        mg.inverse_dynamics(model, wave, wave, wave, out=out)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4e6, f"{peak / 1e6:.1f} MB beside an output of {out.nbytes / 1e6:.0f} MB"
    k = 777_777
    assert relative_error(out[k], mg.inverse_dynamics(model, wave[k], wave[k], wave[k])) < 1e-12


# -------------------------------------------------------------------------------------------------------- errors
def test_wrong_shapes_say_what_is_needed(tree):
    q, v, a = random_state(tree, 1)
    n_q, n_v = tree.n_q, tree.n_v
    with pytest.raises(mg.InputError, match=rf"q has shape \({n_q - 1},\).*\({n_q},\) or \(nt, {n_q}\).*q_names"):
        mg.inverse_dynamics(tree, q[:-1], v, a)
    with pytest.raises(mg.InputError, match=rf"v has shape \(2, 2, {n_v}\)"):
        mg.inverse_dynamics(tree, q, np.zeros((2, 2, n_v)), a)
    with pytest.raises(mg.InputError, match="a has 4 samples and q has 3"):
        mg.inverse_dynamics(tree, np.tile(q, (3, 1)), v, np.zeros((4, n_v)))
    with pytest.raises(mg.InputError, match="numbers are needed"):
        mg.inverse_dynamics(tree, ["one"] * n_q, v, a)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("nt", [None, 3 * LANES + 2])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_number_that_is_not_finite_is_named(tree, value, nt, which):
    state = [np.array(x) for x in random_state(tree, 1, nt)]
    name, column = "qva"[which], 3
    if nt is None:
        state[which][column] = value
        where = f"{name} is {value} at column {column}"
    else:
        state[which][2 * LANES + 1, column] = value
        where = f"{name} is {value} at sample {2 * LANES + 1}, column {column}"
    for function in (mg.inverse_dynamics, mg.inverse_dynamics_derivatives):
        with pytest.raises(mg.InputError, match=where):
            function(tree, *state)


def test_a_bad_torque_is_named_too():
    model = double_pendulum()
    with pytest.raises(mg.InputError, match="tau is nan at column 1"):
        mg.forward_dynamics(model, [0.1, 0.2], [0.0, 0.0], [0.0, np.nan])
    with pytest.raises(mg.InputError, match="q is nan at sample 1, column 0"):
        mg.mass_matrix(model, [[0.1, 0.2], [np.nan, 0.0]])


def test_a_massless_branch_does_not_hide_a_bad_number():
    model = mg.Model("ghost", [mg.Body("b")], [mg.Revolute("j", "ground", "b")])
    assert mg.inverse_dynamics(model, [0.1], [0.2], [0.3]) == 0
    with pytest.raises(mg.InputError, match="a is nan"):
        mg.inverse_dynamics(model, [0.1], [0.2], [np.nan])


def test_euler_parameters_that_are_all_zero_stand_for_no_rotation():
    model = mg.Model("ball", [mg.Body("b", 1.0, (0, 0, 1), (1, 1, 1))], [mg.Spherical("s", "ground", "b")])
    with pytest.raises(
        mg.InputError, match=r"Euler parameters q\[0:4\] are all zero: they stand for no rotation.*neutral"
    ):
        mg.inverse_dynamics(model, np.zeros(4))
    with pytest.raises(mg.InputError, match="all zero at sample 2"):
        mg.inverse_dynamics(model, [[1.0, 0, 0, 0]] * 2 + [[0.0] * 4])


def test_a_bad_imaginary_part_is_named_too():
    for function in (mg.inverse_dynamics, mg.inverse_dynamics_derivatives, mg.forward_dynamics):
        with pytest.raises(mg.InputError, match=r"q is .*nan.* at column 1"):
            function(double_pendulum(), np.array([0.1, complex(0.2, np.nan)]), [0.0, 0.0], [0.0, 0.0])


def test_bad_loads_say_which_and_why(tree):
    q, v, a = random_state(tree, 1, 4)
    load = mg.Load("b1", force=(1, 2, 3))
    cases = [
        ([mg.Load("b77")], mg.ModelError, r"loads\[0\]: unknown body 'b77'"),
        ([mg.Load("ground")], mg.ModelError, "unknown body 'ground'"),
        ([mg.Load("b1", axes="tool")], mg.InputError, "axes is 'tool'; choose 'world' or 'body'"),
        ([mg.Load("b1", force=(1, 2))], mg.InputError, r"force has shape \(2,\); it must be \(3,\) or \(4, 3\)"),
        ([mg.Load("b1", force=np.zeros((3, 3)))], mg.InputError, r"force has shape \(3, 3\)"),
        ([mg.Load("b1", torque=(0, np.nan, 0))], mg.InputError, "torque is nan in row 0, component 1"),
        ([mg.Load("b1", point="Pb2")], mg.InputError, "point 'Pb2' belongs to body 'b2'"),
        ([mg.Load("b1", point="nowhere")], mg.ModelError, "unknown point 'nowhere'"),
        ([mg.Load("b1", name="x"), mg.Load("b2", name="x")], mg.InputError, "'x' is used twice"),
        (load, mg.InputError, "give a list"),
    ]
    for loads, error, match in cases:
        with pytest.raises(error, match=match):
            mg.inverse_dynamics(tree, q, v, a, loads=loads)


def test_unknown_parameters_are_refused_with_suggestions(tree):
    q, v, a = random_state(tree, 1)
    for wrt in (["b1.mas"], "b1.mas"):
        with pytest.raises(mg.ModelError, match="Did you mean 'mass'"):
            mg.inverse_dynamics_derivatives(tree, q, v, a, wrt=wrt)
    with pytest.raises(mg.ModelError, match="nothing matches"):
        mg.inverse_dynamics_derivatives(tree, q, v, a, wrt="*.weight")
    with pytest.raises(mg.ModelError, match="load"):
        mg.inverse_dynamics_derivatives(tree, q, v, a, wrt="load.0.force.x")
    D = mg.inverse_dynamics_derivatives(tree, q, v, a, wrt="b1.mass")
    with pytest.raises(mg.InputError, match=r"no column for 'b2\.mass'.*b1\.mass"):
        D.by("b2.mass")
    stepped = tree.with_values({"b1.mass": 1 + 1e-30j})
    with pytest.raises(mg.InputError, match="give a real model"):
        mg.inverse_dynamics_derivatives(stepped, q, v, a, wrt="b1.mass")


# ------------------------------------------------------------------------------------------------------- packed
def test_packed_values_dense_sparse_and_entries_agree():
    model = human()
    _, q, v, a = human_motion(samples=5)
    D = mg.inverse_dynamics_derivatives(model, q, v, a)
    dense = D.dq.dense()
    pattern = D.dq.pattern
    assert np.array_equal(dense[2][pattern.rows, pattern.cols], D.dq.values[2])
    assert np.array_equal(D.dq.sparse(2).toarray(), dense[2])
    assert np.array_equal(D.dq.entry(17, 13), dense[:, 17, 13])
    order = pattern.rows * 43 + pattern.cols
    assert np.all(np.diff(order) > 0), "entries must stand row by row"
    out = np.full(dense.shape, 7.0)
    assert D.dq.dense(out=out) is out
    assert np.array_equal(out, dense)
    with pytest.raises(mg.InputError, match="which of the 5 samples"):
        D.dq.sparse()
    with pytest.raises(mg.InputError, match=r"dense\(\) writes"):
        D.dq.dense(out=np.zeros(3))


def test_a_model_without_freedom_is_computed_too():
    model = mg.Model("rock", [mg.Body("b", 1.0)], [mg.Fixed("weld", "ground", "b")])
    assert mg.inverse_dynamics(model, []).shape == (0,)
    D = mg.inverse_dynamics_derivatives(model, np.zeros((3, 0)), wrt="b.mass")
    assert D.dp.dense().shape == (3, 0, 1)
    assert mg.forward_dynamics(model, []).shape == (0,)
    assert mg.mass_matrix(model, []).dense().shape == (0, 0)
