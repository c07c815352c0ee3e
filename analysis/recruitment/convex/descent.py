"""Programs solved side by side: inputs and outputs of the interior-point program."""

from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.analysis.recruitment.convex.columns import Shape
from myoquat.analysis.recruitment.convex.interior_point_formulas import ACCEPTABLE_FACTOR
from myoquat.analysis.recruitment.convex.interior_point_program import OUTPUTS, interior_point_program
from myoquat.analysis.recruitment.convex.outcome import Status
from myoquat.analysis.recruitment.convex.program import Programs
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.joints.evaluation import kernel_for

__all__ = ["CAREFUL_TARGET", "Ends", "solved_side_by_side"]

FAST_TARGET, CAREFUL_TARGET = 0.1, 1.0  # least target product, over the residual of the gradients


@dataclass(frozen=True, eq=False)
class Ends:
    """x (k, n), multipliers (k, rows) of equations and cones and their price (k, n), the bound that they prove, status
    and steps (k,). A variable with equal bounds is fixed: its x is 0 and adds nothing."""

    x: Array
    multipliers: Array
    price: Array
    bound: Array
    status: Array
    steps: Array


def solved_side_by_side(
    programs: Programs, scale: Array, backend: str = "kernel", balance: float = FAST_TARGET
) -> Ends:
    """The best point of every program: a solution, or a proof that there is none, and the number of steps.

    scale    (k, rows) multiplies the rows of A and G; b and h are scaled already
    balance  least target product over the residual of the gradients; greater values make shorter steps along high
             powers
    """
    e, n = programs.A.shape[1:]
    shape = Shape(e, programs.h.shape[1], programs.h.shape[2], n, programs.power)
    best, multipliers, bound, status, merit, steps = _solver(shape, backend)(
        {**_given(programs, scale), "by": np.array([balance])}
    )
    status = np.where((status == Status.UNSOLVED) & (merit <= ACCEPTABLE_FACTOR), Status.SOLVED, status.astype(int))
    return Ends(best[:, :n, 0], multipliers, best[:, :n, 1], bound, status, steps.astype(int))


# ---- parts -------------------------------------------------------------------------------------------------


def _solver(shape: Shape, backend: str) -> Any:
    """The function from the inputs of `interior_point_program`, by name, to its outputs."""
    if backend == "numpy":

        def run(given: dict[str, Array]) -> tuple[Array, ...]:
            with np.errstate(all="ignore"):  # of programs that are done and carried along
                return interior_point_program(shape).side_by_side(given, OUTPUTS)

        return run

    def build(content: str | None) -> kernels.Compiled:
        return kernels.compile_program(
            lambda: interior_point_program(shape), OUTPUTS, name="interior_point", content=content
        )

    kernel = kernel_for(("interior_point", shape), build)
    return lambda given: kernel(**given)


def _given(p: Programs, scale: Array) -> dict[str, Array]:
    """The inputs of `interior_point_program`; inputs that all programs share have one row."""
    k, _, n = p.A.shape
    rows = {"lowers": p.lower, "uppers": p.upper, "weights": p.weights, "powers": p.powers}
    rows = {name: values[:1] if k and values.strides[0] == 0 else values for name, values in rows.items()}
    max_weight = rows["weights"].max(axis=-1, initial=0.0)
    return {
        "A": p.A,
        "G": p.G.reshape(k, -1, n),
        "scale": scale,
        "target": np.concatenate([p.b, -p.h.reshape(k, -1)], axis=-1),
        "max_weight": np.where(max_weight > 0, max_weight, 1.0),
        **rows,
    }
