"""Where the muscles' states of every sample begin: in equilibrium, with the numbers of that sample."""

from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core.typing import Array
from myoquat.dynamics.integrators import VariedEquations
from myoquat.joints.evaluation import kernel_for
from myoquat.muscle.evaluate import equilibria
from myoquat.muscle.laws.equilibrium import numbers_of
from myoquat.muscle.segments.lengths import lengths
from myoquat.muscle.states import elastic

__all__ = ["MuscleStarts"]


class MuscleStarts:
    """Activations equal to the excitations, and the laws' states at rest."""

    def __init__(self, equations: VariedEquations) -> None:
        self.equations, model = equations, equations.muscled
        self.names = {law_type: list(numbers_of(law_type, laws)) for law_type, laws in elastic(model).items()}
        sizes: dict[str, Any] = {"q": model.system.nq, "p": (max(len(equations.names), 1),)}
        names = ["lengths", *(f"law_type_{i}" for i in range(len(self.names)))]
        self.kernel = kernel_for(
            ("muscle_starts", equations.key),
            lambda content: kernels.compile(
                self._formula, sizes, names, name="muscle_starts", content=content, threads=1
            ),
        )

    def _formula(self, q: Array, p: Array) -> tuple[Array, ...]:
        """Path lengths (m,), and of every type of laws its numbers (names, laws)."""
        bound = self.equations.fixed(p if self.equations.names else None).muscled
        values = [numbers_of(law_type, laws) for law_type, laws in elastic(bound).items()]
        return (
            lengths(bound.system, bound.muscles, q),
            *(np.stack(np.broadcast_arrays(*one.values(), subok=True), axis=-2) + 0.0 * q[..., 0] for one in values),
        )

    def __call__(self, q: Array, activation: Array, p: Array | None) -> tuple[Array, ...]:
        """Activations of the excited muscles and the laws' states, (samples, n) each; q (samples, nq), activation
        (samples, m). NaN where a muscle finds no balance."""
        found = self.kernel(q=q, p=np.zeros((1, 1)) if p is None else p)
        l, *values = found if isinstance(found, tuple) else (found,)
        numbers = {
            law_type: dict(zip(names, np.moveaxis(value, -2, 0), strict=True))
            for (law_type, names), value in zip(self.names.items(), values, strict=True)
        }
        activation = np.broadcast_to(activation, l.shape)
        return activation[:, list(self.equations.excited)], equilibria(self.equations.muscled, l, activation, numbers)
