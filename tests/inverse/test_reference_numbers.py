"""Published and independently established numbers: the 43-joint human, a loaded mixed tree, two-link arms in closed
form."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.gallery import human

# 43-joint human with slender rods, q_i = sin 2 pi t, at t = 0.1, 0.25, 0.5 s; joints are counted from 1.
HUMAN = {
    ("tau", 1): (-4799.40175565346, -305.3098043101381, 4564.099493015048),
    ("tau", 3): (-3642.947449582973, -2458.322313619844, 2608.733835295942),
    ("tau", 18): (8.578851160587586, -66.72626947065312, 245.6225673310797),
    ("tau", 20): (-0.7284846452441786, 0.2302765909349470, 0.0),
    ("tau", 30): (-9.001961317675201, 0.09845293216880470, 12.88904537419596),
    ("tau", 42): (3.171282379163725, -22.70394832146612, 0.0),
    ("dq", 20, 5): (-0.4968310871916715, -0.007353962557314020, 0.0),
    ("dv", 30, 25): (-0.4860684555325102, 0.0, -0.4735427326511011),
    ("da", 42, 22): (-0.3888733631309685, -0.2487592863610220, 0.0),
    ("dq", 18, 14): (39.73729887782882, 61.47753240365570, -197.5769786109009),
    ("dv", 18, 14): (6.736865500952582, 0.0, -9.114995981174408),
    ("da", 18, 14): (-0.4244547557744187, -0.3784005104120621, -0.01206),
    ("dq", 5, 22): (-539.0340893939755, 90.50229850594425, 614.4428811625708),
}
HUMAN_NORMS = {
    "tau": (6753.840506651597, 3834.137973135104, 6466.780165749738),
    "dq": (8296.861717417578, 3810.520234274310, 9871.342912491757),
    "dv": (780.8586581694497, 0.0, 804.3658309813018),
    "da": (140.8790256632263, 141.9603249793612, 139.3863181235279),
}


@pytest.fixture(scope="module")
def slender() -> tuple[mg.Model, mg.results.InverseDynamicsDerivatives]:
    model = human(radius=0.0)
    phase = 2 * np.pi * np.array([0.1, 0.25, 0.5])
    ones = np.ones((1, 43))
    q, v, a = (
        np.sin(phase)[:, None] * ones,
        2 * np.pi * np.cos(phase)[:, None] * ones,
        -((2 * np.pi) ** 2) * np.sin(phase)[:, None] * ones,
    )
    return model, mg.inverse_dynamics_derivatives(model, q, v, a)


def entry(D, key):
    name, *index = key
    row, *col = (k - 1 for k in index)
    return D.tau[:, row] if name == "tau" else getattr(D, name).entry(row, *col)


@pytest.mark.parametrize("key", HUMAN)
def test_human_entries(slender, key):
    # values come with 13 to 16 digits; structural zeros at t = 0.25 and 0.5 are rounding of terms up to 1e4
    np.testing.assert_allclose(entry(slender[1], key), HUMAN[key], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", HUMAN_NORMS)
def test_human_norms(slender, name):
    x = slender[1].tau if name == "tau" else getattr(slender[1], name).values
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), HUMAN_NORMS[name], rtol=1e-12, atol=1e-10)


def test_human_pattern(slender):
    """747 of 1849 entries can be non-zero; at t = 0.1 s 617, 612 and 729 are. Branches do not feel each other."""
    model, D = slender
    assert D.dq.pattern.nnz == 747
    assert model.total_mass == pytest.approx(77.5)
    for packed, count in ((D.dq, 617), (D.dv, 612), (D.da, 729)):
        assert np.count_nonzero(np.abs(packed.values[0]) > 1e-12) == count
    with pytest.raises(mg.InputError, match=r"\(41, 17\) is structurally zero"):
        D.dq.entry(41, 17)


def test_human_with_loads_on_both_feet(slender):
    model, _ = slender
    phase = 2 * np.pi * 0.1
    q, v, a = (
        np.full(43, np.sin(phase)),
        np.full(43, 2 * np.pi * np.cos(phase)),
        np.full(43, -((2 * np.pi) ** 2) * np.sin(phase)),
    )
    feet = [model.joint(f"dh.{i}").child for i in (13, 21)]
    loads = [
        mg.Load(feet[0], force=(10, -20, 400), torque=(1, 2, 3), point=(-0.05, 0, 0)),
        mg.Load(feet[1], force=(-5, 15, 350), torque=(-1, 0.5, 2), point=(-0.04, 0.01, 0)),
    ]
    D = mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads)
    got = [D.tau[4], D.tau[8], D.tau[17], D.dq.entry(8, 4), D.dq.entry(17, 13), D.dq.entry(4, 8)]
    wanted = [
        -202.9599154184197,
        -144.6319783995246,
        13.78070440043395,
        337.7238608215655,
        208.4849818547682,
        226.8515978386388,
    ]
    np.testing.assert_allclose(got, wanted, rtol=1e-10)


def test_mixed_tree_with_loads_everywhere():
    kinds = ("revolute", "prismatic", "revolute", "revolute")
    table = ((0.1, 0.2, 0.3, 0.4), (-0.5, 0.3, 0.1, -0.7), (0.2, -0.1, 0.4, 0.9), (-0.3, 0.15, 0.25, -1.1))
    rows = [mg.drawing.DHRow(k, *numbers, parent=p) for k, numbers, p in zip(kinds, table, (0, 1, 2, 2), strict=True)]
    bodies, loads = [], []
    for i in range(1, 5):
        inertia = np.full((3, 3), 0.01)
        np.fill_diagonal(inertia, (0.1 * i, 0.2 * i, 0.25 * i))
        bodies.append(mg.Body(f"link{i}", 1 + 0.5 * (i - 1), (-0.1, 0.05 * i, 0.02 * i), inertia))
        loads.append(
            mg.Load(f"link{i}", force=(1, -2, 0.5 * i), point=(0.1, 0.2, -0.1 * i), torque=(0.3 * i, -0.2, 0.1))
        )
    model = mg.dh_model("mixed", rows, bodies=bodies, gravity=(0, 0, -9.81))
    q, v, a = (0.3, -0.2, 0.5, 0.7), (0.4, 0.6, -0.8, 1.0), (1.1, -0.9, 0.7, -0.5)
    D = mg.inverse_dynamics_derivatives(model, q, v, a, loads=loads)
    close = lambda got, want: np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-13)  # noqa: E731
    close(D.tau, (9.951488946186847, 41.17978792670832, 2.094896279893842, 1.759630274166808))
    close(
        D.dq.dense(),
        (
            (-0.02256910916871591, -0.2587809457562147, -1.761504700727605, -0.1177177038307685),
            (-0.1661542643907803, -0.1455807795133606, 0.3850961598671881, 0.2544071817596426),
            (-0.6568096474839625, -0.07496796727072348, 0.4107750411623095, 0),
            (1.036968266285637, -0.1412178528538536, 0, 2.103243018219424),
        ),
    )
    close(
        D.dv.dense(),
        (
            (-0.2436604784316804, -0.1026929370064286, 0.0942789275771185, -0.4567005389719841),
            (0.2451006143070577, 0, -0.3919278750753966, 0.7893059874523445),
            (0.03451212580778346, -0.07939837443402899, 0, 0),
            (-0.02198647656533581, -0.1204817704674748, 0, 0),
        ),
    )
    upper = np.zeros((4, 4))
    upper[np.triu_indices(4)] = (
        3.955619112338693, -1.238996778652287, 0.9969044708843444, 0.9884641258155652, 6, -0.257252638672203,
        -0.1208990767192566, 0.8519749422612939, 0, 0.9549377334643289,
    )  # fmt: skip
    close(D.da.dense(), upper + np.triu(upper, 1).T)


def two_link_arm(gravity=(0, -9.8062, 0)):
    row = mg.drawing.DHRow("revolute", a=0.4)
    bodies = [mg.Body(f"link{i}", 0.5, (-0.2, 0, 0), (0.1, 0.1, 0.1)) for i in (1, 2)]
    return mg.dh_model("two-link arm", [row, row], bodies=bodies, gravity=gravity)


def test_two_link_arm_in_closed_form():
    model = two_link_arm()
    L, half, m, inertia, g, f = 0.4, 0.2, 0.5, 0.1, 9.8062, 10.0
    k = m * L * half
    rng = np.random.default_rng(1)
    for q, v, a in [((1.5, -2.0), (1.0, 2.0), (3.0, -4.0)), *rng.uniform(-3, 3, (20, 3, 2))]:
        (q1, q2), (v1, v2), (a1, a2) = q, v, a
        c1, c2, s2, c12 = np.cos(q1), np.cos(q2), np.sin(q2), np.cos(q1 + q2)
        tau1 = (
            (2 * inertia + m * half**2 + m * (L**2 + half**2) + 2 * k * c2) * a1 + (inertia + m * half**2 + k * c2) * a2
            - 2 * k * v1 * v2 * s2 - k * v2**2 * s2 + (m * g * half + f * L) * c12
            + (m * g * half + m * g * L + f * L) * c1
        )  # fmt: skip
        tau2 = (
            (inertia + m * half**2) * a2
            + (inertia + m * half**2 + k * c2) * a1
            + k * v1**2 * s2
            + (m * g * half + f * L) * c12
        )
        tau = mg.inverse_dynamics(model, q, v, a, loads=[mg.Load("link2", force=(0, -f, 0))])
        np.testing.assert_allclose(tau, (tau1, tau2), rtol=1e-13, atol=1e-13)


def test_two_link_arm_reference_state():
    loads = [mg.Load("link2", force=(0, -10, 0))]
    D = mg.inverse_dynamics_derivatives(two_link_arm(), (1.5, -2), (1, 2), (3, -4), loads=loads)
    close = lambda got, want: np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)  # noqa: E731
    close(D.tau, (5.599636439831835, 4.164595741943744))
    close(D.dq.dense(), ((-4.536634121624356, 2.593747207924006), (2.387836426082866, 2.480306243840062)))
    close(D.dv.dense(), ((0.1454875882921091, 0.2182313824381636), (-0.07274379414605454, 0)))
    close(D.da.dense(), ((0.2867082530762286, 0.1033541265381143), (0.1033541265381143, 0.12)))


@pytest.mark.parametrize(
    ("theta", "want"),
    [(np.pi / 2, (2.787342939322306, -0.5968255026925952)), (0.0, (2.475808265475386, -0.2036817017991345))],
)
def test_prismatic_revolute_arm(theta, want):
    rows = [
        mg.drawing.DHRow("prismatic", theta=np.pi / 2, d=0.4, alpha=np.pi / 2),
        mg.drawing.DHRow("revolute", theta=theta, a=0.4),
    ]
    bodies = [mg.Body("link1", 0.5, (0, -0.2, 0), (0.1,) * 3), mg.Body("link2", 0.5, (-0.2, 0, 0), (0.1,) * 3)]
    model = mg.dh_model("P-R", rows, bodies=bodies, gravity=(0, 0, 0))
    np.testing.assert_allclose(mg.inverse_dynamics(model, (0.3, 0.4), (1, 2), (3, -4)), want, rtol=1e-12)


def test_torque_free_spin_needs_no_moment():
    """A body spinning about a principal axis through its centre of mass keeps its angular velocity by itself."""
    body = mg.Body("top", 2.0, (0, 0, 0), (1.0, 2.0, 2.5))
    model = mg.Model("top", [body], [mg.Floating("free", "ground", "top")], gravity=(0, 0, 0))
    tau = mg.inverse_dynamics(model, model.neutral(), (3, -1, 2, 0, 0, 7.0), np.zeros(6))
    np.testing.assert_allclose(tau, np.zeros(6), atol=1e-15)
    # about no principal axis it needs w x I w
    w = np.array([1.0, 2.0, 3.0])
    tau = mg.inverse_dynamics(model, model.neutral(), np.r_[0, 0, 0, w], np.zeros(6))
    np.testing.assert_allclose(tau[3:], np.cross(w, body.inertia @ w), rtol=1e-14)
