"""Models and motions to and from files: knows how they are written down, and neither what they mean nor whether they
make sense."""

from mechgrad.io.motion import load_motion, save_motion
from mechgrad.io.toml import ModelFileError, ModelFileNotFoundError, load_model, save_model

__all__ = ["ModelFileError", "ModelFileNotFoundError", "load_model", "load_motion", "save_model", "save_motion"]
