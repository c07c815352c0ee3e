from .codegen.step_loop import Outcome as Outcome
from .control_flow.implicit import after_newton_step as after_newton_step, root as root
from .control_flow.while_loop import call_where as call_where, fixed_point as fixed_point, while_loop as while_loop
from .frameworks import Differentiable as Differentiable, as_jax as as_jax, as_torch as as_torch
from .runtime.batch import ConversionWarning as ConversionWarning
from .runtime.build import info as info
from .runtime.compiled import calls as calls
from .runtime.kernel import Kernel as Kernel, compile as compile
from .runtime.step_loop import (
    METHODS as METHODS,
    ExplicitMethod as ExplicitMethod,
    LinearInterpolation as LinearInterpolation,
    LoopOptions as LoopOptions,
    StepLoop as StepLoop,
    Steps as Steps,
    Tableau as Tableau,
    ZeroOrderHold as ZeroOrderHold,
    step_loop as step_loop,
)
from .symbolic.arrays import (
    Argument as Argument,
    SymbolArray as SymbolArray,
    as_array as as_array,
    as_casadi_vector as as_casadi_vector,
    formula as formula,
    is_symbolic as is_symbolic,
    symbols_casadi as symbols_casadi,
)
from .symbolic.records import choose as choose, static as static
from .tracing.adjoints import constant as constant
