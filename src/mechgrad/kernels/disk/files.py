"""Files of Numba's cache with a checksum before their content.

    magic, SHA-256 of the rest, the rest as Numba writes it

What was cut short, altered or written by something else is not unpickled but counts as missing, so it is compiled and
written once more. The checksum finds accidents; strangers are kept out by the place (`place.py`).
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

__all__ = ["CheckedFiles"]

MAGIC = b"mechgrad kernel 1\n"
_HEAD = len(MAGIC) + 32


def sealed(data: bytes) -> bytes:
    """Data with the checksum before it."""
    return MAGIC + hashlib.sha256(data).digest() + data


def opened(path: Path) -> bytes | None:
    """The data of a file, or None if it is not there or not as it was written."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    data = content[_HEAD:]
    return data if content[:_HEAD] == MAGIC + hashlib.sha256(data).digest() else None


class CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The index and the data of one function; what cannot be read is as if it were not there."""

    def load(self, key: Any) -> Any:
        name = self._load_index().get(key)
        return None if name is None else self._load_data(name)

    def _load_index(self) -> dict[Any, str]:
        found = _unpickled(opened(Path(self._index_path)))
        if not isinstance(found, tuple) or len(found) != 3:
            return {}
        version, stamp, overloads = found
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        with self._open_for_write(self._index_path) as file:
            file.write(sealed(self._dump((self._version, self._source_stamp, overloads))))

    def _load_data(self, name: str) -> Any:
        return _unpickled(opened(Path(self._data_path(name))))

    def _save_data(self, name: str, data: Any) -> None:
        with self._open_for_write(self._data_path(name)) as file:
            file.write(sealed(self._dump(data)))


def _unpickled(data: bytes | None) -> Any:
    """What the data say; None where this version of Python and its packages cannot make sense of them."""
    if data is None:
        return None
    try:
        return pickle.loads(data)
    except Exception:  # whatever a class of another version says to its state
        return None
