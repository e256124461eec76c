"""The cache of one kernel: what is there and sound is loaded; what is not is compiled by one process, once.

Numba asks `load_overload` first, which looks into the pack that came with the package, then on disk. If that finds
nothing, it holds the lock of the kernel from there on, looks again (the process before may just have finished), and
lets go in `save_overload`, or when compilation failed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import event as numba_event
from numba.core.caching import FunctionCache

from mechgrad.kernels.disk import notices
from mechgrad.kernels.disk.files import CheckedFiles
from mechgrad.kernels.disk.locks import FileLock
from mechgrad.kernels.disk.packs import Pack
from mechgrad.kernels.disk.place import said

__all__ = ["KernelCache", "keep"]

PATIENCE = 60.0, 10.0
"""How long another process is waited for: so many seconds, and so many times what compilation should take."""


def keep(compiled: Any, folder: Path, name: str, pack: Pack | None = None) -> None:
    """Keep the machine code of a function; to be called with Numba's cache directory set to `folder`.

    pack : machine code that came with the package, if it fits
    """
    if hasattr(compiled, "enable_caching"):  # not where compilation is switched off
        compiled._cache = KernelCache(compiled.py_func, folder / "locks" / f"{name}.lock", name, pack)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, with checked files and a lock."""

    def __init__(self, function: Callable[..., Any], lock: Path, name: str, pack: Pack | None = None) -> None:
        super().__init__(function)
        self._pack = pack
        files = self._cache_file
        base = files._index_name.removesuffix(".nbi")
        self._cache_file = CheckedFiles(self._cache_path, base, files._source_stamp)
        self._lock, self._name_of_kernel = FileLock(lock), name

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for a signature, or None: then the caller compiles, and the lock is held."""
        found = self._sound(sig, target_context)
        if found is None:
            seconds = notices.expected(self._name_of_kernel)
            if self._lock.acquire(PATIENCE[0] + PATIENCE[1] * seconds, self._told):
                found = self._sound(sig, target_context)
                if found is not None:
                    self.release()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep machine code; where that cannot be, it serves this process alone."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            said(f"machine code of {self._name_of_kernel} cannot be kept in {self._cache_path} ({error.strerror}).")
        finally:
            self.release()

    def release(self) -> None:
        """Let other processes have the kernel."""
        self._lock.release()

    def _sound(self, sig: Any, target_context: Any) -> Any:
        try:
            kept = None if self._pack is None else self._pack.load(self._name_of_kernel, sig)
            if kept is not None:
                target_context.refresh()
                result = self._impl.rebuild(target_context, kept)
                result.library._shared_module = None  # of names only: linking it must fail
                return result
        except Exception:  # code that cannot be made to run here: as if it were not there
            pass
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # sound files that the compiler cannot make sense of: as if they were not there
            return None

    def _told(self) -> None:
        seconds = notices.expected(self._name_of_kernel)
        said(f"another process compiles {notices.short(self._name_of_kernel)} for this machine; waiting for it "
             f"(about {seconds:.0f} s) ...")  # fmt: skip


class _Release(numba_event.Listener):  # type: ignore[misc]
    """Lets go of the lock of a kernel whose compilation failed or was interrupted."""

    def on_start(self, event: Any) -> None:
        pass

    def on_end(self, event: Any) -> None:
        cache = getattr(event.data["dispatcher"], "_cache", None)
        if notices.failed(event) and isinstance(cache, KernelCache):
            cache.release()


numba_event.register("numba:compile", _Release())
