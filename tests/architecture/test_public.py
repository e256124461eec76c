"""The public vocabulary: frozen, documented, and all of it there."""

from __future__ import annotations

import importlib
import inspect
import tomllib
from pathlib import Path

import pytest

import mechgrad
from mechgrad.renamed import RENAMED

ROOT = Path(__file__).resolve().parents[2]

VOCABULARY = [
    "Model",
    "Body",
    "Point",
    "Vector",
    "Fixed",
    "Revolute",
    "Prismatic",
    "Cylindrical",
    "Cardan",
    "Planar",
    "Spherical",
    "Floating",
    "Load",
    "DesignVariable",
    "dh_model",
    "load_model",
    "save_model",
    "State",
    "state",
    "assemble",
    "equilibrium",
    "mobility",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "mass_matrix",
    "joint_reactions",
    "simulate",
    "kinematic_motion",
    "Trajectory",
    "view",
    "linearise",
    "gradient",
    "motion_sensitivities",
    "Gradient",
    "Integral",
    "AtEnd",
    "AtTime",
    "Tracking",
    "DesignProblem",
    "certify",
    "certify_model",
    "Certificate",
    "MechgradError",
    "ModelError",
    "InputError",
    "AssemblyError",
    "StepFailed",
    "MechgradWarning",
]

ROOMS = {
    "mechgrad": VOCABULARY,
    "mechgrad.io": [
        "ModelFileError",
        "ModelFileNotFoundError",
        "certificate_to_dict",
        "load_model",
        "load_motion",
        "load_recipe",
        "load_trajectory",
        "recipe_from_dict",
        "recipe_to_dict",
        "save_certificate",
        "save_model",
        "save_motion",
        "save_recipe",
        "save_trajectory",
    ],
    "mechgrad.gallery": [
        "WALKER_SEGMENTS",
        "Gait",
        "GaitCheck",
        "anchor",
        "anchor_start",
        "arm7",
        "bicycle",
        "bicycle_freedoms",
        "bicycle_start",
        "bricard",
        "buggy",
        "buggy_freedoms",
        "buggy_rest",
        "buggy_start",
        "chain",
        "delta_robot",
        "delta_robot_start",
        "double_pendulum",
        "five_bar",
        "five_bar_start",
        "four_bars",
        "four_bars_angle",
        "free_top",
        "free_top_motion",
        "gait",
        "gyroscope",
        "gyroscope_start",
        "half_car",
        "heavy_top",
        "heavy_top_height",
        "human",
        "human_motion",
        "lane_change",
        "quarter_car",
        "seven_body",
        "seven_body_end",
        "seven_body_start",
        "slider_crank",
        "stewart_platform",
        "stewart_platform_start",
        "theo_jansen_leg",
        "theo_jansen_leg_start",
        "walker",
        "walker_limits",
        "walker_mirror",
        "watts_linkage",
    ],
    "mechgrad.constraints": [
        "AngleBetween",
        "Constraint",
        "DotProduct",
        "Driver",
        "FixedDistance",
        "Gear",
        "GuidedPoint",
        "LinearCombination",
        "Parallel",
        "PointInPlane",
        "PointOnCurve",
        "PointOnLine",
        "Rolling",
        "SamePoint",
        "SameVector",
    ],
    "mechgrad.design": [
        "Basin",
        "DesignProblem",
        "Deviation",
        "Evaluation",
        "Evaluator",
        "ExecutorWarning",
        "Front",
        "FrontPoint",
        "Identification",
        "LeastSquares",
        "Limit",
        "Linear",
        "LogWarning",
        "MeanDeviation",
        "Measured",
        "Multistart",
        "NoInfluenceWarning",
        "Optimum",
        "Scenario",
        "Side",
        "Started",
        "Variable",
        "WorkError",
        "WorstCase",
        "deviation",
        "knots_from",
        "pareto",
        "scattered",
    ],
    "mechgrad.drawing": [
        "DHRow",
        "DenavitHartenberg",
        "InPlane",
        "NaturalBody",
        "NaturalModel",
        "OnLine",
        "Perpendicular",
        "UserCoordinate",
        "coordinates_from_points",
        "model_from_points",
        "velocities_from_points",
    ],
    "mechgrad.forces": [
        "BodyContact",
        "Bushing",
        "EllipseTyre",
        "Force",
        "JointFriction",
        "JointSpring",
        "MagicFormulaTyre",
        "Motor",
        "SphereContact",
        "SpringCurve",
        "SpringDamper",
        "TorsionSpring",
        "Tyre",
        "UserForce",
        "WheelContact",
    ],
    "mechgrad.formulations": [
        "ALI3P",
        "FullyRecursive",
        "Index1",
        "MatrixR",
        "Penalty",
        "SemiRecursive",
    ],
    "mechgrad.functions": [
        "Constant",
        "Function",
        "Harmonic",
        "Polynomial",
        "Spline",
        "Table",
    ],
    "mechgrad.kinematics": [
        "BodyMotion",
        "MarkerDerivatives",
        "MarkerMotion",
        "body_jacobian",
        "body_motion",
        "contracted_hessian",
        "independent_coordinates",
        "marker_derivatives",
        "marker_jacobian",
        "marker_motion",
        "solve_accelerations",
        "solve_velocities",
    ],
    "mechgrad.objectives": [
        "AtEnd",
        "AtTime",
        "AtTimes",
        "EndTime",
        "Integral",
        "Objective",
        "Samples",
        "SmoothMaximum",
        "Term",
        "Tracking",
        "smooth_abs",
    ],
    "mechgrad.plots": [
        "basins",
        "constraint_norms",
        "convergence",
        "eigenvalues",
        "energies",
        "front",
        "gait",
        "gradient",
        "histories",
        "motion",
        "optimum",
        "phase",
        "reactions",
        "sensitivities",
        "sensitivity_histories",
        "sensitivity_matrix",
        "torques",
    ],
    "mechgrad.recipes": ["Recipe", "SimulationsFailed", "simulate_all"],
    "mechgrad.results": [
        "BatchCertificate",
        "BatchGradient",
        "CombinedGradient",
        "Efforts",
        "Equilibrium",
        "ForwardDynamicsDerivatives",
        "GuidedMotion",
        "InverseDynamicsDerivatives",
        "Joint",
        "JointReactions",
        "Linearisation",
        "LinearisationDerivatives",
        "Locus",
        "Mobility",
        "Mode",
        "MotionSensitivities",
        "Parameter",
        "Power",
        "Recipe",
        "SavedMotion",
    ],
    "mechgrad.schemes": ["DOP853", "HHT", "RK4", "GeneralizedAlpha", "Newmark", "RungeKutta", "Trapezoidal"],
    "mechgrad.surfaces": ["Bump", "HeightMap", "MovingPlane", "Plane", "Step", "Superellipsoid", "Surface"],
    "mechgrad.shapes": ["Box", "Capsule", "Cylinder", "Mesh", "Ring", "Sphere"],
    "mechgrad.terms": [
        "ConstraintTerms",
        "InverseDynamicsHessian",
        "MotionTerms",
        "Packed",
        "Pattern",
        "ReactionDerivatives",
        "SemiRecursiveTerms",
        "constraint_terms",
        "inverse_dynamics_gradient",
        "inverse_dynamics_hessian",
        "joint_reactions_derivatives",
        "motion_terms",
        "semi_recursive_terms",
    ],
    "mechgrad.visualization": [
        "Scene",
        "Viewer",
        "animation_html",
        "plot_demo",
        "plot_sensitivities",
        "plot_torques",
        "save_scene",
        "scene_of",
        "view",
    ],
}
NAMES = [(room, name) for room, names in ROOMS.items() for name in names]
NAMES += [("mechgrad.measures", name) for name in mechgrad.measures.__all__]  # frozen by tests/measures


