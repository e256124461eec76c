"""Models to and from files: knows how a model is written down, and neither what it means nor whether it makes sense."""

from mechgrad.io.toml import ModelFileError, ModelFileNotFoundError, load_model, save_model

__all__ = ["ModelFileError", "ModelFileNotFoundError", "load_model", "save_model"]
