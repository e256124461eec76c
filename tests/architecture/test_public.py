"""The public vocabulary: frozen, documented, and all of it there."""

from __future__ import annotations

import importlib
import inspect
import tomllib
from pathlib import Path

import pytest

import mechgrad

ROOT = Path(__file__).resolve().parents[2]

VOCABULARY = [
    "Model", "Body", "Point", "Vector",
    "Joint", "Fixed", "Revolute", "Prismatic", "Cylindrical", "Cardan", "Universal", "Planar", "Spherical", "Floating",
    "DenavitHartenberg", "DHRow", "dh_model", "DesignVariable", "Parameter", "save_model", "load_model",
    "Constraint", "SamePoint", "FixedDistance", "PointInPlane", "PointOnLine", "DotProduct", "Parallel", "SameVector",
    "AngleBetween", "LinearCombination", "Gear", "Driver", "GuidedPoint", "Rolling",
    "Force", "SpringDamper", "SpringCurve", "JointSpring", "TorsionSpring", "Bushing", "Motor", "JointFriction",
    "SphereContact", "WheelContact", "Tyre", "UserForce", "Separation", "Coordinate", "Height", "Offset",
    "Function", "Constant", "Polynomial", "Harmonic", "Table", "Spline",
    "model_from_points", "NaturalBody", "NaturalModel", "Perpendicular", "OnLine", "InPlane", "UserDistance",
    "UserAngle", "UserCoordinate",
    "body_motion", "BodyMotion", "body_jacobian", "marker_motion", "MarkerMotion", "marker_jacobian",
    "marker_derivatives", "MarkerDerivatives", "contracted_hessian",
    "assemble", "State", "solve_velocities", "solve_accelerations", "mobility", "Mobility", "independent_coordinates",
    "kinematic_motion", "GuidedMotion", "coordinates_from_points", "velocities_from_points",
    "Load", "inverse_dynamics", "inverse_dynamics_derivatives", "InverseDynamicsDerivatives",
    "inverse_dynamics_gradient", "inverse_dynamics_hessian", "InverseDynamicsHessian",
    "joint_reactions", "joint_reactions_derivatives", "JointReactions", "ReactionDerivatives", "mass_matrix",
    "forward_dynamics", "forward_dynamics_derivatives", "ForwardDynamicsDerivatives", "Packed", "Pattern",
    "semi_recursive_terms", "SemiRecursiveTerms", "motion_terms", "MotionTerms",
    "constraint_terms", "ConstraintTerms", "equilibrium", "Equilibrium", "Power",
    "simulate", "Trajectory", "Efforts", "ALI3P", "MatrixR", "Index1", "Penalty", "SemiRecursive", "FullyRecursive",
    "Trapezoidal", "Newmark", "HHT", "GeneralizedAlpha", "RK4", "DOP853",
    "gradient", "Gradient", "motion_sensitivities", "MotionSensitivities", "Objective", "Integral", "AtEnd", "AtTime",
    "Tracking", "Samples", "smooth_abs", "Measure", "JointCoordinate", "JointVelocity", "JointAcceleration",
    "PointPosition", "PointVelocity", "PointAcceleration", "Distance", "Angle", "KineticEnergy", "PotentialEnergy",
    "Multiplier", "JointReaction", "Effort",
    "certify", "certify_model", "Certificate",
    "MechgradError", "ModelError", "InputError", "AssemblyError", "SingularMassMatrixError", "StepFailed",
    "NoEquilibriumError", "CertificateError", "MechgradWarning", "IdleGravityWarning",
]  # fmt: skip

ROOMS = {
    "mechgrad": VOCABULARY,
    "mechgrad.io": [
        "ModelFileError",
        "ModelFileNotFoundError",
        "load_model",
        "load_motion",
        "save_model",
        "save_motion",
    ],
    "mechgrad.gallery": [
        "WALKER_SEGMENTS",
        "Gait",
        "GaitCheck",
        "arm7",
        "bicycle",
        "bicycle_start",
        "bricard",
        "chain",
        "double_pendulum",
        "five_bar",
        "five_bar_start",
        "four_bars",
        "four_bars_angle",
        "free_top",
        "free_top_motion",
        "gait",
        "heavy_top",
        "heavy_top_height",
        "human",
        "human_motion",
        "seven_body",
        "seven_body_end",
        "seven_body_start",
        "slider_crank",
        "walker",
        "walker_limits",
        "walker_mirror",
    ],
    "mechgrad.visualization": ["plot_demo", "plot_sensitivities", "plot_torques"],
}
NAMES = [(room, name) for room, names in ROOMS.items() for name in names]


@pytest.mark.parametrize("room", ROOMS)
def test_vocabulary_is_frozen(room: str) -> None:
    """Adding, removing, renaming or reordering a public name is a decision: change the list above on purpose."""
    assert list(importlib.import_module(room).__all__) == ROOMS[room]


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
