"""What solvers remark on the way is kept back, what mechgrad warns of is not; in several threads at once."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from mechgrad.errors import MechgradWarning

_lock = threading.Lock()
_inside = 0
_filters = ExitStack()


@contextmanager
def without_remarks() -> Iterator[None]:
    """Warnings of other packages are ignored; those of mechgrad pass as the user's filters say.

    Filters belong to the whole process, so that of several threads the first one in sets them and the last one out
    sets them back.

    >>> with without_remarks():
    ...     warnings.warn("clipped", RuntimeWarning)
    """
    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            _filters.enter_context(warnings.catch_warnings())
            _ignore_others()
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _filters.close()


def _ignore_others() -> None:
    """Ignore everything but our warnings, for which the filters that were there come first."""
    given: list[tuple[Any, Any, Any, Any, int]] = list(warnings.filters)
    ours = [f for f in given if issubclass(MechgradWarning, f[2]) or issubclass(f[2], MechgradWarning)]
    warnings.simplefilter("ignore")
    warnings.simplefilter("default", MechgradWarning)
    for action, message, category, module, line in reversed(ours):
        category = category if issubclass(category, MechgradWarning) else MechgradWarning
        texts = [getattr(x, "pattern", x) or "" for x in (message, module)]
        warnings.filterwarnings(action, texts[0], category, texts[1], line)
