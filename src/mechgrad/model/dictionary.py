"""A model as plain dictionaries, lists, strings and floats (what a TOML or JSON file holds), and back, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from mechgrad.errors import ModelError, ShapeError, ValueRangeError, unknown_name
from mechgrad.model.body import Body
from mechgrad.model.constraints import CONSTRAINT_TYPES
from mechgrad.model.forces import FORCE_TYPES
from mechgrad.model.functions import Constant, Function
from mechgrad.model.joints import JOINT_TYPES
from mechgrad.model.markers import Point, Vector
from mechgrad.model.primitives.fields import is_default, where
from mechgrad.model.primitives.measure_entries import measure_to_dict
from mechgrad.model.primitives.rows import RowMeasure
from mechgrad.model.shapes import Shape
from mechgrad.model.surfaces import Surface
from mechgrad.model.variables import DesignVariable

if TYPE_CHECKING:
    from mechgrad.model.model_parts import ModelParts


_PLAIN_NOUNS: dict[str, type] = {"bodies": Body, "points": Point, "vectors": Vector, "variables": DesignVariable}
_TYPED_NOUNS: dict[str, Mapping[str, type]] = {
    "joints": JOINT_TYPES,
    "constraints": CONSTRAINT_TYPES,
    "forces": FORCE_TYPES,
}
_GROUPS = ("bodies", "joints", "points", "vectors", "constraints", "forces", "variables")


def model_to_dict(model: ModelParts) -> dict[str, Any]:
    """Everything that is not a default; joints, constraints, forces and functions carry their `type`.

    {"name": ..., "gravity": [...], "bodies": [{"name": ..., "mass": ...}], "joints": [{"type": "revolute", ...}], ...}
    """
    result: dict[str, Any] = {"name": model.name, "gravity": _plain(model.gravity, "gravity")}
    if model.cut:
        result["cut"] = list(model.cut)
    for group in _GROUPS:
        items = [_item_to_dict(item) for item in getattr(model, group)]
        if items:
            result[group] = items
    return result


def model_arguments(data: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Model` from the dictionary of a model."""
    known = ("name", "gravity", "cut", *_GROUPS)
    for key in data:
        if key not in known:
            raise unknown_name("key", key, known, f"model {data.get('name', '?')!r}")
    if "name" not in data:
        raise ModelError("the model has no 'name'. Add name = \"...\".")
    arguments: dict[str, Any] = {key: data[key] for key in ("name", "gravity", "cut") if key in data}
    for group, cls in _PLAIN_NOUNS.items():
        arguments[group] = [_build(cls, item, f"{group}[{i}]") for i, item in enumerate(data.get(group, ()))]
    for group, types in _TYPED_NOUNS.items():
        items = enumerate(data.get(group, ()))
        arguments[group] = [_build_typed(types, group[:-1], item, f"{group}[{i}]") for i, item in items]
    return arguments


def _item_to_dict(item: Any) -> dict[str, Any]:
    result: dict[str, Any] = {"type": item.type_name} if hasattr(item, "type_name") else {}
    for f in fields(item):
        if not is_default(item, f):
            result[f.name] = _plain(getattr(item, f.name), f"{where(item)}: {f.name}")
    return result


def _plain(value: Any, what: str) -> Any:
    if isinstance(value, Function):
        return _plain(value.value, what) if isinstance(value, Constant) else _item_to_dict(value)
    if isinstance(value, Surface):
        return _item_to_dict(value)
    if isinstance(value, RowMeasure):
        return measure_to_dict(value, what)
    if callable(value):
        raise ValueRangeError(
            f"{what} is a Python function, which a file cannot hold. Write the model without its owner and add that "
            "in Python."
        )
    if np.iscomplexobj(value):
        raise ValueRangeError(f"{what} is complex: a model in the middle of a complex step cannot be written.")
    if isinstance(value, np.ndarray):
        if value.ndim == 2 and np.array_equal(value, np.diag(value.diagonal())):
            return value.diagonal().tolist()
        return value.tolist()
    if isinstance(value, tuple) and value and isinstance(value[0], Shape):
        return [shape.to_dict() for shape in value]
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return _plain_targets(value, what)
    return list(value) if isinstance(value, tuple) else value


def _plain_targets(targets: tuple[tuple[str, Any], ...], what: str) -> list[str] | dict[str, float]:
    for path, map_ in targets:
        if callable(map_):
            raise ValueRangeError(
                f"{what}: the map of {path!r} is a Python function, which a file cannot hold. "
                "Write the model without this variable and add it in Python."
            )
    if all(factor == 1.0 for _, factor in targets):
        return [path for path, _ in targets]
    return dict(targets)


def _build(cls: type, data: Any, place: str) -> Any:
    if not isinstance(data, Mapping):
        raise ShapeError(f"{place} is {data!r}, but must be a table with the fields of a {cls.__name__}.")
    label = f"{place} ({data['name']!r})" if "name" in data else place
    names = [f.name for f in fields(cls)]
    for key in data:
        if key not in names:
            raise unknown_name(f"field of {cls.__name__}", key, names, label)
    for f in fields(cls):
        if f.default is MISSING and f.name not in data:
            raise ModelError(f"{label}: the field {f.name!r} of {cls.__name__} is missing. Fields: {', '.join(names)}.")
    return cls(**data)


def _build_typed(types: Mapping[str, type], noun: str, data: Any, place: str) -> Any:
    if not isinstance(data, Mapping) or "type" not in data:
        raise ModelError(f"{place} must be a table with a 'type', one of {', '.join(types)}; got {data!r}.")
    if data["type"] not in types:
        raise unknown_name(f"{noun} type", data["type"], types, f"{place} ({data.get('name', '?')!r})")
    return _build(types[data["type"]], {key: value for key, value in data.items() if key != "type"}, place)
