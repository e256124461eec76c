"""Model files in TOML, for people to read and to write.

    [model]        name, gravity, cut (names of the joints that close loops; found if left out)
    [[bodies]]     name, mass, com, inertia (three numbers if diagonal)
    [[joints]]     kind = "revolute", name, parent, child, then the numbers of that kind
    [[points]]     name, body, position
    [[vectors]]    name, body, direction
    [[constraints]], [[forces]]    kind, name, then the fields of that kind; a function is a number or a table
    [[variables]]  name, value, bounds, scale, targets (a list of paths, or a table path = factor)

Keys are the fields of the classes; fields at their default are left out. One word differs: in a file `kind` says which
joint, constraint or force it is, so the field `kind` of a Denavit-Hartenberg joint is called `motion` there, and that
of a constraint or a force `shape`. Floats are written with all
their digits, so that a model read back equals the one that was saved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import tomli_w

from mechgrad.errors import ModelError, unknown_name
from mechgrad.io.untrusted_toml import read_tables
from mechgrad.model import JOINT_TYPES, Model
from mechgrad.model.constraints import CONSTRAINT_TYPES
from mechgrad.model.forces import FORCE_TYPES

__all__ = ["ModelFileError", "ModelFileNotFoundError", "load_model", "save_model"]

_SECTIONS: Final = ("bodies", "joints", "points", "vectors", "constraints", "forces", "variables")
_HEAD: Final = ("name", "gravity", "cut")
_DEFAULT_GRAVITY: Final = Model("default").gravity.tolist()
_TYPES: Final[dict[str, Mapping[str, type]]] = {
    "joints": JOINT_TYPES,
    "constraints": CONSTRAINT_TYPES,
    "forces": FORCE_TYPES,
}
# Key of an entry's dictionary -> key in the file.
_WORDS: Final = {
    "joints": {"type": "kind", "kind": "motion"},
    "constraints": {"type": "kind", "kind": "shape"},
    "forces": {"type": "kind", "kind": "shape"},
}


class ModelFileError(ModelError):
    """A model file that cannot be read."""


class ModelFileNotFoundError(ModelFileError, FileNotFoundError):
    """There is no file of that name."""


def save_model(model: Model, path: str | Path) -> None:
    """Write a model to a TOML file.

    A file cannot hold functions or complex numbers: a design variable that drives a number through a function, and a
    model in the middle of a complex step, are errors that name the culprit, and nothing is written.

    Example
    -------
    >>> save_model(model, "arm.toml")
    >>> load_model("arm.toml") == model
    True
    """
    text = "\n".join(model_blocks(model_words(model)))
    Path(path).write_text(numbers_on_one_line(text), encoding="utf-8", newline="\n")


def model_words(model: Model) -> dict[str, Any]:
    """A model in the words of files: keys of [model], then the sections."""
    data = model.to_dict()
    if data["gravity"] == _DEFAULT_GRAVITY:
        del data["gravity"]
    for section, word in _WORDS.items():
        if section in data:
            data[section] = [{word.get(key, key): value for key, value in entry.items()} for entry in data[section]]
    return data


def model_blocks(words: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The parts of a model file, [model] first; sections of a model within another file have a prefix, "model."."""
    blocks = ["[model]\n" + tomli_w.dumps({key: words[key] for key in _HEAD if key in words})]
    return blocks + [block(prefix + section, entry) for section in _SECTIONS for entry in words.get(section, [])]


def model_within(content: Mapping[str, Any]) -> Model:
    """The model of `model_words`, such as the table [model] of another file with [[model.bodies]], ..., has it."""
    head = {key: value for key, value in content.items() if key not in _SECTIONS}
    return Model.from_dict(_dictionary({"model": head} | {key: x for key, x in content.items() if key in _SECTIONS}))


def load_model(path: str | Path) -> Model:
    """The model in a TOML file, written by hand or by `save_model`.

    Errors name the file and the entry: malformed TOML with its line, unknown keys and kinds with the known ones,
    missing keys, and whatever the model itself rejects.

    Example
    -------
    >>> model = load_model("arm.toml")  # doctest: +SKIP
    """
    path = Path(path)
    content = read_tables(path, "model", ModelFileError, ModelFileNotFoundError)
    try:
        return Model.from_dict(_dictionary(content))
    except ModelError as error:
        # Whoever found the mistake knows the entry and its name; only the file is missing from the message.
        raise type(error)(f"{path}: {error}") from error


def block(section: str, entry: Mapping[str, Any]) -> str:
    """[[section]] and its keys; a table follows as [section.key], which TOML attaches to the last entry, and a list of
    tables as blocks [[section.key]]."""
    tables = {key: value for key, value in entry.items() if isinstance(value, dict)}
    lists = {key: value for key, value in entry.items() if _is_list_of_tables(value)}
    plain = {key: value for key, value in entry.items() if key not in tables and key not in lists}
    text = f"[[{section}]]\n" + tomli_w.dumps(plain)
    for name in reversed(section.split(".")):
        tables = {name: tables} if tables else tables
    text += "\n" + tomli_w.dumps(tables) if tables else ""
    return "\n".join([text, *(block(f"{section}.{key}", item) for key, items in lists.items() for item in items)])


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def numbers_on_one_line(text: str) -> str:
    """Fold arrays with one number per line. Strings never span lines here, so the pattern cannot meet one."""
    return re.sub(
        r"\[\n((?:\s*[-+.\w]+,\n)+)\s*\]",
        lambda match: "[" + ", ".join(match.group(1).replace(",", " ").split()) + "]",
        text,
    )


def _dictionary(content: Mapping[str, Any]) -> dict[str, Any]:
    """The dictionary of a model from the content of a file: the same tables, in the words of the classes."""
    _reject_unknown("section", content, ("model", *_SECTIONS))
    head = content.get("model", {})
    if not isinstance(head, Mapping):
        raise ModelFileError("'model' must be a table. Write [model] on a line of its own, then its keys.")
    _reject_unknown("key", head, _HEAD, "[model]")
    sections = {section: content[section] for section in _SECTIONS if section in content}
    for section, entries in sections.items():
        if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
            raise ModelFileError(f"'{section}' must be a list of tables. Start each entry with a line [[{section}]].")
    for section in _TYPES:
        if section in sections:
            sections[section] = [_typed(section, entry, i) for i, entry in enumerate(sections[section])]
    return {**head, **sections}


def _typed(section: str, entry: Mapping[str, Any], index: int) -> dict[str, Any]:
    where = f"{section}[{index}]" + (f" ({entry['name']!r})" if "name" in entry else "")
    kind, types = entry.get("kind"), _TYPES[section]
    if kind is None:
        raise ModelFileError(f"{where}: 'kind' is missing. Add kind = \"...\", one of {', '.join(types)}.")
    if not isinstance(kind, str) or kind not in types:
        raise unknown_name(f"{section[:-1]} kind", kind, types, where)
    names = {"type", *(field.name for field in fields(types[kind]))}
    word = {_WORDS[section].get(name, name): name for name in names}
    _reject_unknown("key", entry, sorted(word), where)
    return {word[key]: value for key, value in entry.items()}


def _reject_unknown(what: str, given: Iterable[str], known: Iterable[str], where: str = "") -> None:
    known = list(known)
    for key in given:
        if key not in known:
            raise unknown_name(what, key, known, where)
