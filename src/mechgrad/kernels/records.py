"""Records of arrays: made by name, and handed by reference to passes that share many arrays.

A record handed to a compiled function goes there array by array, each as seven numbers or more: for the workspace of
one mechanism hundreds of numbers at every call. A reference is one pointer. Fields are read as those of the record:

    @kernel
    def march(mechanism, work, ..):                         # named tuples of arrays, which the caller owns
        mechanism, work = refer(mechanism), refer(work)     # on the stack of this function
        step(mechanism, work, ..)                           # passes read mechanism.n_rows, work.frames, ..

A record can hold records: these are read as references, too (`states.before.q`). References to records of one kind can
change places: `before, after = after, before`. A record that begins with a header of sizes says so by a static method
`header`, which maps names to entries of its array `ints`: references read them as fields, too.

A reference must not outlive the function that made it, and the arrays belong to the caller: in passes (`kernels.jit`)
both hold, since these own nothing. Loops bind arrays to local names first: through a pointer the compiler would have
to look up where an array lies after every number it stores.

What a march changes on its way, numbers of several types, stands in a structured array of one line: passes read and
write its fields (`now.t += now.step`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model

from mechgrad.kernels.host import LINE

Record = TypeVar("Record")


def allocate(
    record: Callable[..., Record], sizes: Mapping[str, int | tuple[int, ...]], dtype: Any, **given: Any
) -> Record:
    """A record of zeros from a table: how many numbers (or which shape) each field has; `given`: its other fields.

    Each array begins with a line of the cache (`kernels.slots`), all of them lie one after the other.

    >>> from typing import NamedTuple
    >>> class Pair(NamedTuple):
    ...     x: np.ndarray
    ...     y: np.ndarray
    >>> allocate(Pair, {"y": 1, "x": 2}, float)
    Pair(x=array([0., 0.]), y=array([0.]))
    """
    line = LINE // np.dtype(dtype).itemsize
    counts = [size if isinstance(size, int) else math.prod(size) for size in sizes.values()]
    block, at, arrays = np.zeros(sum(counts) + line * (len(counts) + 1), dtype), 0, {}
    at = -block.ctypes.data % LINE // block.itemsize
    for (name, size), count in zip(sizes.items(), counts, strict=True):
        array = block[at : at + count]
        arrays[name] = array if isinstance(size, int) else array.reshape(size)
        at += -(-count // line) * line
    return record(**arrays, **given)


class ReferenceType(types.Type):  # type: ignore[misc]
    """To a record, a Numba `NamedTuple` type."""

    def __init__(self, record: types.NamedTuple) -> None:
        self.record = record
        # short: names of types make those of compiled functions, which the compiler reads again at every call
        digest = hashlib.sha256(str(record).encode()).hexdigest()[:16]
        super().__init__(name=f"reference({record.instance_class.__name__} {digest})")


@register_model(ReferenceType)
class _ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, reference: ReferenceType) -> None:
        super().__init__(manager, reference, manager.lookup(reference.record).get_value_type().as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = ReferenceType

    def generic_resolve(self, reference: Any, name: str) -> Any:  # type: ignore[override]
        fields = reference.record.fields
        if name in fields:
            found = reference.record.types[fields.index(name)]
            return ReferenceType(found) if isinstance(found, types.NamedTuple) else found
        return types.int64 if name in _header(reference.record) else None


def _header(record: Any) -> Mapping[str, int]:
    """Sizes that a record names, and where they stand in its array `ints`."""
    header = getattr(record.instance_class, "header", None)
    return {} if header is None else header()


@lower_getattr_generic(ReferenceType)  # type: ignore[untyped-decorator]
def _field(context: Any, builder: Any, reference: ReferenceType, pointer: Any, name: str) -> Any:
    if context.enable_nrt:
        raise TypeError("references are for passes (`inner`, `inlined`, `spliced`), which own no arrays.")
    fields = reference.record.fields
    if name in fields:
        place = cgutils.gep_inbounds(builder, pointer, 0, fields.index(name))
        inside = isinstance(reference.record.types[fields.index(name)], types.NamedTuple)
        return place if inside else builder.load(place)
    at = fields.index("ints")
    ints = context.make_array(reference.record.types[at])(
        context, builder, builder.load(cgutils.gep_inbounds(builder, pointer, 0, at))
    )
    return builder.load(cgutils.gep_inbounds(builder, ints.data, _header(reference.record)[name]))


@intrinsic  # type: ignore[untyped-decorator]
def refer(typing_context: Any, record: types.NamedTuple) -> Any:
    """A reference to a record, which is put on the stack of the calling function."""

    def on_stack(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cgutils.alloca_once_value(builder, arguments[0])

    return ReferenceType(record)(record), on_stack
