"""Newton-Euler recursion in link frames: published numbers, with internal forces and moments and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from test_reference_numbers import HUMAN, HUMAN_NORMS, two_link_arm

import mechgrad as mg
from mechgrad.gallery import human
from mechgrad.inverse.newton_euler import newton_euler_derivatives, newton_euler_reactions, newton_euler_torques


def close(got, want, rtol=1e-13, atol=0.0):
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def swing(t):
    phase = 2 * np.pi * np.asarray(t)
    one = (np.sin(phase), 2 * np.pi * np.cos(phase), -((2 * np.pi) ** 2) * np.sin(phase))
    return [np.multiply.outer(x, np.ones(43)) for x in one]


def test_published_human():
    model = human(radius=0.0)
    D = newton_euler_derivatives(model, *swing([0.1, 0.25, 0.5]))
    for (name, row, *col), want in HUMAN.items():
        got = D.tau[:, row - 1] if name == "tau" else getattr(D, name).entry(row - 1, col[0] - 1)
        close(got, want, rtol=1e-11, atol=1e-11)  # zeros are differences of terms up to 1e4
    for name, want in HUMAN_NORMS.items():
        x = D.tau if name == "tau" else getattr(D, name).values
        close(np.linalg.norm(x, axis=1), want, atol=1e-10)
    for packed, count in ((D.dq, 617), (D.dv, 612), (D.da, 729)):
        assert np.count_nonzero(np.abs(packed.values[0]) > 1e-12) == count
    feet = [model.joint(f"dh.{i}").child for i in (13, 21)]
    loads = [
        mg.Load(feet[0], force=(10, -20, 400), torque=(1, 2, 3), point=(-0.05, 0, 0)),
        mg.Load(feet[1], force=(-5, 15, 350), torque=(-1, 0.5, 2), point=(-0.04, 0.01, 0)),
    ]
    D = newton_euler_derivatives(model, *swing(0.1), loads=loads)
    got = [D.tau[4], D.tau[8], D.tau[17], D.dq.entry(8, 4), D.dq.entry(17, 13), D.dq.entry(4, 8)]
    tau, dq = (-202.9599154184197, -144.6319783995246, 13.78070440043395), (337.7238608215655, 208.4849818547682)
    close(got, (*tau, *dq, 226.8515978386388), rtol=1e-12)


def test_published_mixed_tree_with_loads_everywhere():
    kinds = ("revolute", "prismatic", "revolute", "revolute")
    table = ((0.1, 0.2, 0.3, 0.4), (-0.5, 0.3, 0.1, -0.7), (0.2, -0.1, 0.4, 0.9), (-0.3, 0.15, 0.25, -1.1))
    rows = [mg.drawing.DHRow(k, *numbers, parent=p) for k, numbers, p in zip(kinds, table, (0, 1, 2, 2), strict=True)]
    bodies, loads = [], []
    for i in range(1, 5):
        inertia = np.full((3, 3), 0.01)
        np.fill_diagonal(inertia, (0.1 * i, 0.2 * i, 0.25 * i))
        bodies.append(mg.Body(f"link{i}", 1 + 0.5 * (i - 1), (-0.1, 0.05 * i, 0.02 * i), inertia))
        point, couple = (0.1, 0.2, -0.1 * i), (0.3 * i, -0.2, 0.1)
        loads.append(mg.Load(f"link{i}", force=(1, -2, 0.5 * i), point=point, torque=couple))
    model = mg.dh_model("mixed", rows, bodies=bodies, gravity=(0, 0, -9.81))
    state = (0.3, -0.2, 0.5, 0.7), (0.4, 0.6, -0.8, 1.0), (1.1, -0.9, 0.7, -0.5)
    D = newton_euler_derivatives(model, *state, loads=loads)
    close(D.tau, (9.951488946186847, 41.17978792670832, 2.094896279893842, 1.759630274166808))
    dq = (
        (-0.02256910916871591, -0.2587809457562147, -1.761504700727605, -0.1177177038307685),
        (-0.1661542643907803, -0.1455807795133606, 0.3850961598671881, 0.2544071817596426),
        (-0.6568096474839625, -0.07496796727072348, 0.4107750411623095, 0),
        (1.036968266285637, -0.1412178528538536, 0, 2.103243018219424),
    )
    dv = (
        (-0.2436604784316804, -0.1026929370064286, 0.0942789275771185, -0.4567005389719841),
        (0.2451006143070577, 0, -0.3919278750753966, 0.7893059874523445),
        (0.03451212580778346, -0.07939837443402899, 0, 0),
        (-0.02198647656533581, -0.1204817704674748, 0, 0),
    )
    close(D.dq.dense(), dq, rtol=1e-12)
    close(D.dv.dense(), dv, atol=1e-15)
    da = (
        (3.955619112338693, -1.238996778652287, 0.9969044708843444, 0.9884641258155652),
        (-1.238996778652287, 6, -0.257252638672203, -0.1208990767192566),
        (0.9969044708843444, -0.257252638672203, 0.8519749422612939, 0),
        (0.9884641258155652, -0.1208990767192566, 0, 0.9549377334643289),
    )
    close(D.da.dense(), da)

    R = newton_euler_reactions(model, *state, loads=loads, derivatives=True)
    close(R.force[0], (-1.027313833340239, 36.07435051019494, 48.80257516443989))
    close(R.couple[0], (-0.1063319998669678, -19.93019513561646, 19.23072696934885))
    close(R.force[1], (-15.18868489476788, -6.557879378898766, 48.31726943731557))
    close(R.couple[1], (5.415918766876293, -8.83508177640239, 3.625288513733232))
    close(R.force_q[0, :, 1], (2.570161059237094, 0.3443309236317713, -0.1455807795133607), rtol=1e-12)
    close(R.force_v[0, :, 1], (1.869208043081523, 0, 0), atol=1e-15)
    close(R.force_a[0, :, 1], (0, 0, 6), atol=1e-15)
    close(R.couple_q[1, :, 1], (-26.13994441098427, -11.54256144582293, -9.823545336930897))
    close(R.couple_v[1, :, 0], (-0.302290443909584, 0.2983071549706006, -0.01324237326778628), rtol=1e-12)
    close(R.couple_a[1, :, 2], (0.006838555060114344, -0.1085796928244538, 0.8624496154211824), rtol=1e-12)


def norms(model, *state, loads=None):
    return np.linalg.norm(newton_euler_reactions(model, *state, loads=loads).force, axis=1)


def test_published_two_link_arm():
    model = two_link_arm()
    state, loads = ((1.5, -2), (1, 2), (3, -4)), [mg.Load("link2", force=(0, -10, 0))]
    D = newton_euler_derivatives(model, *state, loads=loads)
    close(D.tau, (5.599636439831835, 4.164595741943744))
    close(D.dq.dense(), ((-4.536634121624356, 2.593747207924006), (2.387836426082866, 2.480306243840062)))
    close(D.dv.dense(), ((0.1454875882921091, 0.2182313824381636), (-0.07274379414605454, 0)), atol=1e-15)
    close(D.da.dense(), ((0.2867082530762286, 0.1033541265381143), (0.1033541265381143, 0.12)))
    close(norms(model, *state, loads=loads), (19.99167423868530, 15.15931373069992))


@pytest.mark.parametrize(
    ("theta", "tau", "forces"),
    [
        (np.pi / 2, (2.787342939322306, -0.5968255026925952), (2.836204794427553, 1.38997439471629)),
        (0.0, (2.475808265475386, -0.2036817017991345), (2.48492446421462, 0.9987115681848074)),
    ],
)
def test_published_slide_and_hinge(theta, tau, forces):
    rows = [
        mg.drawing.DHRow("prismatic", theta=np.pi / 2, d=0.4, alpha=np.pi / 2),
        mg.drawing.DHRow("revolute", theta=theta, a=0.4),
    ]
    bodies = [mg.Body("link1", 0.5, (0, -0.2, 0), (0.1,) * 3), mg.Body("link2", 0.5, (-0.2, 0, 0), (0.1,) * 3)]
    model = mg.dh_model("P-R", rows, bodies=bodies, gravity=(0, 0, 0))
    state = (0.3, 0.4), (1, 2), (3, -4)
    close(newton_euler_torques(model, *state), tau)
    close(norms(model, *state), forces)
