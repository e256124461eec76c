"""Questions as bytes, for other processes and machines: packed here, answered there, unpacked here.

    packed(question)                 once per question: what makes the motion, objectives with their functions
    answered(parcel, values)         there, by any process that can import mechgrad: values and gradient from one motion
    unpacked(reply)                  the answer, or what went wrong

A parcel holds plain data: a model's numbers and names, and functions of users. These go by name where pickle knows
them by name; cloudpickle, if it is there, also takes lambdas and what was defined in a script.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from mechgrad.errors import MechgradError
from mechgrad.optimization.design.evaluation import Answer, Question, WorkError, answer, failure_of

KEPT_OPEN = 16  # parcels, in a process that answers


class FailedElsewhereError(MechgradError):
    """A failure in another process, whose own exception could not be sent.

    kind : its name
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Parcel(NamedTuple):
    """A question in bytes; `key` is the same for the same content."""

    key: str
    data: bytes


class Reply(NamedTuple):
    """What came back: numbers of an `Answer` or a stretch of evaluations, a failure of the design, or an error of the
    work itself."""

    kind: Literal["answer", "failure", "error", "unreadable"]
    content: Any


def packed(thing: Any, questions: Sequence[Question] = ()) -> Parcel:
    """A question, or what holds these questions, in bytes; an error that names what cannot be sent."""
    try:
        data = _dumps(thing)
    except Exception as error:
        raise WorkError(_what_stays(questions or [thing], error)) from error
    return Parcel(hashlib.blake2b(data, digest_size=16).hexdigest(), data)


def _dumps(thing: Any) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(thing)
    data: bytes = cloudpickle.dumps(thing)
    return data


def _what_stays(questions: Sequence[Question], error: Exception) -> str:
    """Which function or element of questions cannot be sent, and what to do."""
    for owner, thing in (part for question in questions for part in _parts(question)):
        try:
            _dumps(thing)
        except Exception as reason:
            where = f"{getattr(thing, '__module__', '?')}.{getattr(thing, '__qualname__', repr(thing))}"
            return (
                f"{owner} holds {where}, which cannot be sent to another process ({reason}). Define the function at "
                "the top of a module, install cloudpickle (`pip install mechgrad[cluster]`), which takes lambdas as "
                'well, or use executor="threads".'
            )
    return f'the problem cannot be sent to another process ({error}); use executor="threads".'


def _parts(question: Question) -> Iterator[tuple[str, Any]]:
    """What may resist: functions of objectives and elements of the model, each with its owner in words."""
    for objective in question.objectives:
        for _, term in objective.terms():
            for name in ("function", "partials"):
                if getattr(term, name, None) is not None:
                    yield f"{type(term).__name__}{term.measures!r}: its {name}", getattr(term, name)
            for measure in term.measures:
                yield f"{type(term).__name__}", measure
    for group in question.repeat.model.groups.values():
        for item in group:
            for name in getattr(item, "__dataclass_fields__", ()):
                value = getattr(item, name, None)
                if callable(value):
                    yield f"{type(item).__name__} {getattr(item, 'name', '')!r}: its {name}", value
    yield "the scenario", question.repeat


# ---- there

_opened: dict[str, Any] = {}


def opened(parcel: Parcel) -> Any:
    """What a parcel holds; the last ones stay open."""
    thing = _opened.pop(parcel.key, None) or pickle.loads(parcel.data)
    _opened[parcel.key] = thing
    while len(_opened) > KEPT_OPEN:
        _opened.pop(next(iter(list(_opened))), None)
    return thing


def answered(parcel: Parcel, values: Mapping[str, float]) -> Reply:
    """The reply to a question at some values, with its gradient; never raises.

    A gradient that is asked for later might come to another process, which would simulate once more.
    """
    try:
        question: Question = opened(parcel)
    except Exception as error:
        return Reply("unreadable", f"{type(error).__name__}: {error}")
    try:
        found = answer(question, values)
    except MechgradError as error:
        return Reply("failure", _sendable(error))
    except Exception as error:
        return Reply("error", _sendable(error))
    return Reply("answer", (found.values, found.counts, found.gradient))


def _sendable(error: Exception) -> Exception | tuple[str, str]:
    """The error if it survives the way, else its name and what it says."""
    told = (type(error).__name__, str(error))
    try:
        again = pickle.loads(pickle.dumps(error))
    except Exception:
        return told
    same = type(again) is type(error) and str(again) == str(error) and not hasattr(error, "trajectory")
    return error if same else told


# ---- and back


def unpacked(reply: Reply) -> Answer | MechgradError:
    """The answer, or why there is none; raises what is no design's fault."""
    if reply.kind == "answer":
        values, counts, slopes = reply.content
        return Answer(values, counts, slopes, None)
    if reply.kind == "unreadable":
        raise WorkError(
            f"a worker cannot read its work ({reply.content}). It needs the same versions of Python and mechgrad, and "
            "every module that functions of the problem come from: define them in the script, or install their module "
            "there."
        )
    error = reply.content
    if isinstance(error, tuple):
        error = FailedElsewhereError(*error) if reply.kind == "failure" else WorkError(": ".join(error))
    if reply.kind == "failure":
        assert isinstance(error, MechgradError), failure_of(error)
        return error
    raise error
