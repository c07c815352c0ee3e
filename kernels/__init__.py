"""From a NumPy formula to SIMD machine code: tracing, LLVM lanes, object cache, threads. Knows no mechanics."""

from myoquat.core.outcomes import Outcome
from myoquat.kernels.control_flow.implicit import root
from myoquat.kernels.control_flow.while_loop import call_where, fixed_point, while_loop
from myoquat.kernels.frameworks import Differentiable, as_jax, as_torch
from myoquat.kernels.runtime.batch import ConversionWarning
from myoquat.kernels.runtime.build import info
from myoquat.kernels.runtime.compiled import Compiled, calls
from myoquat.kernels.runtime.kernel import Kernel, compile
from myoquat.kernels.runtime.program import Program, compile_program
from myoquat.kernels.runtime.step_loop import (
    METHODS,
    ExplicitMethod,
    LinearInterpolation,
    LoopOptions,
    StepLoop,
    Steps,
    Tableau,
    ZeroOrderHold,
    step_loop,
)
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
from myoquat.kernels.tracing.adjoints import constant

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
