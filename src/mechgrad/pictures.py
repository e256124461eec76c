"""Where results find their plots and pages.

Plots and pages are made in `visualization`, which stands above all results and may look at any of them. A result that
is asked for its picture finds the room by name, and only then: nothing here needs a picture in order to work.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["animations", "plots", "reports"]


def animations(kind: str) -> Any:
    """A file of `visualization` that makes solids move: "scene", "saving", "web_page"."""
    return importlib.import_module(f"mechgrad.visualization.{kind}")


def plots(kind: str) -> Any:
    """A file of `visualization.plots`."""
    return importlib.import_module(f"mechgrad.visualization.plots.{kind}")


def reports(kind: str) -> Any:
    """A file of `visualization.reports`."""
    return importlib.import_module(f"mechgrad.visualization.reports.{kind}")
