"""Examples in docstrings run, with a pendulum called `model` at hand."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import mechgrad as mg
from mechgrad import gallery

NAMES = sorted(
    info.name
    for info in pkgutil.walk_packages(mg.__path__, "mechgrad.")
    if ".kernels" not in info.name and ".cli" not in info.name and "__main__" not in info.name
)
PENDULUM = mg.Model(
    "pendulum", [mg.Body("bob", mass=2, com=(0, 0, -1))], [mg.Revolute("pin", "ground", "bob", axis=(0, 1, 0))]
)
GLOBALS = {
    **{name: getattr(mg, name) for name in mg.__all__},
    **{name: getattr(gallery, name) for name in gallery.__all__},
    "mg": mg,
    "np": np,
    "model": PENDULUM,
    "pendulum": PENDULUM,
}


@pytest.mark.parametrize("name", NAMES)
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    result = doctest.testmod(
        module, extraglobs={k: v for k, v in GLOBALS.items() if not hasattr(module, k)}, optionflags=doctest.ELLIPSIS
    )
    assert result.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    with_examples = [
        name for name in mg.__all__ if any(test.examples for test in finder.find(getattr(mg, name), name, globs={}))
    ]
    assert len(with_examples) > 0.6 * len(mg.__all__), with_examples
