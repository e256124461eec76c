"""Where machine code is kept.

    $MECHGRAD_CACHE_DIR/<hash>           if that variable is set
    <user cache>/mechgrad/<hash>         otherwise
    <temporary>/mechgrad-<user>/<hash>   where neither can be written to: a folder that nobody else can enter

Machine code is unpickled and run. The last place is one that anybody could have prepared, so it is used only if it is a
folder of ours with mode 0700; otherwise a fresh one is made for this process and removed at its end.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import sys
import tempfile
from pathlib import Path

__all__ = ["choose", "clean", "private_folder", "said"]


def said(text: str) -> None:
    """A line on the error stream, unless MECHGRAD_QUIET is set."""
    if not os.environ.get("MECHGRAD_QUIET"):
        print(f"mechgrad: {text}", file=sys.stderr, flush=True)


def choose(name: str) -> Path:
    """The folder called `name` for machine code, made if it is not there."""
    path = _root() / name
    if _writable(path):
        return path
    kept = private_folder() / name
    kept.mkdir(exist_ok=True)
    return kept


def clean(current: Path) -> list[Path]:
    """Delete the machine code of other versions of the package, beside `current`; returns what was deleted."""
    ours = re.compile(r"[0-9a-f]{16}")
    stale = [p for p in current.parent.iterdir() if p.is_dir() and p != current and ours.fullmatch(p.name)]
    for path in stale:
        shutil.rmtree(path, ignore_errors=True)
    return stale


def private_folder() -> Path:
    """A folder in the temporary directory that only this user can enter: the usual one, or a fresh one."""
    uid = str(os.getuid()) if hasattr(os, "getuid") else "user"
    path = Path(tempfile.gettempdir()) / f"mechgrad-{uid}"
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        wrong = _not_private(path)
    except OSError as error:
        wrong = f"cannot be made ({error.strerror})"
    else:
        return path
    if wrong is None:
        return path
    fresh = Path(tempfile.mkdtemp(prefix="mechgrad-"))
    atexit.register(shutil.rmtree, fresh, ignore_errors=True)
    said(
        f"the folder {path} {wrong}; machine code from it is not run. Kernels are compiled for this process alone. "
        "Remove that folder, or set MECHGRAD_CACHE_DIR to one of yours."
    )
    return fresh


def _not_private(path: Path) -> str | None:
    """What keeps a folder from being ours alone; None if nothing does."""
    found = os.lstat(path)  # a link says nothing of what it leads to
    if not stat.S_ISDIR(found.st_mode):
        return "is a link or no folder"
    if not hasattr(os, "getuid"):
        return None  # temporary directories of Windows belong to their users
    if found.st_uid != os.getuid():
        return f"belongs to user {found.st_uid}"
    if found.st_mode & 0o077:
        return f"is open to others (mode {stat.S_IMODE(found.st_mode):04o})"
    return None


def _root() -> Path:
    if chosen := os.environ.get("MECHGRAD_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "mechgrad"


def _writable(path: Path) -> bool:
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False
