"""The interior-point method as one program of the kernels.

An iteration is a series of tables over the variables, with formulas between them; it repeats until every program is
solved. NumPy runs the same stages without compiling."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from myoquat.analysis.recruitment.convex.columns import Columns, Shape
from myoquat.analysis.recruitment.convex.interior_point_formulas import Conditions
from myoquat.analysis.recruitment.convex.records import (
    BestPoint,
    LinearizedConditions,
    PrimalDualState,
    ProgramSums,
    VariableChange,
    VariableConstants,
    to_columns,
    width,
)
from myoquat.core.typing import Array
from myoquat.kernels import Program

__all__ = ["GROUP_SIZE", "OUTPUTS", "interior_point_program"]

MAX_STEPS = 100
MAX_HALVINGS = 10  # of a step along which the objective bends too much
GROUP_SIZE = 2  # variables of one element of a table: sums are read and written once for them
OUTPUTS = ("best", "best_multipliers", "best_bound", "status", "merit", "steps")
_RECORDS = ("merit", "least", "since", "waited", "status", "steps", "number", "best_bound", "best_multipliers")


@lru_cache(maxsize=16)
def interior_point_program(shape: Shape) -> Program:
    """The interior-point iteration of one program, with these inputs and outputs.

    Inputs: A (e, n), G (cd, n), scale (r), target (r), b over -h, both scaled; lowers, uppers, weights, powers (n).
    Also the greatest weight (), and `by` (), the mean product that corresponds to residuals of gradients.

    Outputs: best (N, 2), x and price of the best point, N the variables up to a whole number of groups. Its
    multipliers, bound and merit; status, and steps.
    """
    return _Stages(shape).program


class _Stages:
    """Puts the program together."""

    def __init__(self, shape: Shape) -> None:
        cd, r, n = shape.c * shape.d, shape.rows, shape.n
        self.shape, self.columns, self.conditions = shape, Columns(shape), Conditions(shape)
        self.groups = np.arange(-(-n // GROUP_SIZE) * GROUP_SIZE).reshape(-1, GROUP_SIZE)
        self.fixed = width(VariableConstants, shape.power is None)
        inputs = {"A": (shape.e, n), "G": (cd, n), "scale": r, "target": r, "max_weight": (), "by": (),
                  **dict.fromkeys(("lowers", "uppers", "weights", "powers"), n)}  # fmt: skip
        self.program = Program("interior_point", inputs)
        self.frames = ["frames"] if shape.c else []
        self.point = ["residual", "multipliers", "s", *(("frames", "widths") if shape.c else ())]
        self._start()
        with self.program.repeat(MAX_STEPS + 1, "running", {name: f"{name}_next" for name in ("running", *_RECORDS)}):
            self._linearize()
            after = {"multipliers": "multipliers_after", "s": "s_after", "mu": "mu_here"}
            with self.program.repeat(1, "running_next", after):
                self._step()

    def _start(self) -> None:
        shape, program, each = self.shape, self.program, np.arange(self.shape.n)
        gather = {}
        for name, rows in (("A", shape.e), ("G", shape.c * shape.d)):
            program.view(f"{name}_entries", name, (rows * shape.n,))
            gather[name.lower()] = (f"{name}_entries", each[:, None] + shape.n * np.arange(rows))
        gather |= {key: (f"{key}s", each) for key in ("lower", "upper", "weight", "power")}
        widths = {"columns": shape.rows, "fixed": self.fixed, "state": width(PrimalDualState)}
        sums = {"bounds": 1, "begun": shape.rows}
        program.table(
            self.columns.started,
            shape.n,
            gather=gather,
            shared=["scale", "max_weight"],
            store={key: (key, each) for key in widths},
            add={key: (key, 0 * each) for key in sums},
            buffers={key: (self.groups.size, width) for key, width in {**widths, "best": width(BestPoint)}.items()}
            | {key: (1, width) for key, width in sums.items()},
        )
        over = np.arange(shape.n, self.groups.size)  # variables that are there to fill the last group
        zero, one = np.zeros(()), np.ones(())
        power = one if shape.power is None else None
        fillers: dict[str, NamedTuple] = {
            "state": PrimalDualState(zero, np.ones(2), np.zeros(2)),
            "fixed": VariableConstants(zero, zero, zero, np.zeros(2), one, power),
        }
        for name, filler in fillers.items() if len(over) else ():
            program.table(
                partial(_added, to_columns(filler)), len(over), gather={"row": (name, over)},
                store={"output0": (name, over)},
            )  # fmt: skip
        program.formula(self.conditions.opened, ["target", "begun", "bounds", "max_weight", "by"])

    # ---- an iteration ---------------------------------------------------------------------------------------------

    def _linearize(self) -> None:
        """Measure the distance of the point from a solution, and linearize the conditions there."""
        program, conditions, r = self.program, self.conditions, self.shape.rows
        if self.shape.c:
            program.formula(conditions.framed, ["multipliers", "s"])
        sums = {"matrix": r * (r + 1) // 2, "values": r, "right": r, "balance": width(ProgramSums)}
        self._table(
            self.columns.prepared, ["columns", "fixed", "state"], ["multipliers", "about", "mu", *self.frames],
            new={"way": width(LinearizedConditions)}, sums=sums,
        )  # fmt: skip
        program.formula(conditions.measured, ["values", "balance", "target", "multipliers", "s", "about"])
        program.formula(
            conditions.recorded, ["off", "refuted", "running", "bound", "mu_here", "multipliers", *_RECORDS]
        )
        self._table(self.columns.noted, ["state", "way", "best"], ["better"], store={"output0": "best"})

    def _step(self) -> None:
        """Step to the next point: predictor, corrector, step length."""
        program, conditions, r = self.program, self.conditions, self.shape.rows
        program.formula(conditions.factored, ["matrix", "right", *self.point])
        given = ["columns", "fixed", "state", "way"]
        shift = {"shift": self.shape.c * self.shape.d} if self.shape.c else {}
        sums = {"ahead": 2, "corrected": r, "per_aim": r, **shift}
        self._table(
            self.columns.predicted, given, ["turned", *self.frames], new={"products": 2}, sums=sums, least="shrink"
        )
        self._of_names(
            conditions.corrected,
            ["below", "ratios", "pivots", "turned", "balance", "mu_here", "about", "shrink", *sums],
        )
        again = {name: f"{name}_again" for name in ("shrink", *shift)}
        self._table(
            self.columns.aimed, [*given, "products"], ["second", "aim", *self.frames],
            new={"change": width(VariableChange)}, sums=shift, least="shrink", names=again,
        )  # fmt: skip
        self._of_names(conditions.shared, ["second", *again.values()], {b: a for a, b in again.items()})
        self._limit_step()
        self._table(self.columns.moved, ["fixed", "state", "change"], ["share"], store={"output0": "state"})
        program.formula(_after, ["multipliers", "dmultipliers", "s", "ds", "share"])

    def _limit_step(self) -> None:
        """Halve the step length while the objective rises too far above its tangent; squares never do."""
        if self.shape.power in (1.0, 2.0):
            return
        self.program.formula(lambda running: {"bent": running}, ["running_next"])
        with self.program.repeat(MAX_HALVINGS, "bent", {"share": "share_next", "bent": "bent_next"}):
            self._table(
                self.columns.bent, ["fixed", "state", "change"], ["about", "mu_here", "share"], sums={"output0": 2},
                names={"output0": "bend"},
            )  # fmt: skip
            self.program.formula(self.conditions.halved, ["bend", "about", "mu_here", "share", "bent"])

    # ---- stages ----------------------------------------------------------------------------------------------

    def _table(
        self,
        formula: Callable[..., Array | dict[str, Array]],
        gather: Sequence[str],
        shared: Sequence[str],
        *,
        new: Mapping[str, int] | None = None,
        store: Mapping[str, str] | None = None,
        sums: Mapping[str, int] | None = None,
        least: str = "",
        names: Mapping[str, str] | None = None,
    ) -> None:
        """A table over groups of variables. Its outputs:

        - `new` numbers for each variable
        - outputs that are `store`d into existing buffers
        - `sums` (1, w) over all variables
        - the `least` of zero and an output

        `names` are those of the buffers where they differ from the outputs'.
        """
        new, sums, name = new or {}, sums or {}, names or {}
        once = np.zeros(len(self.groups), dtype=int)
        buffers: dict[str, tuple[int, ...]] = {key: (self.groups.size, width) for key, width in new.items()}
        buffers |= {name.get(key, key): (1, width) for key, width in sums.items()}
        buffers |= {name.get(least, least): (1,)} if least else {}
        self.program.table(
            formula,
            len(self.groups),
            gather={key: (key, self.groups) for key in gather},
            shared=shared,
            store={key: (buffer, self.groups) for key, buffer in [*zip(new, new, strict=True), *(store or {}).items()]},
            add={key: (name.get(key, key), once) for key in sums},
            least={least: (name.get(least, least), once)} if least else None,
            buffers=buffers,
        )

    def _of_names(
        self,
        formula: Callable[..., dict[str, Array]],
        reads: Sequence[str],
        names: Mapping[str, str] | None = None,
    ) -> None:
        """A formula that takes buffers by name, under other `names` for some, and what belongs to the point."""
        called = [(names or {}).get(key, key) for key in reads]

        def given(*arrays: Array) -> dict[str, Array]:
            found = dict(zip([*called, *self.point], arrays, strict=True))
            return formula(found, *arrays[len(reads) + 1 :])

        given.__name__ = formula.__name__
        self.program.formula(given, [*reads, *self.point])


def _added(columns: Array, row: Array) -> Array:
    result: Array = row + columns
    return result


def _after(multipliers: Array, dmultipliers: Array, s: Array, ds: Array, share: Array) -> dict[str, Array]:
    part = share[..., None]
    return {"multipliers_after": multipliers + part * dmultipliers, "s_after": s + part * ds}
