"""What is printed, as code that can be run."""

from __future__ import annotations

import re

import mechgrad as mg


def named(text):
    """A repr with the namespaces of its names."""
    spaces = (mg, mg.constraints, mg.forces, mg.functions, mg.surfaces)
    known = {name: space.__name__.replace("mechgrad", "mg", 1) for space in spaces for name in space.__all__}
    return re.sub(r"\b([A-Z]\w+)\(", lambda m: f"{known[m[1]]}.{m[1]}(", text)
