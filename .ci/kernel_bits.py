"""What `.ci/portability` runs in another interpreter or on another processor: kernels, compared bit by bit.

    python kernel_bits.py record FILE MODEL...      kernels that models need, with inputs and outputs of a call of each
    python kernel_bits.py again FILE [TRIPLE]       the same calls, compiled for this machine: how many numbers differ
    python kernel_bits.py targets FILE              machine code for Apple and Windows from the same units
    python kernel_bits.py windows FILE FOLDER       the calls as `windows_kernels.c` repeats them

A recorded kernel holds the numbers of its model as the first machine found them, since NumPy and the C library of
another machine may read a model with other last digits. With a triple of Apple, its objects and calls run on a
processor of the same architecture, whatever its system: LLVM's older linker takes them where JITLink needs macOS.
"""

import pickle
import struct
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import myoquat as mq
from myoquat.core import llvm
from myoquat.kernels.codegen.ir import Module, Units
from myoquat.kernels.runtime import batch as batches, compiled
from myoquat.kernels.runtime.kernel import Kernel
from myoquat.kernels.runtime.llvm import compile_object
from myoquat.kernels.runtime.settings import target

STATES = 37
APPLE = {"arm64-apple-macosx11.0.0": "apple-m1", "x86_64-apple-macosx11.0.0": "x86-64-v2"}
WINDOWS = "x86_64-pc-windows-msvc-elf"


def use(source):
    """Lengths, Jacobians, forces and dynamics of a model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mq.load_model(source)
    rng = np.random.default_rng(0)
    q = model.system.random(STATES, rng)
    u, torque = rng.random((2, STATES, model.system.nu)) - 0.5
    activation = rng.random((STATES, len(model.muscles)))
    mq.path_jacobian(model, q)
    mq.muscle_torques(model, q, u, activation, state=mq.muscle.equilibrium_states(model, q, activation))
    mq.mass_matrix(model.system, q)
    mq.forward_dynamics(model.system, q, u, torque)


def record(file, sources):
    calls = {}
    call = Kernel.__call__

    def recorded(self, *arrays, out=None, threads=None, check=False, **named):
        inputs = [np.array(x) for x in batches.bind(self._signature, arrays, named)]
        results = call(self, *arrays, out=out, threads=threads, check=check, **named)
        outputs = results if isinstance(results, tuple) else (results,)
        calls.setdefault(id(self), (self, inputs, [np.array(y) for y in outputs]))
        return results

    Kernel.__call__ = recorded
    for source in sources:
        use(source)
    Kernel.__call__ = call
    Path(file).write_bytes(pickle.dumps(list(calls.values())))


def again(calls):
    differ, count, largest = 0, 0, 0.0
    for kernel, inputs, outputs in calls:
        results = kernel(*inputs)
        for result, before in zip(results if isinstance(results, tuple) else (results,), outputs, strict=True):
            count += before.size
            differ += int((result.view(np.int64) != before.view(np.int64)).sum())
            largest = max(largest, float(np.abs(result - before).max() / max(np.abs(before).max(), 1e-300)))
    sys.stdout.write(f"{len(calls)} kernels, {differ} of {count} numbers differ, by at most {largest:.1e}\n")


def as_on(triple):
    """Kernels of this process get code for another system."""
    here, linker = target(), llvm.create_lljit_compiler
    compiled.target = lambda: replace(here, triple=triple)
    llvm.create_lljit_compiler = lambda machine, use_jit_link: linker(machine)


def units(kernel, built_for):
    """The LLVM assembly of a kernel in the units in which it is compiled."""
    texts = []
    parts = Units(lambda text, quick: texts.append(text))
    kernel._recipe.write(Module(kernel.lanes, built_for.fma, built_for.lanes, parts))
    parts.finish()
    return texts


def targets(calls):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    here = target()
    magic = dict.fromkeys(APPLE, b"\xcf\xfa\xed\xfe") | {WINDOWS: b"\x7fELF"}
    texts = [text for kernel, _, _ in calls for text in units(kernel, here)]
    for triple, begin in magic.items():
        there = replace(here, triple=triple, cpu=APPLE.get(triple, here.cpu), features="")
        for text in texts:
            assert compile_object(text, there)[:4] == begin, triple
    sys.stdout.write(f"{len(texts)} units of {len(calls)} kernels for each of {', '.join(magic)}\n")


def windows(calls, folder):
    """Each call in a file: the units, the frame, and the rows of all arrays with what outputs must be."""
    there = replace(target(), triple=WINDOWS)
    for number, (kernel, inputs, outputs) in enumerate(calls):
        batch = batches.gather(kernel._signature, inputs)
        texts = [text.encode() + b"\0" for text in units(kernel, there)]
        slots = kernel._code.size.slots * kernel.lanes + 8
        arrays = [(np.ascontiguousarray(a), stride) for a, (_, stride) in zip(batch.arrays, batch.rows, strict=True)]
        arrays += [(a, a.nbytes // batch.states) for a in outputs]
        parts = [struct.pack("<5q", len(texts), batch.states, slots, len(inputs), len(arrays))]
        parts += [part for text in texts for part in (struct.pack("<q", len(text)), text)]
        parts += [part for a, stride in arrays for part in (struct.pack("<2q", stride, a.nbytes), a.tobytes())]
        Path(folder, f"{number:03}.call").write_bytes(b"".join(parts))
    Path(folder, "target").write_text(f"{there.triple}\n{there.cpu}\n{there.features}\n", newline="\n")


if __name__ == "__main__":
    work, file, *rest = sys.argv[1:]
    if work == "record":
        record(file, rest)
    else:
        if work == "again" and rest:
            as_on(rest.pop())
        {"again": again, "targets": targets, "windows": windows}[work](pickle.loads(Path(file).read_bytes()), *rest)
