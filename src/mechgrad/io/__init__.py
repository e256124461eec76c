"""Models, recipes, motions and certificates to and from files: knows how they are written down, and neither what they
mean nor whether they make sense."""

from mechgrad.io.certificates import certificate_to_dict, save_certificate
from mechgrad.io.motion_files import load_motion, save_motion
from mechgrad.io.recipes import load_recipe, recipe_from_dict, recipe_to_dict, save_recipe
from mechgrad.io.toml import ModelFileError, ModelFileNotFoundError, load_model, save_model
from mechgrad.io.trajectories import load_trajectory, save_trajectory

__all__ = [
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
]
