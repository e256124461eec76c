"""Archives of numbers and strings, as numpy.savez writes them, with a name and a version; read without pickle."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mechgrad.errors import InputError
from mechgrad.typing import FloatArray


class Archive(NamedTuple):
    """A kind of archive.

    format, version : what a file says that it is
    noun : what it holds;   writer : the function that writes it
    """

    format: str
    version: int
    noun: str
    writer: str

    def write(self, path: Path, content: Mapping[str, Any]) -> None:
        """Write a file; an earlier one of that name is replaced."""
        with path.open("wb") as file:
            np.savez(file, format=self.format, version=self.version, **content)

    def read(self, path: Path, missing: str = "") -> dict[str, Any]:
        """All entries of a file, which is of this kind and in a version that is known; `missing` says what to do where
        there is none."""
        try:
            there = path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            there = False
        if not there:
            raise InputError(
                f"{path}: there is no such {self.noun} (looked in {path.absolute().parent}). "
                + (missing or f"{self.writer} writes one.")
            )
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                content = {key: archive[key] for key in archive.files}
        except (ValueError, OSError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
            # np.load gives a bare array for a .npy file, and refuses pickled objects with a ValueError
            raise self.damaged(path, "it is no archive of numbers as numpy.savez writes them") from error
        if str(content.get("format", "")) != self.format or "version" not in content:
            holds = ", ".join(content) or "nothing"
            raise self.damaged(path, f"it does not say that it is a {self.format!r}; it holds {holds}")
        version = content["version"].tolist()
        if version != self.version:
            raise InputError(
                f"{path}: a {self.noun} in version {version} of the format; this mechgrad reads version "
                f"{self.version}. Read it with the mechgrad that wrote it, or update this one."
            )
        return content

    def numbers(self, path: Path, content: Mapping[str, Any], name: str) -> FloatArray:
        """An entry of finite numbers."""
        found = content[name]
        if found.dtype.kind not in "fiu" or not found.ndim or not np.isfinite(found).all():
            raise self.damaged(path, f"{name} is no array of finite numbers")
        return np.asarray(found, float)

    def damaged(self, path: Path, what: str) -> InputError:
        """What is wrong with a file, and what to do."""
        return InputError(f"{path}: {what}. The file is damaged or no {self.noun}; write it again with {self.writer}.")


def kind_of(path: Path) -> str:
    """What an archive says that it is; "" where there is none, or it says nothing."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return str(archive["format"])
    except (ValueError, OSError, EOFError, AttributeError, TypeError, KeyError, zipfile.BadZipFile):
        return ""
