"""Programs brought to their solutions side by side: what the sweeps of the interior-point method start from, and what
they end with."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.analysis.recruitment.convex.columns import Shape
from myoquat.analysis.recruitment.convex.interior import LOOSE
from myoquat.analysis.recruitment.convex.outcome import Status
from myoquat.analysis.recruitment.convex.program import Programs
from myoquat.analysis.recruitment.convex.sweep import OUTPUTS, sweeps
from myoquat.core.typing import Array
from myoquat.joints.compiled import kernel_for

__all__ = ["CAREFUL", "Ends", "descended"]

BRISK, CAREFUL = 0.1, 1.0


@dataclass(frozen=True, eq=False)
class Ends:
    """x (k, n), multipliers (k, rows) of equations and cones and their price (k, n), the bound that they prove, status
    and steps (k,). A variable whose bounds are equal is not moved, x is 0 there and adds nothing."""

    x: Array
    multipliers: Array
    price: Array
    bound: Array
    status: Array
    steps: Array


def descended(programs: Programs, scale: Array, backend: str = "kernel", balance: float = BRISK) -> Ends:
    """The best point of every program, whether it is a solution or a proof that there is none, and after how many
    steps. The rows of A and G are taken times scale (k, rows), b and h as they are. `balance`: part of the mean product
    that gradients which do not balance stand for: the greater, the more careful the way along high powers."""
    e, n = programs.A.shape[1:]
    shape = Shape(e, programs.h.shape[1], programs.h.shape[2], n, programs.power)
    best, multipliers, bound, status, merit, steps = _sweeper(shape, backend)(
        {**_given(programs, scale), "by": np.array([balance])}
    )
    status = np.where((status == Status.UNSETTLED) & (merit <= LOOSE), Status.SOLVED, status.astype(int))
    return Ends(best[:, :n, 0], multipliers, best[:, :n, 1], bound, status, steps.astype(int))


# ---- parts -------------------------------------------------------------------------------------------------


def _sweeper(shape: Shape, backend: str) -> Any:
    """What takes the inputs of `sweeps` by name to its outputs."""
    if backend == "numpy":

        def run(given: dict[str, Array]) -> tuple[Array, ...]:
            with np.errstate(all="ignore"):  # of programs that are done and carried along
                return sweeps(shape).side_by_side(given, OUTPUTS)

        return run

    def build(content: str | None) -> kernels.Compiled:
        return kernels.compile_program(lambda: sweeps(shape), OUTPUTS, name="interior_point", content=content)

    kernel = kernel_for(("interior_point", shape), build)
    return lambda given: kernel(**given)


def _given(p: Programs, scale: Array) -> dict[str, Array]:
    """The inputs of `sweeps`; what all programs share stands there once."""
    k, _, n = p.A.shape
    rows = {"lowers": p.lower, "uppers": p.upper, "weights": p.weights, "powers": p.powers}
    rows = {name: values[:1] if k and values.strides[0] == 0 else values for name, values in rows.items()}
    greatest = rows["weights"].max(axis=-1, initial=0.0)
    return {
        "A": p.A,
        "G": p.G.reshape(k, -1, n),
        "scale": scale,
        "target": np.concatenate([p.b, -p.h.reshape(k, -1)], axis=-1),
        "greatest": np.where(greatest > 0, greatest, 1.0),
        **rows,
    }
