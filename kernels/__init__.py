"""From a NumPy formula to SIMD machine code: tracing, LLVM lanes, object cache, threads. Knows no mechanics."""

from myoquat.kernels.arrays import (
    Argument,
    SymbolArray,
    as_array,
    as_casadi_vector,
    formula,
    is_symbolic,
    symbols_casadi,
)
from myoquat.kernels.batch import ConversionWarning
from myoquat.kernels.compiled import Compiled, calls
from myoquat.kernels.info import info
from myoquat.kernels.iterate import iterate
from myoquat.kernels.kernel import Kernel, compile
from myoquat.kernels.outcome import Outcome
from myoquat.kernels.program import Program, compile_program
from myoquat.kernels.schedules import Held, Tabulated
from myoquat.kernels.steps import StepLoop, Steps, step_loop
from myoquat.kernels.tableaus import METHODS, Stages, Tableau

__all__ = [
    "METHODS",
    "Argument",
    "Compiled",
    "ConversionWarning",
    "Held",
    "Kernel",
    "Outcome",
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
    "compile_program",
    "formula",
    "info",
    "is_symbolic",
    "iterate",
    "step_loop",
    "symbols_casadi",
]
