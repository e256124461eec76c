import doctest
import importlib
import pkgutil

import pytest

import mechgrad.model.joints
from mechgrad import model

MODULES = ["mechgrad.errors"] + [
    info.name
    for package in (model, mechgrad.model.joints)
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
