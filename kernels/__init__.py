"""From a NumPy formula to SIMD machine code: tracing, LLVM lanes, object cache, threads. Knows no mechanics."""

from myoquat.core.outcomes import Outcome
from myoquat.kernels.control_flow.fixed_point import call_where, fixed_point
from myoquat.kernels.control_flow.implicit import root
from myoquat.kernels.control_flow.while_loop import while_loop
from myoquat.kernels.frameworks.differentiable import Differentiable
from myoquat.kernels.frameworks.jax_functions import as_jax
from myoquat.kernels.frameworks.torch_functions import as_torch
from myoquat.kernels.runtime.batch import ConversionWarning
from myoquat.kernels.runtime.compiled import Compiled, calls
from myoquat.kernels.runtime.info import info
from myoquat.kernels.runtime.input_schedules import LinearInterpolation, ZeroOrderHold
from myoquat.kernels.runtime.kernel import Kernel, compile
from myoquat.kernels.runtime.program import Program, compile_program
from myoquat.kernels.runtime.step_loop import LoopOptions, StepLoop, Steps, step_loop
from myoquat.kernels.runtime.tableaus import METHODS, ExplicitMethod, Tableau
from myoquat.kernels.symbolic.arrays import (
    Argument,
    SymbolArray,
    as_array,
    as_casadi_vector,
    formula,
    is_symbolic,
    symbols_casadi,
)
from myoquat.kernels.symbolic.records import choose, static
from myoquat.kernels.tracing.constants import constant

__all__ = [
    "METHODS",
    "Argument",
    "Compiled",
    "ConversionWarning",
    "Differentiable",
    "ExplicitMethod",
    "Kernel",
    "LinearInterpolation",
    "LoopOptions",
    "Outcome",
    "Program",
    "StepLoop",
    "Steps",
    "SymbolArray",
    "Tableau",
    "ZeroOrderHold",
    "as_array",
    "as_casadi_vector",
    "as_jax",
    "as_torch",
    "call_where",
    "calls",
    "choose",
    "compile",
    "compile_program",
    "constant",
    "fixed_point",
    "formula",
    "info",
    "is_symbolic",
    "root",
    "static",
    "step_loop",
    "symbols_casadi",
    "while_loop",
]
