"""How passes become machine code: each is optimised once, in the entry that calls it.

Numba optimises every function it compiles with all it calls linked in, and makes machine code of it: a pass that is
six calls below an entry would be optimised seven times, and turned into machine code that nobody runs. Here a pass
stops at simplified LLVM code (`InnerLibrary`); an entry links every pass below it once, and is optimised once
(`EntryLibrary`). Lanes are explicit vectors, so the vectorisers of LLVM, which would look for others, stay off.

`CodeLibrary` and the compiler pipelines are private classes of Numba. `LEAN` says whether they are as expected here;
where they are not, or where a user told Numba how to compile, Numba compiles as it always does: slower, with the same
results.
"""

from __future__ import annotations

import gc
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import config as numba_config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NativeLowering

NUMBA_SERIES = {(0, 63), (0, 64), (0, 65), (0, 66), (0, 67), (0, 68)}
"""Series of Numba whose private classes are as expected here: tried by the tests of kernels."""

NUMBA_DEFAULTS = {"OPT": 3, "DEBUGINFO_DEFAULT": 0, "DISABLE_JIT": 0, "LOOP_VECTORIZE": 1, "LLVM_REFPRUNE_PASS": 1}
"""What a user who did not tell Numba how to compile has; LLVM's other vectoriser is off in some series."""


def numba_is_as_expected(version: tuple[int, ...] = numba.version_info[:2]) -> bool:
    """True for a series of Numba that was tried, with the settings that it comes with."""
    settings: Any = numba_config
    told = any(int(getattr(settings, name, default)) != default for name, default in NUMBA_DEFAULTS.items())
    dumps = any(getattr(settings, name) for name in dir(settings) if name.startswith("DUMP_"))
    return tuple(version[:2]) in NUMBA_SERIES and not (told or dumps)


INLINED_BELOW = 100
"""LLVM's measure of functions that are small enough to be inlined; it takes 225 by itself."""

LEAN = numba_is_as_expected()


def libraries_below(library: Any, seen: dict[Any, None]) -> dict[Any, None]:
    """All libraries that a library calls, and those that these call if they are passes."""
    for callee in library._linking_libraries:
        if callee not in seen:
            seen[callee] = None
            if isinstance(callee, InnerLibrary):
                libraries_below(callee, seen)
    return seen


def link_below(library: Any, module: Any) -> None:
    """Link everything below a library into a module, each once; callers first, since LLVM drops what nobody calls."""
    below = libraries_below(library, {})
    for other in sorted(below, key=lambda other: not isinstance(other, InnerLibrary)):
        library._reload_init.update(other._reload_init)
        is_pass = isinstance(other, InnerLibrary)
        module.link_in(other._final_module if is_pass else other._get_module_for_linking(), preserve=True)


def make_private(module: Any, but: set[str]) -> None:
    """Functions of a module, but some, may be inlined and dropped, and may stand in other modules too."""
    for function in module.functions:
        if not function.is_declaration and function.linkage == llvm.Linkage.external and function.name not in but:
            function.linkage = llvm.Linkage.linkonce_odr


class InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code of a pass, simplified, that waits to be linked into an entry."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """The few simplifications that make the code small; the entry does the rest."""
        ll_module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder(opt=1, loop_vectorize=False, slp_vectorize=False)
        manager = llvm.create_new_function_pass_manager()
        manager.add_sroa_pass()
        manager.add_simplify_cfg_pass()
        manager.add_instruction_combine_pass()
        manager.add_simplify_cfg_pass()
        for function in ll_module.functions:
            if not function.is_declaration:
                manager.run(function, builder)

    def finalize(self) -> None:
        """Nothing is linked, optimised or turned into machine code."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """0: a pass has no machine code of its own."""
        return 0

    def _get_module_for_linking(self) -> Any:
        """The pass with all below it, for a library that is none of these two (a function of a user, or of Numba)."""
        if self._shared_module is None:
            module = self._final_module.clone()
            link_below(self, module)
            make_private(module, set())
            self._shared_module = module
        return self._shared_module


def _tuning() -> Any:
    """How an entry is optimised. Small functions are inlined where they are written (`kernels.jit.inlined`); what LLVM
    would inline and unroll beyond that takes a tenth of the time of compilation and makes nothing faster."""
    tuning = llvm.create_pipeline_tuning_options()
    tuning.speed_level, tuning.inlining_threshold = 2, INLINED_BELOW
    tuning.loop_unrolling = tuning.loop_vectorization = tuning.slp_vectorization = False
    return tuning


class EntryLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Machine code of an entry and of all below it."""

    def finalize(self) -> None:
        """Link what is below, each pass once, then optimise and compile the whole."""
        own = {function.name for function in self._final_module.functions if not function.is_declaration}
        link_below(self, self._final_module)
        make_private(self._final_module, own)
        self._linking_libraries = []
        super().finalize()

    def _optimize_final_module(self) -> None:
        counts_references = any(f.name.startswith("NRT_") for f in self._final_module.functions)
        if counts_references:  # Numba prunes these counts between two rounds of optimisation
            super()._optimize_final_module()
        else:
            builder = llvm.create_pass_builder(self._codegen._tm, _tuning())
            builder.getModulePassManager().run(self._final_module, builder)


@register_pass(mutates_CFG=False, analysis_only=True)
class OfferToCallers(LoweringPass):  # type: ignore[misc]
    """What Numba does with a compiled function, less the machine code."""

    _name = "mechgrad_offer_to_callers"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Callers find the pass by a stand-in that Python can hold, but not run."""
        lowered = state["cr"]
        name = lowered.fndesc.qualname.split(".")[-1]
        stand_in = _dynfunc.make_function(
            lowered.fndesc.lookup_module(), name, "only kernels call it", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(stand_in, lowered.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = lowered._replace(cfunc=stand_in)
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class SetEnvironments(LoweringPass):  # type: ignore[misc]
    """Passes have no address of their own, so their environments are set where they were linked in."""

    _name = "mechgrad_set_environments"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Give every environment in the module of the entry its object."""
        for variable in state.library._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv") and (env := lookup_environment(variable.name)) is not None:
                state.library.codegen.set_env(variable.name, env)
        return True


class InnerCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles what only kernels call."""

    def compile_extra(self, func: Any) -> Any:
        """Into a library that waits for its callers."""
        self.state.flags.no_compile = True
        self.state.library = InnerLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)

    def define_pipelines(self) -> list[Any]:
        """Numba's own, and `OfferToCallers` behind lowering."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(OfferToCallers, NativeLowering)
        manager.finalize()
        return [manager]


class EntryCompiler(CompilerBase):  # type: ignore[misc]
    """Compiles what Python calls. The garbage collector would find nothing in the trees that a compiler builds."""

    def compile_extra(self, func: Any) -> Any:
        """Into a library that links every pass once."""
        self.state.library = EntryLibrary(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        collected = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collected:
                gc.enable()

    def define_pipelines(self) -> list[Any]:
        """Numba's own, and `SetEnvironments` behind lowering."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(SetEnvironments, NativeLowering)
        manager.finalize()
        return [manager]


INNER: dict[str, Any] = {"pipeline_class": InnerCompiler} if LEAN else {}
ENTRY: dict[str, Any] = {"pipeline_class": EntryCompiler} if LEAN else {}
