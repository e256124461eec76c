"""The walker: the pose it stands in, the sense of every coordinate, and its two equal sides."""

from __future__ import annotations

import numpy as np
import pytest

import mechgrad as mg
from mechgrad.errors import UnknownNameError
from mechgrad.gallery import WALKER_SEGMENTS, human, walker, walker_limits, walker_mirror

GLOBAL = ("pelvis_x", "pelvis_y", "pelvis_z", "pelvis_yaw", "pelvis_roll", "pelvis_pitch")
SIDES = ("right", "left")
OTHER = {"right": "left", "left": "right"}
both_variants = pytest.mark.parametrize("frozen", [True, False], ids=["frozen", "free"])


def posture(model: mg.Model, **values: float) -> np.ndarray:
    q = model.neutral()
    for name, value in values.items():
        q[model.q_slice(name)] = value
    return q


def places(model: mg.Model, q: np.ndarray) -> dict[str, np.ndarray]:
    """Position of every point and of every centre of mass."""
    names = [point.name for point in model.points] + [f"{body.name}.com" for body in model.bodies]
    return dict(zip(names, mg.kinematics.marker_motion(model, names, q).position, strict=True))


def irregular_state(model: mg.Model, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All numbers different and none zero; angles that keep clear of the right angle where a triple is singular."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.2, 1.2, model.n_q), rng.normal(size=model.n_v), rng.normal(size=model.n_v)


def swapped(name: str) -> str:
    for side in SIDES:
        if name.removesuffix(".com").endswith(f"_{side}"):
            return name.replace(f"_{side}", f"_{OTHER[side]}")
    return name


# ---- size, masses, lengths


def test_size() -> None:
    assert walker().n_q == walker().n_v == 33
    assert walker(frozen=False).n_q == walker(frozen=False).n_v == 44
    assert walker().joint_names == walker(frozen=False).joint_names == walker(frozen=False).q_names
    assert walker().q_names[:6] == GLOBAL
    assert {type(joint) for joint in walker().joints} == {mg.Prismatic, mg.Revolute, mg.Fixed}


def test_order_of_the_joints() -> None:
    leg = ["hip_flexion", "hip_abduction", "hip_rotation", "knee_flexion"]
    leg += ["ankle_flexion", "ankle_inversion", "toe_flexion"]
    arm = ["clavicle_elevation", "clavicle_protraction", "shoulder_flexion", "shoulder_abduction", "shoulder_rotation"]
    arm += ["elbow_flexion", "forearm_pronation", "wrist_flexion", "wrist_deviation"]
    expected = [*GLOBAL, *(f"{name}_{side}" for side in SIDES for name in leg)]
    expected += ["spine_bend", "spine_flexion", "spine_rotation"]
    expected += [f"{name}_{side}" for side in SIDES for name in arm] + ["neck_bend", "neck_flexion", "neck_rotation"]
    assert list(walker().joint_names) == expected
    frozen = {joint.name for joint in walker().joints if isinstance(joint, mg.Fixed)}
    assert frozen == {name for name in expected if name.startswith(("clavicle", "wrist", "neck"))}


def test_masses_and_lengths_are_those_of_the_human() -> None:
    model, other = walker(), human()
    assert model.total_mass == pytest.approx(77.5, rel=1e-14)
    theirs = {body.name.replace("shoulder", "girdle"): body for body in other.bodies if body.mass}
    pelvis = [theirs.pop("pelvis_right"), theirs.pop("pelvis_left")]
    ours = {body.name: body for body in model.bodies if body.mass}
    assert ours.pop("pelvis").mass == pelvis[0].mass + pelvis[1].mass
    assert {name: body.mass for name, body in ours.items()} == {name: body.mass for name, body in theirs.items()}
    # A rod of the human begins at its parent's origin, so its length is twice the distance of its centre.
    length = {name: 2 * float(np.linalg.norm(body.com)) for name, body in theirs.items()}
    x = places(model, model.neutral())
    for side in SIDES:
        ends = {
            "thigh": ("hip", "knee"),
            "shank": ("knee", "ankle"),
            "foot": ("heel", "ball"),
            "toes": ("ball", "toe"),
            "upper_arm": ("shoulder", "elbow"),
            "forearm": ("elbow", "wrist"),
        }
        for name, (a, b) in ends.items():
            distance = np.linalg.norm(x[f"{a}_{side}"] - x[f"{b}_{side}"])
            assert distance == pytest.approx(length[f"{name}_{side}"], rel=1e-14), name
        assert np.linalg.norm(x["neck"] - x[f"shoulder_{side}"]) == pytest.approx(length[f"girdle_{side}"])
        assert np.linalg.norm(model.body(f"hand_{side}").com) == pytest.approx(length[f"hand_{side}"] / 2)
        assert np.linalg.norm(x["pelvis_centre"] - x[f"hip_{side}"]) == pytest.approx(2 * abs(pelvis[0].com[0]))
    assert np.linalg.norm(x["pelvis_centre"] - x["neck"]) == pytest.approx(length["torso"])
    assert np.linalg.norm(x["neck"] - x["head_top"]) == pytest.approx(length["head"])


def test_segments_are_cylinders() -> None:
    """Closed forms: the pelvis lies across, centred; the foot lies along x, one radius above the sole."""

    def moments(mass: float, length: float, radius: float) -> tuple[float, float]:
        return mass * radius**2 / 2, mass * (3 * radius**2 + length**2) / 12

    pelvis, foot, toes = (walker().body(name) for name in ("pelvis", "foot_left", "toes_right"))
    axial, across = moments(9.0, 0.18, 0.10)
    np.testing.assert_allclose(pelvis.inertia, np.diag([across, axial, across]), rtol=1e-14)
    np.testing.assert_array_equal(pelvis.com, 0.0)
    axial, across = moments(1.2, 0.16, 0.035)
    np.testing.assert_allclose(foot.inertia, np.diag([axial, across, across]), rtol=1e-14)
    np.testing.assert_allclose(foot.com, [0.04, 0.0, -0.035], rtol=1e-15)
    axial, across = moments(0.2, 0.06, 0.02)
    np.testing.assert_allclose(toes.inertia, np.diag([axial, across, across]), rtol=1e-14)
    np.testing.assert_allclose(toes.com, [0.03, 0.0, 0.02], rtol=1e-15)


# ---- pose at q = 0


@both_variants
def test_stands_upright_on_its_soles(frozen: bool) -> None:
    model = walker(frozen)
    x = places(model, model.neutral())
    midline = {"pelvis_centre": 0.94, "neck": 1.43, "head_top": 1.78}
    right = {
        "hip": (0.0, -0.09, 0.94),
        "knee": (0.0, -0.09, 0.5),
        "ankle": (0.0, -0.09, 0.07),
        "heel": (-0.04, -0.09, 0.0),
        "ball": (0.12, -0.09, 0.0),
        "ball_medial": (0.12, -0.05, 0.0),
        "ball_lateral": (0.12, -0.13, 0.0),
        "toe": (0.18, -0.09, 0.0),
        "shoulder": (0.0, -0.17, 1.43),
        "elbow": (0.0, -0.17, 1.15),
        "wrist": (0.0, -0.17, 0.89),
    }
    for name, height in midline.items():
        np.testing.assert_allclose(x[name], (0.0, 0.0, height), atol=1e-15, err_msg=name)
    for name, (along, across, height) in right.items():
        np.testing.assert_allclose(x[f"{name}_right"], (along, across, height), atol=1e-15, err_msg=name)
        np.testing.assert_allclose(x[f"{name}_left"], (along, -across, height), atol=1e-15, err_msg=name)
    assert {point.name for point in model.points} == {*midline, *(f"{name}_{side}" for name in right for side in SIDES)}


def test_floor_carries_the_weight() -> None:
    tau = mg.inverse_dynamics(walker(), walker().neutral())
    np.testing.assert_allclose(tau[:3], [0.0, 0.0, 77.5 * 9.81], rtol=1e-14, atol=1e-12)
    np.testing.assert_allclose(tau[3:5], 0.0, atol=1e-12)  # symmetric: nothing turns it sideways


# ---- sense of the coordinates: coordinate, posture it starts from, marker, direction in which the marker moves

SENSES = [
    ("pelvis_x", {}, "pelvis_centre", "+x"),
    ("pelvis_y", {}, "pelvis_centre", "+y"),
    ("pelvis_z", {}, "pelvis_centre", "+z"),
    ("pelvis_yaw", {}, "toe_right", "+y"),
    ("pelvis_roll", {}, "head_top", "-y"),
    ("pelvis_pitch", {}, "head_top", "+x"),
    ("hip_flexion", {}, "knee", "+x"),
    ("hip_abduction", {}, "knee", "outward"),
    ("hip_rotation", {}, "toe", "inward"),
    ("knee_flexion", {}, "heel", "-x"),
    ("ankle_flexion", {}, "toe", "+z"),
    ("ankle_inversion", {}, "heel", "inward"),
    ("ankle_inversion", {}, "ball_medial", "+z"),
    ("toe_flexion", {}, "toe", "+z"),
    ("spine_bend", {}, "head_top", "-y"),
    ("spine_flexion", {}, "head_top", "+x"),
    ("spine_rotation", {}, "shoulder_right", "+x"),
    ("clavicle_elevation", {}, "shoulder", "+z"),
    ("clavicle_protraction", {}, "shoulder", "+x"),
    ("shoulder_flexion", {}, "elbow", "+x"),
    ("shoulder_abduction", {}, "elbow", "outward"),
    ("shoulder_rotation", {"elbow_flexion": 1.0}, "wrist", "inward"),
    ("elbow_flexion", {}, "wrist", "+x"),
    ("forearm_pronation", {"wrist_deviation": 1.0}, "hand.com", "inward"),
    ("wrist_flexion", {}, "hand.com", "inward"),
    ("wrist_deviation", {}, "hand.com", "+x"),
    ("neck_bend", {}, "head_top", "-y"),
    ("neck_flexion", {}, "head_top", "+x"),
]


@pytest.mark.parametrize(("kind", "start", "marker", "direction"), SENSES, ids=[f"{r[0]}-{r[2]}" for r in SENSES])
@pytest.mark.parametrize("side", SIDES)
def test_sense(side: str, kind: str, start: dict[str, float], marker: str, direction: str) -> None:
    model = walker(frozen=False)
    inward = 1.0 if side == "right" else -1.0
    along = {
        "+x": (1, 0, 0), "-x": (-1, 0, 0), "+y": (0, 1, 0), "-y": (0, -1, 0), "+z": (0, 0, 1),
        "inward": (0, inward, 0), "outward": (0, -inward, 0),
    }  # fmt: skip
    coordinate = kind if kind in model.q_names else f"{kind}_{side}"
    known = places(model, model.neutral())
    body, dot, part = marker.partition(".")
    seen = marker if marker in known else f"{body}_{side}{dot}{part}"
    begin = {f"{name}_{side}": value for name, value in start.items()}
    before = places(model, posture(model, **begin))[seen]
    after = places(model, posture(model, **begin, **{coordinate: 0.3}))[seen]
    # 0.3 rad on the shortest lever, the 0.04 m of the foot's half width, lift its end by more than 1 cm
    assert (after - before) @ along[direction] > 0.01


def test_neck_turns_to_the_left() -> None:
    """The head's points lie on the axis of this hinge, so its sense is that of the angular velocity."""
    model = walker(frozen=False)
    v = posture(model, neck_rotation=1.0)
    np.testing.assert_array_equal(
        mg.kinematics.marker_motion(model, ["head.spin"], model.neutral(), v).velocity, [[0, 0, 1]]
    )


def test_every_sense_is_tested() -> None:
    kinds = {name.removesuffix("_right").removesuffix("_left") for name in walker(frozen=False).q_names}
    assert {row[0] for row in SENSES} | {"neck_rotation"} == kinds


def test_lateral_border_goes_down_in_inversion() -> None:
    model = walker()
    x = places(model, posture(model, ankle_inversion_right=0.3, ankle_inversion_left=0.3))
    for side in SIDES:
        assert x[f"ball_medial_{side}"][2] > x[f"ball_lateral_{side}"][2] + 0.02


def test_toes_bend_about_the_ball() -> None:
    model = walker()
    before, after = places(model, model.neutral()), places(model, posture(model, toe_flexion_left=0.5))
    for name in ("ball_left", "ball_medial_left", "ball_lateral_left", "heel_left"):
        np.testing.assert_array_equal(before[name], after[name])
    expected = before["ball_left"] + 0.06 * np.array([np.cos(0.5), 0.0, np.sin(0.5)])
    np.testing.assert_allclose(after["toe_left"], expected, atol=1e-15)


# ---- left and right


@both_variants
def test_mirror_reflects_every_point(frozen: bool) -> None:
    model = walker(frozen)
    partner, sign = walker_mirror(model)
    assert partner.shape == sign.shape == (model.n_v,)
    for seed in range(3):
        q, _, _ = irregular_state(model, seed)
        x, image = places(model, q), places(model, sign * q[partner])
        assert {swapped(name) for name in x} == set(x)
        assert swapped("hand_right.com") == "hand_left.com"
        for name in x:
            np.testing.assert_allclose(image[swapped(name)], x[name] * [1, -1, 1], atol=1e-12, err_msg=name)


@both_variants
def test_mirrored_motion_needs_mirrored_torques(frozen: bool) -> None:
    model = walker(frozen)
    partner, sign = walker_mirror(model)
    q, v, a = irregular_state(model, 7)
    tau = mg.inverse_dynamics(model, q, v, a)
    image = mg.inverse_dynamics(model, sign * q[partner], sign * v[partner], sign * a[partner])
    assert np.abs(tau).min() > 1e-4
    np.testing.assert_allclose(image, sign * tau[partner], atol=1e-12 * np.abs(tau).max())


def test_mirror_swaps_limbs_and_reverses_what_leads_off_the_midline() -> None:
    model = walker(frozen=False)
    partner, sign = walker_mirror(model)
    np.testing.assert_array_equal(partner[partner], np.arange(model.n_v))
    odd = {name for name, s in zip(model.q_names, sign, strict=True) if s == -1.0}
    assert odd == {
        "pelvis_y", "pelvis_yaw", "pelvis_roll", "spine_bend", "spine_rotation", "neck_bend", "neck_rotation",
    }  # fmt: skip
    assert [model.q_names[i] for i in partner] == [swapped(name) for name in model.q_names]
    assert set(sign.tolist()) == {1.0, -1.0}


def test_mirror_of_a_model_with_one_stiff_knee() -> None:
    model = walker()
    joints = [
        mg.Fixed(joint.name, joint.parent, joint.child, joint.origin) if joint.name == "knee_flexion_left" else joint
        for joint in model.joints
    ]
    stiff = mg.Model("stiff", model.bodies, joints, model.points)
    with pytest.raises(UnknownNameError, match=r"mirror image of 'knee_flexion_right'.*'knee_flexion_left'"):
        walker_mirror(stiff)
    assert set(walker_limits(stiff)) == set(walker_limits(model)) - {"knee_flexion_left"}


# ---- limits


@both_variants
def test_limits_cover_what_is_driven(frozen: bool) -> None:
    model = walker(frozen)
    limits = walker_limits(model)
    assert tuple(limits) == model.q_names[6:]
    for name, (lower, upper, torque) in limits.items():
        assert -np.pi <= lower <= 0.0 < upper <= np.pi, name
        assert 0.0 < torque <= 250.0, name
        assert limits.get(swapped(name)) == (lower, upper, torque)


def test_limits_in_radians() -> None:
    limits = walker_limits(walker(frozen=False))
    assert limits["hip_flexion_right"] == pytest.approx((np.radians(-20), np.radians(120), 200.0))
    assert limits["ankle_flexion_left"] == pytest.approx((np.radians(-50), np.radians(25), 180.0))
    assert limits["spine_flexion"] == pytest.approx((-np.pi / 6, np.pi / 6, 250.0))
    assert limits["wrist_deviation_left"] == pytest.approx((np.radians(-30), np.radians(20), 10.0))


def test_table_of_the_docstring_is_that_of_the_code() -> None:
    words = [line.split() for line in (walker_limits.__doc__ or "").splitlines() if ".." in line]
    written = {row[i]: tuple(map(float, (row[i + 1], row[i + 3], row[i + 4]))) for row in words for i in (0, 5)}
    limits = walker_limits(walker(frozen=False))
    assert {name.removesuffix("_right").removesuffix("_left") for name in limits} == set(written)
    for name, (lower, upper, torque) in limits.items():
        kind = name.removesuffix("_right").removesuffix("_left")
        assert (np.degrees(lower), np.degrees(upper), torque) == pytest.approx(written[kind]), name


@pytest.mark.parametrize("question", [walker_limits, walker_mirror])
def test_other_models_are_refused(question) -> None:
    with pytest.raises(UnknownNameError, match=r"model 'human': unknown coordinate of a walker 'dh.1'"):
        question(human())


# ---- dynamics


def test_mass_matrix_is_regular() -> None:
    """Standing and within the limits, arms at most 60 degrees off the body: short of the singular right angle."""
    model = walker()
    limits = walker_limits(model)
    lower = np.array([-0.5] * 6 + [low for low, _, _ in limits.values()])
    upper = np.array([0.5] * 6 + [high for _, high, _ in limits.values()])
    for side in SIDES:
        upper[model.q_slice(f"shoulder_abduction_{side}")] = np.pi / 3
    q = np.vstack([model.neutral(), lower + (upper - lower) * np.random.default_rng(3).random((50, model.n_q))])
    smallest = np.linalg.eigvalsh(mg.mass_matrix(model, q).dense())[:, 0]
    # The lightest freedom is that of the toes: m (L^2/4 + h^2 + (3 r^2 + L^2)/12) = 3.4e-4 kg m^2 about their hinge.
    assert smallest.min() > 1e-5


def test_freezing_changes_nothing_else() -> None:
    """The free walker, its frozen joints held at zero, needs the torques of the frozen one."""
    frozen, free = walker(), walker(frozen=False)
    kept = [free.q_names.index(name) for name in frozen.q_names]
    state = irregular_state(frozen, 11)
    q, v, a = np.zeros((3, free.n_v))
    for whole, part in zip((q, v, a), state, strict=True):
        whole[kept] = part
    tau = mg.inverse_dynamics(frozen, *state)
    np.testing.assert_allclose(mg.inverse_dynamics(free, q, v, a)[kept], tau, atol=1e-12 * np.abs(tau).max())


def test_stick_figure_joins_points_of_the_model() -> None:
    names = {point.name for point in walker().points}
    assert {name for pair in WALKER_SEGMENTS for name in pair} == names
    assert {tuple(map(swapped, pair)) for pair in WALKER_SEGMENTS} == set(WALKER_SEGMENTS)
    reached = {"pelvis_centre"}
    for _ in WALKER_SEGMENTS:
        reached |= {name for pair in WALKER_SEGMENTS if reached & set(pair) for name in pair}
    assert names - reached == {f"ball_{border}_{side}" for border in ("medial", "lateral") for side in SIDES}
