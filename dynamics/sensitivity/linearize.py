"""`linearize`: the equations of motion beside a state, as matrices A and B on the tangent space."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from myoquat import kernels
from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.constraints import Constraint
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.sensitivity.points import StatePoint, check_curved_paths, one_sided_paths
from myoquat.dynamics.sensitivity.tangent import StateTangent, changed_inputs
from myoquat.dynamics.simulation.controls import Inputs
from myoquat.joints.evaluation import SystemLike, kernel_for
from myoquat.joints.vectors import joined
from myoquat.kernels.tracing.derivatives import jacobian_at

__all__ = ["Linearization", "linearize"]


class Linearization(NamedTuple):
    """dx/dt = rate + A dx + B dv to first order, for small changes dx of the state and dv of the inputs.

    rate         (..., n)
    A, B         (..., n, n), (..., n, m)
    state_names  (n,) of dx = (small motion, du, changes of muscles' states); three numbers for each quaternion
    input_names  (m,) of dv
    one_sided    (..., muscles), where it was asked for

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics import linearize
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> found = linearize(mq.ArticulatedSystem((bob,)), [0.0], [0.0])
    >>> found.A.round(3), found.state_names
    (array([[  0.  ,   1.  ],
           [-19.62,   0.  ]]), ('dbob.speed', 'bob.speed'))
    """

    rate: Array
    A: Array
    B: Array
    state_names: tuple[str, ...]
    input_names: tuple[str, ...]
    one_sided: Array | None = None


def linearize(
    model: SystemLike, q: ArrayLike | None = None, u: ArrayLike | None = None, *, inputs: Inputs | None = None,
    constraints: Sequence[Constraint] = (), time: float = 0.0, one_sided: bool = False,
) -> Linearization:  # fmt: skip
    """The equations of motion of a Model or an ArticulatedSystem beside the state q (..., nq), u (..., nu).

    inputs       `Inputs` at `time`: activations or excitations, controls, torques on u, muscle_states; those of
                 `simulate` by default.
    constraints  as for `simulate`, beside the model's own.

    Muscles, actuators, springs, limits, passive forces and constraints act as in `simulate`; all arrays may have
    leading axes. The inputs of B are the muscles' excitations (activations without activation dynamics), controls of
    actuators, and torques on u.

    A state need not be an equilibrium. Beside a motion, a small change of a ball joint's pose in the child's frame
    moves by d(dq)/dt = -omega x dq + du. Under constraints, accelerations are those with multipliers. Where a path has
    a kink or jumps, A is that of one side: `one_sided` reports it for every muscle (by `myoquat.muscle.path_flags`).

    Raises as `simulate` does.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.dynamics import Inputs, linearize
    >>> found = linearize(mq.load_model("two_link"), inputs=Inputs(activation=np.full(6, 0.3)))
    >>> found.A.shape, found.B.shape, found.input_names[:2]
    ((12, 12), (12, 12), ('m1', 'm2'))
    """
    check_curved_paths(model)
    point = StatePoint.of(model, (q, u), inputs or Inputs(), constraints, time)
    equations = point.equations
    kernel = kernel_for(("linearize", equations.key), lambda content: _kernel(equations, content))
    rate, A, B = kernel(point.time, point.x, *point.values)
    sides = one_sided_paths(model, equations.split(point.x)[0]) if one_sided else None
    return Linearization(rate, A, B, StateTangent(equations).names, point.input_names, sides)


def _kernel(equations: StateEquations, content: str | None) -> kernels.Kernel:
    sizes = {"t": (), "x": equations.size, **equations.inputs}

    def formula(t: Array, x: Array, *values: Array) -> tuple[Array, ...]:
        return linearized(equations, t, x, values)

    return kernels.compile(formula, sizes, ["rate", "A", "B"], name="linearize", content=content)


def linearized(equations: StateEquations, t: Array, x: Array, values: Sequence[Array]) -> tuple[Array, Array, Array]:
    """The rate (n,), A (n, n) and B (n, m) at the state x and the inputs `values`."""
    tangent, nu = StateTangent(equations), equations.system.nu
    n, m = tangent.size, sum(equations.inputs.values())

    def slope(d: Array) -> Array:
        moved = tangent.moved(x, d[..., :n])
        given = equations.given(t, moved, changed_inputs(equations, values, d[..., n:]))
        q, u = equations.split(moved)
        return joined([equations.acceleration(t, q, u, given), *equations.own_rate(q, u, given)])

    D = jacobian_at(slope, np.zeros(n + m), like=x)
    kinematic = np.concatenate([tangent.structure(x), np.eye(nu), np.zeros((nu, n - 2 * nu))], axis=-1)
    A = np.concatenate([kinematic, D[..., :n]], axis=-2)
    B = np.concatenate([np.zeros((nu, m)), D[..., n:]], axis=-2)
    _, u = equations.split(x)
    return joined([u, slope(np.zeros(n + m))]), A, B