@pytest.mark.parametrize("room", ROOMS)
def test_vocabulary_is_frozen(room: str) -> None:
    """Adding, removing, renaming or reordering a public name is a decision: change the list above on purpose."""
    assert list(importlib.import_module(room).__all__) == ROOMS[room]


def test_the_front_door_is_small_and_says_where_the_rest_is() -> None:
    assert len(mechgrad.__all__) <= 50
    shown = dir(mechgrad)
    assert set(mechgrad.__all__) <= set(shown)
    assert {
        "constraints",
        "forces",
        "functions",
        "measures",
        "formulations",
        "schemes",
        "surfaces",
        "motion",
        "drawing",
        "gallery",
    } < set(shown)
    for room in ("constraints", "motion", "kinematics"):
        space = getattr(mechgrad, room)
        assert dir(space) == sorted(space.__all__)
    with pytest.raises(AttributeError, match=r"no attribute 'Driver'; it is mg\.constraints\.Driver"):
        getattr(mechgrad, "Driver")  # noqa: B009
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        mechgrad.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'Universal'; it is mg\.Cardan$"):
        mechgrad.Universal  # noqa: B018


def test_names_that_moved_say_where_they_are() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Separation'; it is mg\.measures\.Distance now"):
        getattr(mechgrad.forces, "Separation")  # noqa: B009
    with pytest.raises(AttributeError, match=r"no attribute 'Separation'; it is mg\.measures\.Distance$"):
        getattr(mechgrad, "Separation")  # noqa: B009
    for old, new in RENAMED.items():
        space, name = old.split(".")
        assert not hasattr(getattr(mechgrad, space), name)
        home, _, what = new.partition("(")[0].partition(".")
        assert what in getattr(mechgrad, home).__all__


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert mechgrad.__version__ == project["version"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{project['version']}] - " in (ROOT / "CHANGELOG.md").read_text()


def undocumented(name: str, thing: object) -> list[str]:
    """The thing and, for a class, its public methods and properties, as far as they have no docstring."""
    missing = [] if inspect.getdoc(thing) else [name]
    if inspect.isclass(thing):
        for key, member in vars(thing).items():
            described = inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)
            # getdoc follows inheritance: an override of a documented method needs no second docstring
            if described and not key.startswith("_") and not inspect.getdoc(getattr(thing, key)):
                missing.append(f"{name}.{key}")
    return missing


@pytest.mark.parametrize(("room", "name"), NAMES)
def test_every_public_name_is_documented(room: str, name: str) -> None:
    thing = getattr(importlib.import_module(room), name)
    assert undocumented(name, thing) == []
    # dataclasses and named tuples without a docstring get their signature as one
    assert not (thing.__doc__ or "").startswith(f"{name}(")


def test_the_documentation_check_can_fail() -> None:
    class Silent:
        def method(self) -> None: ...

    assert undocumented("Silent", Silent) == ["Silent", "Silent.method"]
