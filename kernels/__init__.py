"""From a NumPy formula to SIMD machine code: tracing, LLVM lanes, object cache, threads. Knows no mechanics."""

from kernels.arrays import Argument, SymbolArray, as_array, as_casadi_vector, formula, is_symbolic, symbols_casadi
from kernels.batch import ConversionWarning
from kernels.compiled import Compiled, calls
from kernels.info import info
from kernels.iterate import iterate
from kernels.kernel import Kernel, compile
from kernels.program import Program
from kernels.schedules import Held, Tabulated
from kernels.steps import StepLoop, Steps, step_loop
from kernels.tableaus import METHODS, Stages, Tableau

__all__ = [
    "METHODS",
    "Argument",
    "Compiled",
    "ConversionWarning",
    "Held",
    "Kernel",
    "Program",
    "Stages",
    "StepLoop",
    "Steps",
    "SymbolArray",
    "Tableau",
    "Tabulated",
    "as_array",
    "as_casadi_vector",
    "calls",
    "compile",
    "formula",
    "info",
    "is_symbolic",
    "iterate",
    "step_loop",
    "symbols_casadi",
]
