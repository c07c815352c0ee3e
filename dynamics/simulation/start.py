"""The state at which a simulation starts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.constraints import Constraint, ConstraintArrays, Constraints
from myoquat.dynamics.constraints.equations import imposed
from myoquat.dynamics.constraints.evaluate import MAX_START_VIOLATION
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.simulation.controls import check_numbers
from myoquat.joints.errors import OffSphereError
from myoquat.joints.evaluation import SystemLike, kernel_for, system_of
from myoquat.joints.quaternion import normalize
from myoquat.joints.ranges import check_array, check_state, warn_far
from myoquat.joints.vectors import joined
from myoquat.muscle.evaluate import equilibria
from myoquat.muscle.laws.equilibrium import numbers_of
from myoquat.muscle.segments.lengths import lengths
from myoquat.muscle.states import elastic

__all__ = ["MuscleStarts", "Start", "check_varied_start"]


@dataclass(frozen=True)
class Start:
    """A checked start, q (..., nq) and u (..., nu), on the constraints, `redundant` if some nearly depend on others,
    `contradictory` if a warning has said that no acceleration satisfies all."""

    q: Array
    u: Array
    constraints: tuple[Constraint, ...] = ()
    redundant: bool = False
    contradictory: bool = False

    @classmethod
    def of(
        cls, model: SystemLike, q0: ArrayLike | None, u0: ArrayLike | None, constraints: Sequence[Constraint],
        project: bool, time: float = 0.0, varied: bool = False,
    ) -> "Start":  # fmt: skip
        """The start from the arguments of `simulate`; the model's own where nothing is given, neutral and at rest where
        it names none. Prescribed coordinates start where their functions say, locked ones at rest. Raises ValueError,
        with the violation, for a state off the manifold unless `project` is true. `varied`: numbers of the model vary,
        so that whoever knows them checks the constraints."""
        system = system_of(model)
        own_q, own_u = getattr(model, "start_q", None), getattr(model, "start_u", None)
        q = q0 if q0 is not None else system.neutral() if own_q is None else own_q
        u = u0 if u0 is not None else np.zeros(system.nu) if own_u is None else own_u
        check_numbers("q0", check_array("q0", q))
        check_numbers("u0", check_array("u0", u))
        if project:
            q = np.array(check_state("q0", q, system.nq, system.coordinate_names))
            for s in system.quaternion_slices():
                q[..., s] = normalize(q[..., s])
        try:
            q, u = system.check_q(q, "q0"), system.check_u(u, "u0")
        except OffSphereError as error:
            raise OffSphereError(f"{error}; project_start=True divides by the length") from None
        q, u = imposed(model, q, u, time)
        warn_far(q, system.angles)
        if not constraints:
            return cls(q, u)
        arrays = ConstraintArrays(Constraints(system, constraints))
        if not system.nu:
            arrays.check(q, u, time)
            return cls(q, u)
        if varied and project:
            raise ValueError("project_start: with parameters, give each run a q0, u0 on its own constraints")
        return cls._constrained(arrays, q, u, project, time, varied)

    @classmethod
    def _constrained(
        cls, arrays: ConstraintArrays, q: Array, u: Array, project: bool, time: float, varied: bool
    ) -> "Start":
        """The start on the constraints; ValueError with the violation for one that is not there."""
        batch = np.broadcast_shapes(q.shape[:-1], u.shape[:-1])
        q, u = (np.array(np.broadcast_to(x, (*batch, x.shape[-1]))) for x in (q, u))
        if project:
            for where in np.ndindex(batch):
                q[where], u[where] = arrays.nearest(q[where], u[where], time)
        if not varied:
            arrays.check(q, u, time)
        redundant = any(arrays.dependent(q[where], time) for where in np.ndindex(batch))
        contradictory = redundant and not varied and arrays.warn_contradictions(q, u, time)
        return cls(q, u, arrays.constraints.parts, redundant, contradictory)


# ---- Where the muscles' states of every sample begin: in equilibrium, with the numbers of that sample -------------


def check_varied_start(equations: StateEquations, q: Array, u: Array, p: Array, t: float = 0.0) -> None:
    """ValueError for a run that starts off the constraints, which the numbers p (..., n) of each run may move."""
    system = equations.system

    def violated(q: Array, u: Array, t: Array, p: Array) -> Array:
        held = equations.fixed(p).constrained
        return joined([held.position(q, t), held.rate(q, u, t)])

    sizes = {"q": system.nq, "u": system.nu, "t": (), "p": len(equations.names)}
    kernel = kernel_for(
        ("start on constraints", equations.key),
        lambda content: kernels.compile(violated, sizes, ["violated"], name="start", content=content),
    )
    off = np.abs(np.asarray(kernel(q, u, t, p)))
    if not (off <= MAX_START_VIOLATION).all():
        *run, row = (int(i) for i in np.argwhere(~(off <= MAX_START_VIOLATION))[0])
        raise ValueError(
            f"the start of run {', '.join(map(str, run)) or 0} violates the constraints "
            f"with its own parameters: row {row} is off by "
            f"{off[(*run, row)]:.3g}, allowed is {MAX_START_VIOLATION:g}; give each run a q0, u0 on its constraints"
        )


class MuscleStarts:
    """Activations equal to the excitations, and the laws' states at rest."""

    def __init__(self, equations: StateEquations) -> None:
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
            lengths(bound.system, bound.paths, q),
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
