"""From LLVM assembly to machine code in this process.

Compiling always goes through an object file in memory, so that a kernel from the cache and a fresh one take the same
way into the process.
"""

import functools
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from kernels.settings import Target

__all__ = ["Loaded", "compile_object", "versions"]

# Optimization passes on the assembly are left out on purpose: the text is written as it should run, and they would
# undo the splitting of long functions. Instruction selection and register allocation at level 1 give code as fast as
# at level 2, in a third to an eighth of the time (forward dynamics of spherical chains, 2,000 to 18,000 operations).
_CODE_GENERATION = 1


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _target_machine(target: Target) -> Any:
    _initialize()
    machine = llvm.Target.from_triple(target.triple)
    # The small code model needs position independence beside it: without, calls into libm do not reach.
    return machine.create_target_machine(
        cpu=target.cpu, features=target.features, opt=_CODE_GENERATION, codemodel="small", reloc="pic"
    )


def compile_object(assembly: str, target: Target) -> bytes:
    """The relocatable object file of an LLVM module given as text."""
    machine = _target_machine(target)
    module = llvm.parse_assembly(assembly)
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    return bytes(machine.emit_object(module))


class Loaded:
    """An object file linked into this process; its functions live as long as this instance."""

    def __init__(self, code: bytes, target: Target) -> None:
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(target))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def function(self, name: str, prototype: Any) -> Any:
        """The function `name` as a ctypes callable that releases the interpreter lock. KeyError if there is none."""
        address = self._engine.get_function_address(name)
        if not address:
            raise KeyError(name)
        callable_ = prototype(address)
        callable_.keep_alive = self
        return callable_


def versions() -> dict[str, str]:
    """Versions of the code generator, as they enter the key of the cache."""
    return {"llvmlite": llvmlite.__version__, "llvm": ".".join(str(n) for n in llvm.llvm_version_info)}
