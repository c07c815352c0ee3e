"""A linear formula in a kernel, evaluated for one column of seeds after the other.

The code of derivatives then does not grow with the number of directions. The formula, traced once, takes numbers that
all directions share, the partial derivatives, and the seeds of one direction. In machine code it is one function, in a
loop over the rows of a table of seeds.
"""

from dataclasses import dataclass
from typing import ClassVar

from myoquat.core.content import digest
from myoquat.core.typing import Array
from myoquat.kernels.tracing.tape import Apply, Ends, Inner, Node, interpret
from myoquat.kernels.tracing.traced import OfLoop, Traced

__all__ = ["CompressedJacobian"]


@dataclass(frozen=True)
class CompressedJacobian:
    """A formula ('shared' (s,), 'seed' (n,)) -> 'result' (m,) for each row of seeds (k, n). It takes
    what is shared, and gives the results of one direction after the other."""

    formula: Traced
    seeds: Array
    has_solver: ClassVar[bool] = False
    multi_block: ClassVar[bool] = False

    @property
    def ends(self) -> Ends:
        """What it gives and takes."""
        (shared, _), (result,) = self.formula.signature.input_sizes, self.formula.signature.output_sizes
        return Ends(len(self.seeds) * result, shared)

    def identity(self) -> str:
        """Text that two share only if they write the same code."""
        return digest("sweep", self.formula.identity(), str(self.seeds.shape), self.seeds.tobytes())

    def unrolled(self, of_loop: OfLoop | None = None) -> Inner:
        """The directions one after the other."""

        def function(apply: Apply, operands: list[object]) -> list[object]:
            results: list[object] = []
            for row in self.seeds.tolist():
                results += interpret(
                    self.formula.tape, [*operands, *(apply(Node("const", number=x)) for x in row)], apply
                )
            return results

        return Inner(function, *self.ends)
