"""From LLVM assembly to machine code in this process.

Compiling always goes through an object file in memory, so that a kernel from the cache and a fresh one take the same
way into the process.
"""

import functools
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from myoquat.kernels.settings import Target

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
    """An object file linked into this process; its function `name` lives as long as this instance.

    JITLink puts the file into one piece of memory. The small code model needs that: LLVM's older engine may place code
    and constants further apart than its addresses reach, where the room beside each other is used up, and then ends the
    process. A linker of its own for every file gives all of its memory back.
    """

    def __init__(self, code: bytes, target: Target, name: str) -> None:
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(name)
        linker = llvm.create_lljit_compiler(_target_machine(target), use_jit_link=True)
        self._library = library.link(linker, "kernel")
        self._linker = linker
        self._name = name

    def function(self, prototype: Any) -> Any:
        """The function as a ctypes callable that releases the interpreter lock."""
        callable_ = prototype(self._library[self._name])
        callable_.keep_alive = self
        return callable_


def versions() -> dict[str, str]:
    """Versions of the code generator, as they enter the key of the cache."""
    return {"llvmlite": llvmlite.__version__, "llvm": ".".join(str(n) for n in llvm.llvm_version_info)}
