"""mechgrad: multibody dynamics with exact sensitivities.

>>> import mechgrad as mg
>>> bob = mg.Body("bob", mass=2, com=(0, 0, -1))
>>> model = mg.Model("pendulum", [bob], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))])
>>> swing = mg.simulate(model, {"pin": 0.5}, 2.0)
>>> by = mg.gradient(swing, mg.AtEnd(mg.measures.JointCoordinate("pin")), ["bob.mass", "bob.com.z"])

What is it?         Model of Body, joints (Revolute, Prismatic, ..), Point, Vector; load_model, save_model, dh_model
                    constraints.*  what holds it       forces.*  what acts on it      functions.*  of time
                    surfaces.*     what it rolls on
                    drawing.*      from points         gallery.* to start from        Load, DesignVariable
Where is it?        state, assemble, equilibrium -> State; mobility; kinematics.*  poses, velocities, Jacobians
What acts?          inverse_dynamics, forward_dynamics, mass_matrix, joint_reactions, and .._derivatives; terms.*
How does it move?   simulate -> Trajectory; recipes.*  many of them; kinematic_motion; formulations.*, schemes.*
What is seen?       view in the browser, motion.save("swing.html"), shapes.*; plots.*, .plot(), .report("page.html")
Is it stable?       linearise -> Linearisation: A, B, C, D, modes, eigenvalues over a number, and derivatives
What if?            gradient -> Gradient of objectives.* (Integral, AtEnd, AtTime, Tracking) of measures.*
What is best?       DesignProblem of numbers, with design.* (WorstCase, LeastSquares, Limit, ..); motion.MotionProblem
Is it right?        certify, certify_model, Gradient.certify -> Certificate
What went wrong?    MechgradError and its kinds, StepFailed (with the motion so far); errors.*, results.* for type hints

Every name has a docstring with its equation, units and an example: help(mg.simulate). Numbers are SI, angles radians.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers read; imported when it is asked for, since half of it needs the compiler
    from mechgrad import constraints as constraints
    from mechgrad import design as design
    from mechgrad import drawing as drawing
    from mechgrad import errors as errors
    from mechgrad import forces as forces
    from mechgrad import formulations as formulations
    from mechgrad import functions as functions
    from mechgrad import gallery as gallery
    from mechgrad import kinematics as kinematics
    from mechgrad import measures as measures
    from mechgrad import motion as motion
    from mechgrad import objectives as objectives
    from mechgrad import plots as plots
    from mechgrad import recipes as recipes
    from mechgrad import results as results
    from mechgrad import schemes as schemes
    from mechgrad import shapes as shapes
    from mechgrad import surfaces as surfaces
    from mechgrad import terms as terms
    from mechgrad.dynamics.equilibrium import equilibrium as equilibrium
    from mechgrad.errors import AssemblyError as AssemblyError
    from mechgrad.errors import InputError as InputError
    from mechgrad.errors import MechgradError as MechgradError
    from mechgrad.errors import MechgradWarning as MechgradWarning
    from mechgrad.errors import ModelError as ModelError
    from mechgrad.inverse.loads import Load as Load
    from mechgrad.io import load_model as load_model
    from mechgrad.io import save_model as save_model
    from mechgrad.kinematics.assembly import assemble as assemble
    from mechgrad.kinematics.mobility import mobility as mobility
    from mechgrad.kinematics.state import State as State
    from mechgrad.kinematics.state import state as state
    from mechgrad.linearisation.small_motions import linearise as linearise
    from mechgrad.mechanics.acceleration_derivatives import forward_dynamics_derivatives as forward_dynamics_derivatives
    from mechgrad.mechanics.accelerations import forward_dynamics as forward_dynamics
    from mechgrad.mechanics.inertia import mass_matrix as mass_matrix
    from mechgrad.mechanics.reactions import joint_reactions as joint_reactions
    from mechgrad.mechanics.torque_derivatives import inverse_dynamics_derivatives as inverse_dynamics_derivatives
    from mechgrad.mechanics.torques import inverse_dynamics as inverse_dynamics
    from mechgrad.model import Body as Body
    from mechgrad.model import Cardan as Cardan
    from mechgrad.model import Cylindrical as Cylindrical
    from mechgrad.model import DesignVariable as DesignVariable
    from mechgrad.model import Fixed as Fixed
    from mechgrad.model import Floating as Floating
    from mechgrad.model import Model as Model
    from mechgrad.model import Planar as Planar
    from mechgrad.model import Point as Point
    from mechgrad.model import Prismatic as Prismatic
    from mechgrad.model import Revolute as Revolute
    from mechgrad.model import Spherical as Spherical
    from mechgrad.model import Vector as Vector
    from mechgrad.model import dh_model as dh_model
    from mechgrad.optimization.design import DesignProblem as DesignProblem
    from mechgrad.sensitivities import AtEnd as AtEnd
    from mechgrad.sensitivities import AtTime as AtTime
    from mechgrad.sensitivities import Certificate as Certificate
    from mechgrad.sensitivities import Gradient as Gradient
    from mechgrad.sensitivities import Integral as Integral
    from mechgrad.sensitivities import Tracking as Tracking
    from mechgrad.sensitivities import certify as certify
    from mechgrad.sensitivities import certify_model as certify_model
    from mechgrad.sensitivities.gradient import gradient as gradient
    from mechgrad.sensitivities.gradient import motion_sensitivities as motion_sensitivities
    from mechgrad.simulation.guided import kinematic_motion as kinematic_motion
    from mechgrad.simulation.simulate import simulate as simulate
    from mechgrad.simulation.trajectory import StepFailed as StepFailed
    from mechgrad.simulation.trajectory import Trajectory as Trajectory
    from mechgrad.visualization.viewer import view as view

__version__ = "0.2.0"

# In the order a script uses them. There is no __all__ here: see __getattr__.
_NAMES = [
    # what is it?
    "Model", "Body", "Point", "Vector", "Fixed", "Revolute", "Prismatic", "Cylindrical", "Cardan",
    "Planar", "Spherical", "Floating", "Load", "DesignVariable", "dh_model", "load_model", "save_model",
    # where is it?
    "State", "state", "assemble", "equilibrium", "mobility",
    # what acts?
    "inverse_dynamics", "inverse_dynamics_derivatives", "forward_dynamics", "forward_dynamics_derivatives",
    "mass_matrix", "joint_reactions",
    # how does it move?
    "simulate", "kinematic_motion", "Trajectory", "view",
    # is it stable?
    "linearise",
    # what if?
    "gradient", "motion_sensitivities", "Gradient", "Integral", "AtEnd", "AtTime", "Tracking",
    # what is best?
    "DesignProblem",
    # is it right?
    "certify", "certify_model", "Certificate",
    # what went wrong?
    "MechgradError", "ModelError", "InputError", "AssemblyError", "StepFailed", "MechgradWarning",
]  # fmt: skip

_NAMESPACES = (
    "constraints", "design", "drawing", "errors", "forces", "formulations", "functions", "gallery", "kinematics",
    "measures", "motion", "objectives", "plots", "recipes", "results", "schemes", "shapes",
    "surfaces", "terms",
)  # fmt: skip

# Where names are imported from, when they are asked for: the same as for type checkers above.
_HOMES = {
    name: module
    for module, names in {
        "mechgrad.dynamics.equilibrium": "equilibrium",
        "mechgrad.errors": "AssemblyError InputError MechgradError MechgradWarning ModelError",
        "mechgrad.inverse.loads": "Load",
        "mechgrad.io": "load_model save_model",
        "mechgrad.kinematics.assembly": "assemble",
        "mechgrad.kinematics.mobility": "mobility",
        "mechgrad.kinematics.state": "State state",
        "mechgrad.linearisation.small_motions": "linearise",
        "mechgrad.mechanics.acceleration_derivatives": "forward_dynamics_derivatives",
        "mechgrad.mechanics.accelerations": "forward_dynamics",
        "mechgrad.mechanics.inertia": "mass_matrix",
        "mechgrad.mechanics.reactions": "joint_reactions",
        "mechgrad.mechanics.torque_derivatives": "inverse_dynamics_derivatives",
        "mechgrad.mechanics.torques": "inverse_dynamics",
        "mechgrad.model": (
            "Body Cardan Cylindrical DesignVariable Fixed Floating "
            "Model Planar Point Prismatic Revolute Spherical "
            "Vector dh_model"
        ),
        "mechgrad.sensitivities": ("AtEnd AtTime Certificate Gradient Integral Tracking certify certify_model"),
        "mechgrad.sensitivities.gradient": "gradient motion_sensitivities",
        "mechgrad.simulation.guided": "kinematic_motion",
        "mechgrad.simulation.simulate": "simulate",
        "mechgrad.simulation.trajectory": "StepFailed Trajectory",
        "mechgrad.optimization.design": "DesignProblem",
        "mechgrad.visualization.viewer": "view",
    }.items()
    for name in names.split()
}


_SAME = {"Universal": "Cardan"}  # other names of what is here, which files know as well


def __getattr__(name: str) -> Any:
    """A name of the front door, imported when it is first asked for.

    `from mechgrad import *` brings all of them, and so __all__ is answered, but not to pydoc, which prints every class
    that stands there from head to foot (4000 lines), where help(mechgrad) is meant to be the page above. Who asks is
    what tells the two apart; without that, one of them would have to go.
    """
    if name == "__all__":
        frame = importlib.import_module("inspect").currentframe()
        if frame is not None and frame.f_back.f_globals.get("__name__") == "pydoc":
            raise AttributeError("help(mechgrad) is its docstring")
        return list(_NAMES)
    if name in _HOMES:
        found = getattr(importlib.import_module(_HOMES[name]), name)
    elif not name.startswith("_") and importlib.util.find_spec(f"mechgrad.{name}") is not None:
        found = importlib.import_module(f"mechgrad.{name}")
    else:
        raise AttributeError(f"module 'mechgrad' has no attribute {name!r}{_moved(name)}")
    globals()[name] = found
    return found


def _moved(name: str) -> str:
    """Where a name lives that is not at the top."""
    spaces = [importlib.import_module(f"mechgrad.{space}") for space in _NAMESPACES]
    homes = [f"{space.__name__[9:]}.{name}" for space in spaces if name in getattr(space, "__all__", ())]
    moved = importlib.import_module("mechgrad.renamed").RENAMED
    homes += [_SAME[name]] if name in _SAME else []
    homes += [home for old, home in moved.items() if old.split(".")[1] == name]
    return f"; it is mg.{homes[0]}" if homes else ""


def __dir__() -> list[str]:
    return sorted([*_NAMES, *_NAMESPACES, "__version__"])
