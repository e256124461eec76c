"""three.js, which draws in the browser: taken from the wheel of trimesh, which ships it inside of its viewer page."""

from __future__ import annotations

import io
import re
import zipfile
from functools import cache
from importlib.metadata import version

from mechgrad.errors import MechgradError

__all__ = ["ViewerUnavailableError", "three_js"]

_ARCHIVE, _PAGE = "templates/viewer.zip", "viewer.html.template"
# the licence, then the whole library on one line; helpers of that page follow on others
_SCRIPT = re.compile(r"(/\*\*\s*\* @license\s*\* Copyright [\d-]+ Three\.js Authors[^/]*\*/\s*![^\n]*\.THREE=[^\n]+)\n")


class ViewerUnavailableError(MechgradError, ImportError):
    """An animation was asked for, and what draws it is not installed."""


@cache
def three_js() -> str:
    """The source of three.js (MIT), as one classic script that defines THREE.

    >>> "THREE" in three_js()
    True
    """
    try:
        from trimesh import resources
    except ImportError as error:
        raise ViewerUnavailableError(
            "animations need trimesh, which brings three.js and reads meshes, and it is not installed. Install it "
            "with:  pip install mechgrad[viz]"
        ) from error
    try:
        archive = zipfile.ZipFile(io.BytesIO(resources.get_bytes(_ARCHIVE)))
        page = archive.read(_PAGE).decode("utf-8")
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ViewerUnavailableError(_moved()) from error
    found = _SCRIPT.search(page)
    if found is None:
        raise ViewerUnavailableError(_moved())
    return found.group(1)


def _moved() -> str:
    return (
        f"trimesh {version('trimesh')} does not ship three.js where versions 4.4 to 5.2 do ({_ARCHIVE}). Install one "
        "of these:  pip install 'trimesh<5.3'"
    )
