"""Records of arrays by reference, for passes that share many arrays.

A record handed to a compiled function goes there array by array, each as seven numbers or more: for the workspace of
one mechanism hundreds of numbers at every call. A reference is one pointer. Fields are read as those of the record
itself:

    @inner
    def march(T, w, ..):                 # T, w: named tuples of arrays, which the entry that called owns
        T, w = refer(T), refer(w)        # on the stack of this function
        step(T, w, ..)                   # passes read T.ints, w.frames, ..

A reference must not outlive the function that made it, and the arrays belong to the caller: in passes (`kernels.jit`)
both hold, since these own nothing. Loops bind arrays to local names first: through a pointer the compiler would have
to look up where an array lies after every number it stores.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model


class ReferenceType(types.Type):  # type: ignore[misc]
    """To a record, a Numba `NamedTuple` type."""

    def __init__(self, record: types.NamedTuple) -> None:
        self.record = record
        super().__init__(name=f"reference({record})")


@register_model(ReferenceType)
class _ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, reference: ReferenceType) -> None:
        super().__init__(manager, reference, manager.lookup(reference.record).get_value_type().as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = ReferenceType

    def generic_resolve(self, reference: Any, name: str) -> Any:  # type: ignore[override]
        fields = reference.record.fields
        return reference.record.types[fields.index(name)] if name in fields else None


@lower_getattr_generic(ReferenceType)  # type: ignore[untyped-decorator]
def _field(context: Any, builder: Any, reference: ReferenceType, pointer: Any, name: str) -> Any:
    if context.enable_nrt:
        raise TypeError("references are for passes (`inner`, `inlined`, `spliced`), which own no arrays.")
    return builder.load(cgutils.gep_inbounds(builder, pointer, 0, reference.record.fields.index(name)))


@intrinsic  # type: ignore[untyped-decorator]
def refer(typing_context: Any, record: types.NamedTuple) -> Any:
    """A reference to a record, which is put on the stack of the calling function."""

    def on_stack(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cgutils.alloca_once_value(builder, arguments[0])

    return ReferenceType(record)(record), on_stack
