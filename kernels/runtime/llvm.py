"""From LLVM assembly to machine code in this process.

Compiling always goes through an object file in memory. A kernel from the cache and a fresh one therefore take the same
way into the process.
"""

import ctypes
import functools
import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from myoquat.core import BoundedTable, digest, futures, llvm, llvmlite

from .settings import Target

# Optimization passes on the assembly are left out on purpose. The text is written as it should run, and they would
# undo the splitting of long functions. Instruction selection and register allocation at level 1 give code as fast as
# at level 2. They take a third to an eighth of the time (forward dynamics of chains, 2,000 to 18,000 operations).
# Level 0 takes 45 % of the time of level 1 (a formula of 230,000 operations), and its code 10 to 27 %
# longer. No level changes the order of operations on floats, so that the bits are the same.
_idle_machines: dict[Target, list[Any]] = {}  # a new one takes 0.7 ms for its tables; each serves one thread at a time
_MAX_KEPT_CODE_BYTES = 32 * 2**20  # bytes of the machine code of units that is kept for kernels to come


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _target_machine(target: Target) -> Any:
    _initialize()
    # The small code model needs position independence beside it: without, calls into libm do not reach. Windows has no
    # JITLink, and LLVM's older linker may place code and constants further apart than small addresses reach.
    codemodel, reloc = ("large", "static") if target.windows else ("small", "pic")
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=target.optimization, codemodel=codemodel, reloc=reloc
    )


def compile_object(assembly: str, target: Target) -> bytes:
    """The relocatable object file of an LLVM module given as text. Several threads may compile at once."""
    idle = _idle_machines.setdefault(target, [])
    try:
        machine = idle.pop()
    except IndexError:
        machine = _target_machine(target)
    with llvm.parse_assembly(assembly, llvm.create_context()) as module:
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        code = _emitted(machine, module)
    idle.append(machine)
    return code


def _emitted(machine: Any, module: Any) -> bytes:
    """The object file of a module that no other thread knows.

    llvmlite lets one thread at a time into LLVM. LLVM does not need that if threads share neither a module nor its
    context, so its function is called without the lock.
    """
    message = ctypes.c_char_p()
    buffer = _emission()(machine, module, 1, ctypes.byref(message))
    if not buffer:
        raise RuntimeError(f"LLVM: {(message.value or b'').decode()}")
    library = llvm.ffi.lib
    try:
        return ctypes.string_at(library.LLVMPY_GetBufferStart(buffer), library.LLVMPY_GetBufferSize(buffer))
    finally:
        library.LLVMPY_DisposeMemoryBuffer(buffer)


@functools.cache
def _emission() -> Any:
    """The function of llvmlite's library that compiles a module."""
    library = llvm.ffi.lib
    locked = library.LLVMPY_TargetMachineEmitToMemory
    function = ctypes.CDLL(library._name, handle=library._handle).LLVMPY_TargetMachineEmitToMemory
    function.argtypes, function.restype = locked.argtypes, locked.restype
    return function


# The machine code of the last units of assembly, by a digest: kernels of one model have most of their units in common.
_known: BoundedTable[bytes] = BoundedTable(_MAX_KEPT_CODE_BYTES, len)


def _compiled(assembly: str, target: Target) -> bytes:
    """The object file of a unit, compiled unless it is known."""
    return _known.get(digest(str(target), assembly), lambda: compile_object(assembly, target))


class Assembler:
    """Compiles units of assembly, beside each other on the other threads while more of them are written."""

    def __init__(self, target: Target, threads: int) -> None:
        self._target = target
        self._pool = futures.ThreadPoolExecutor(threads - 1, thread_name_prefix="compiling") if threads > 1 else None
        self._units: list[tuple[tuple[str, Target], futures.Future[bytes]]] = []

    def __enter__(self) -> "Assembler":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def give(self, assembly: str, quick: bool = False) -> None:
        """One more unit; a `quick` one is compiled without optimization."""
        unit = assembly, replace(self._target, optimization=0) if quick else self._target
        self._units.append((unit, self._pool.submit(_compiled, *unit) if self._pool else futures.Future()))

    def objects(self) -> list[bytes]:
        """The object files of all units. The calling thread compiles those that no other has begun."""
        own = {k: _compiled(*unit) for k, (unit, future) in enumerate(self._units) if future.cancel()}
        return [own[k] if k in own else future.result() for k, (_, future) in enumerate(self._units)]


_KERNELS_PER_LINKER = 256  # it looks through the names of all that it has linked
_numbers = itertools.count()
_linkers: BoundedTable[Any] = BoundedTable(1)


class Loaded:
    """The object files of a kernel linked into this process; their function `name` lives as long as this instance.

    JITLink puts each file into one piece of memory, as the small code model needs. Where there is none, on Windows,
    LLVM's older linker takes code with large addresses. Several kernels share a linker, which takes longer to make than
    to use, and gives back the memory of each.
    """

    def __init__(self, objects: Iterable[bytes], target: Target, name: str) -> None:
        library = llvm.JITLibraryBuilder().add_current_process().export_symbol(name)
        for code in objects:
            library.add_object_img(code)
        number = next(_numbers)
        linker = _linkers.get(
            (target, number // _KERNELS_PER_LINKER),
            lambda: llvm.create_lljit_compiler(_target_machine(target), use_jit_link=not target.windows),
        )
        self._library = library.link(linker, f"kernel{number}")
        self._linker = linker  # goes after the library
        self._name = name

    def function(self, prototype: Any) -> Any:
        """The function as a ctypes callable that releases the interpreter lock."""
        callable_ = prototype(self._library[self._name])
        callable_.keep_alive = self
        return callable_


def versions() -> dict[str, str]:
    """Versions of the code generator, as they enter the key of the cache."""
    return {"llvmlite": llvmlite.__version__, "llvm": ".".join(str(n) for n in llvm.llvm_version_info)}
