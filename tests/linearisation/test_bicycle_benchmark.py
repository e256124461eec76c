"""The benchmark bicycle against its publication: matrices, eigenvalues over speed, and their derivatives."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from bicycle_equations import BENCHMARK, canonical, eigenvalue_slope, eigenvalues

import mechgrad as mg
from mechgrad.gallery import bicycle, bicycle_start

# as printed: table 2 and section 4 of the publication
M = [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]]
K0 = [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]]
K2 = [[0.0, 76.59734589573222], [0.0, 2.65431523794604]]
C1 = [[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]]
WEAVE, CAPSIZE = 4.292382536341, 6.024262015388
AT_0 = [-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393]
AT_5 = [-14.07838969279822, -0.77534188219585 - 4.46486771378823j, -0.77534188219585 + 4.46486771378823j]
AT_5 += [-0.32286642900409]
SPEED = "start.velocity.root.x"
LEAN_AND_STEERING = ["root.wx", "steering", "root.x"]  # rates
LEFT = np.diag([1.0, -1.0])  # here steering to the left is positive, there to the right


def about(speed: float, model: mg.Model | None = None) -> mg.results.Linearisation:
    model = bicycle("rolling") if model is None else model
    return mg.linearise(model, bicycle_start(model, speed), rates=LEAN_AND_STEERING, independent=[
        "root.wx", "steering", "root.x", "root.y", "root.wz", "rear axle", "front axle",
    ])  # fmt: skip


@pytest.fixture(scope="module")
def at_5() -> mg.results.Linearisation:
    return about(5.0)


def test_the_independent_formula_has_the_printed_digits() -> None:
    for got, printed in zip(canonical(BENCHMARK), (M, C1, K0, K2), strict=True):
        np.testing.assert_allclose(got, printed, atol=6e-15 * 100)
    np.testing.assert_allclose(eigenvalues(BENCHMARK), AT_5, atol=2e-13)


@pytest.mark.parametrize("speed", [0.0, 1.0, 5.0, 10.0])
def test_matrices_are_the_canonical_ones(speed: float) -> None:
    """Entries to the printed digits; forces at the hinge and about the line of contacts are the canonical ones."""
    lin = about(speed)
    rates = [lin.states[7:].index(f"rate of {name}") for name in ("root.wx", "steering")]
    places = [lin.coordinates.index(name) for name in ("root.wx", "steering")]
    mass, damping = (LEFT @ x[np.ix_(rates, rates)] @ LEFT for x in (lin.mass, lin.damping))
    stiffness = LEFT @ lin.stiffness[np.ix_(rates, places)] @ LEFT
    np.testing.assert_allclose(mass, M, atol=1e-12)
    np.testing.assert_allclose(damping, speed * np.array(C1), atol=1e-11)
    wanted = 9.81 * np.array(K0) + speed**2 * np.array(K2)
    np.testing.assert_allclose(stiffness, wanted, atol=2e-14 * np.abs(wanted).max() * 10)
    other = [k for k in range(7) if k not in places]
    assert np.abs(lin.stiffness[np.ix_(rates, other)]).max() < 1e-11


@pytest.mark.parametrize(("speed", "printed"), [(0.0, AT_0), (5.0, AT_5)])
def test_printed_eigenvalues(speed: float, printed: list[complex]) -> None:
    np.testing.assert_allclose(np.sort_complex(about(speed).eigenvalues), printed, atol=3e-13)


def test_eigenvalues_over_speed(at_5: mg.results.Linearisation) -> None:
    """0 to 10 m/s: all four at every tenth of a metre per second by the independent formula."""
    for speed in np.linspace(0.0, 10.0, 21):
        found = np.sort_complex(at_5.with_values({SPEED: speed}).eigenvalues)
        np.testing.assert_allclose(found, eigenvalues(BENCHMARK | {"v": speed}), atol=2e-12)


def test_what_is_neutral_and_what_the_modes_are(at_5: mg.results.Linearisation) -> None:
    assert set(at_5.neutral) == {"root.x", "root.y", "root.wz", "rear axle", "front axle", "rate of root.x"}
    assert at_5.about == "a steady motion"
    capsize, weave, castering = at_5.modes
    assert capsize.name == "root.wx, steering"
    assert castering.name == "steering"
    assert castering.participation["steering"] > 0.99
    assert weave.damped_frequency == pytest.approx(4.46486771378823 / (2 * np.pi))
    assert sum(weave.participation.values()) == pytest.approx(1.0)


def test_locus_finds_weave_and_capsize_speeds(at_5: mg.results.Linearisation) -> None:
    locus = at_5.locus(SPEED, np.linspace(1.0, 10.0, 19))
    crossings = locus.crossings()
    assert [x.value for x in crossings] == pytest.approx([WEAVE, CAPSIZE], abs=3e-12)
    assert [x.rate > 0.0 for x in crossings] == [False, True]
    assert crossings[0].eigenvalue.imag > 3.0
    assert crossings[1].eigenvalue.imag == 0.0
    steps = np.abs(np.diff(locus.eigenvalues, axis=0)).max(axis=0)
    assert (steps < 1.2).all()  # each stays itself: castering, capsize and weave are far apart


def bicycle_of(**variables: mg.DesignVariable) -> mg.Model:
    """With design variables."""
    m = bicycle("rolling")
    return mg.Model(
        m.name, m.bodies, m.joints, m.points, m.vectors, gravity=m.gravity, constraints=m.constraints, forces=m.forces,
        variables=variables.values(),
    )  # fmt: skip


def variable(name: str) -> mg.DesignVariable:
    """A number of the publication as one of the model: what stays where is said by the publication's coordinates, in
    which bodies are placed by their distance from the rear contact."""
    w, c, tan, rF = BENCHMARK["w"], BENCHMARK["c"], np.tan(np.pi / 10), BENCHMARK["rF"]

    def axis(w: float = w, c: float = c, tan: float = tan) -> float:
        return w + c - rF * tan

    targets = {
        "w": {"steering.origin.x": lambda x: axis(w=x), "fork.com.x": lambda x: 0.9 - axis(w=x)},
        "c": {
            "steering.origin.x": lambda x: axis(c=x), "fork.com.x": lambda x: 0.9 - axis(c=x),
            "front axle.origin.x": lambda x: w - axis(c=x),
        },
        "tilt": {
            "steering.origin.x": lambda x: axis(tan=np.tan(x)), "fork.com.x": lambda x: 0.9 - axis(tan=np.tan(x)),
            "front axle.origin.x": lambda x: w - axis(tan=np.tan(x)), "steering.axis.x": lambda x: -np.sin(x),
            "steering.axis.z": np.cos,
        },
        # a rear wheel of another size: its axle is higher, and so is the frame's place for it
        "rR": {"rear axle.origin.z": 1.0, "rear wheel.radius": 1.0},
        "zB": {"frame.com.z": -1.0},
        "IRyy": {"rear.inertia.yy": 1.0},
        "IFyy": {"front.inertia.yy": 1.0},
        "IBxz": {"frame.inertia.xz": -1.0},
        "g": {"gravity.z": -1.0},
    }  # fmt: skip
    return mg.DesignVariable(name, targets[name], BENCHMARK[name])


PLAIN = {"mB": "frame.mass", "mH": "fork.mass", "mF": "front.mass", "mR": "rear.mass", "xB": "frame.com.x", "v": SPEED}


@pytest.mark.parametrize("name", ["w", "c", "tilt", "rR", "zB", "IRyy", "IFyy", "IBxz", "g", *PLAIN])
def test_derivatives_of_eigenvalues(name: str, at_5: mg.results.Linearisation) -> None:
    """Against the complex step through the publication's formulas."""
    if name in PLAIN:
        lin, path = at_5, PLAIN[name]
    else:
        model, path = bicycle_of(x=variable(name)), name
        lin = about(5.0, model)
    got = lin.derivatives([path]).by(path)
    wanted = eigenvalue_slope(BENCHMARK, name)
    order = np.lexsort((lin.eigenvalues.imag, lin.eigenvalues.real))
    assert np.abs(wanted).max() > 1e-4
    np.testing.assert_allclose(got[order], wanted, atol=2e-11 * max(1.0, np.abs(wanted).max()))


def test_tyres_without_slip_roll() -> None:
    """Nine freedoms on stiff tyres: as the slip that forces take goes to zero, the three published modes remain, with
    an error that goes with the slip."""
    model = bicycle("tyres", stiffness=6e7)
    missed = []
    for slip in (1.5e-2, 1.5e-3):
        critical = {f"{wheel} tyre.critical_{x}": slip for wheel in ("rear", "front") for x in ("slip", "angle")}
        moved = model.with_values(critical)
        lin = mg.linearise(moved, bicycle_start(moved, 5.0))
        assert len(lin.states) == 18
        assert len(lin.neutral) == 6
        missed.append([np.abs(lin.eigenvalues - x).min() for x in AT_5])
    assert np.max(missed[1]) < 0.03
    np.testing.assert_allclose(np.array(missed[0]) / missed[1], 10.0, rtol=0.15)
