"""Equations of motion, M(q) udot + b(q, u) = tau + J^T f_ext, on batches through compiled kernels.

model            a Model or an ArticulatedSystem
q, u, udot, tau  q (..., nq), the others (..., nu); their leading batch axes broadcast and are checked once
f_ext            (..., bodies, 6), (force [N], torque [N m]) on every body of `system.bodies` at its origin, in world
                 axes; `wrench_at` makes it for other points
out              takes the result, a C-order float64 array
backend          "numpy" evaluates the same formula in NumPy

SymPy and CasADi symbols go in and come out.

All raise ValueError for arrays that do not fit. Functions that need a mass matrix raise ModelError where a floating
body or a moving leaf has no mass. Functions that invert it raise ModelError wherever it is singular.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from myoquat.core import Array, ArrayLike
from myoquat.dynamics import articulated, composite, factor, inverse
from myoquat.joints import ArticulatedSystem
from myoquat.joints.evaluation import Call, SystemLike
from myoquat.joints.frames import pose
from myoquat.joints.locks import check_followed_locks, check_locks
from myoquat.joints.vectors import cross, joined, matvec

from .regularity import check_massive, check_regular, is_constrained

METHODS = ("aba", "crba")


def _of_motion(
    call: Call, quantity: str, formula: Callable[..., Array], axes: int, out: Array | None, backend: str, *,
    locks: Callable[[ArticulatedSystem, Array, str], None] = check_followed_locks, variant: str | None = None,
) -> Array:  # fmt: skip
    """The formula of the system and the arguments, outside the locks where it fails."""
    locks(call.system, call.inputs["q"].array, quantity)
    return call.run(quantity, partial(formula, call.system), axes, variant=variant, out=out, backend=backend)


def mass_matrix(model: SystemLike, q: ArrayLike, *, out: Array | None = None, backend: str = "kernel") -> Array:
    """(..., nu, nu) M(q), symmetric, by composite rigid bodies; reflected rotor inertias on its diagonal.

    Raises ValueError where frames with inertia follow angles that are locked, as all functions of inertia do.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> M = mq.mass_matrix(model, np.array(model.start_q))
    >>> M.shape, bool(np.allclose(M, M.T))
    ((6, 6), True)
    """
    call = Call(model).q(q)
    check_massive(call.system, is_constrained(model))
    return _of_motion(call, "mass_matrix", composite.mass, 2, out, backend)


class SparseMassMatrix(NamedTuple):
    """The entries of M, and of its factors M = L^T D L, that the tree does not make zero.

    rows, columns  (n,) where the entries are
    mass           (..., n) M on and below the diagonal
    factor         (..., n) L below the diagonal, and 1 / D on it

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> found = mq.dynamics.sparse_mass_matrix(model, np.array(model.start_q))
    >>> M = np.zeros((6, 6))
    >>> M[found.rows, found.columns] = M[found.columns, found.rows] = found.mass
    >>> bool(np.allclose(M, mq.mass_matrix(model, model.start_q)))
    True
    """

    rows: Array
    columns: Array
    mass: Array
    factor: Array


def sparse_mass_matrix(model: SystemLike, q: ArrayLike, *, backend: str = "kernel") -> SparseMassMatrix:
    """M(q) and its factors by the entries between velocities of one branch; the others are zero in every pose.

    The dense M of a state with many bodies takes longer to write than to compute; these are less than half as many
    numbers. Source: [RBDA] R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, section 6.5. Raises as
    `inverse_mass_matrix` does.

    >>> import myoquat as mq
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> found = mq.dynamics.sparse_mass_matrix(mq.ArticulatedSystem((bob,)), [0.0])  # m l^2, and its inverse
    >>> found.mass, found.factor
    (array([0.5]), array([2.]))
    """
    call = Call(model).q(q)
    check_regular(call.system)
    rows, columns = (np.array(part, dtype=int) for part in factor.pattern(factor.ancestors(call.system)))
    found = _of_motion(call, "sparse_mass_matrix", factor.sparse_entries, 1, None, backend, locks=check_locks)
    before = (...,) if isinstance(found, np.ndarray) else ()  # CasADi's arrays take no Ellipsis
    mass, factors = (found[(*before, part)] for part in (slice(len(rows)), slice(len(rows), None)))
    return SparseMassMatrix(rows, columns, mass, factors)


def inverse_mass_matrix(model: SystemLike, q: ArrayLike, *, out: Array | None = None, backend: str = "kernel") -> Array:
    """(..., nu, nu) M^-1, from the factors M = L^T D L. Raises ValueError in the lock of a joint's angles.

    >>> import myoquat as mq
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> mq.dynamics.inverse_mass_matrix(mq.ArticulatedSystem((bob,)), [0.0])  # 1 / (m l^2)
    array([[2.]])
    """
    call = Call(model).q(q)
    check_regular(call.system)
    return _of_motion(call, "inverse_mass_matrix", factor.inverse_mass, 2, out, backend, locks=check_locks)


def bias_force(
    model: SystemLike, q: ArrayLike, u: ArrayLike, *, out: Array | None = None, backend: str = "kernel"
) -> Array:
    """(..., nu) b: gravity, Coriolis and centrifugal forces, damping and springs.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> q, u = np.array(model.start_q), np.zeros(6)
    >>> np.allclose(mq.dynamics.bias_force(model, q, u), mq.dynamics.gravity_force(model, q))
    True
    """
    return _of_motion(Call(model).q(q).u(u), "bias_force", inverse.bias, 1, out, backend)


def gravity_force(model: SystemLike, q: ArrayLike, *, out: Array | None = None, backend: str = "kernel") -> Array:
    """(..., nu) the part of b that gravity makes: the gradient of its energy along u.

    >>> import myoquat as mq
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> mq.dynamics.gravity_force(mq.ArticulatedSystem((bob,)), [0.0]).round(3)  # m g l about y
    array([-9.81])
    """
    return _of_motion(Call(model).q(q), "gravity_force", inverse.gravity_load, 1, out, backend)


def inverse_dynamics(
    model: SystemLike, q: ArrayLike, u: ArrayLike, udot: ArrayLike, f_ext: ArrayLike | None = None, *,
    out: Array | None = None, backend: str = "kernel",
) -> Array:  # fmt: skip
    """(..., nu) tau = M udot + b - J^T f_ext, by the recursive Newton-Euler algorithm.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> q, u = np.array(model.start_q), np.zeros(6)
    >>> tau = mq.inverse_dynamics(model, q, u, np.zeros(6))
    >>> np.allclose(tau, mq.dynamics.bias_force(model, q, u))
    True
    """
    call = Call(model).q(q).u(u).velocities("udot", udot).wrenches(f_ext)
    check_massive(call.system, is_constrained(model))
    return _of_motion(call, "inverse_dynamics", inverse.inverse, 1, out, backend)


def forward_dynamics(
    model: SystemLike, q: ArrayLike, u: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, *,
    method: str = "aba", out: Array | None = None, backend: str = "kernel",
) -> Array:  # fmt: skip
    """(..., nu) udot with M udot + b = tau + J^T f_ext.

    method: "aba", the articulated-body algorithm, whose cost is linear in the number of bodies. Or "crba", with M and
    its factors M = L^T D L. They agree to round-off. Raises ValueError in the lock of a joint's angles.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> q, u = np.array(model.start_q), np.zeros(6)
    >>> udot = mq.forward_dynamics(model, q, u, np.zeros(6))
    >>> np.allclose(mq.inverse_dynamics(model, q, u, udot), 0)
    True
    """
    if method not in METHODS:
        raise ValueError(f"method is one of {', '.join(METHODS)}, not {method!r}")
    call = Call(model).q(q).u(u).velocities("tau", tau).wrenches(f_ext)
    check_regular(call.system)
    solver = articulated.forward if method == "aba" else factor.forward
    return _of_motion(call, "forward_dynamics", solver, 1, out, backend, locks=check_locks, variant=method)


def kinetic_energy(
    model: SystemLike, q: ArrayLike, u: ArrayLike, *, out: Array | None = None, backend: str = "kernel"
) -> Array:
    """(...) kinetic energy [J]: the sum over bodies, and rotors; equal to u^T M u / 2.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> q, u = np.array(model.start_q), np.zeros(6)
    >>> float(mq.dynamics.kinetic_energy(model, q, u))
    0.0
    """
    return _of_motion(Call(model).q(q).u(u), "kinetic_energy", inverse.kinetic, 0, out, backend)


def potential_energy(model: SystemLike, q: ArrayLike, *, out: Array | None = None, backend: str = "kernel") -> Array:
    """(...) energy of gravity, zero at the world's origin, and of the springs of joints [J]. What a Model's limits,
    passive forces and ligaments store is `myoquat.muscle.elastic_energy`.

    >>> import myoquat as mq
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> mq.dynamics.potential_energy(mq.ArticulatedSystem((bob,)), [[0.0], [3.14159265]]).round(3)  # -m g l and m g l
    array([-9.81,  9.81])
    """
    call = Call(model).q(q)
    return call.run("potential_energy", partial(inverse.potential, call.system), 0, out=out, backend=backend)


def power(
    model: SystemLike, q: ArrayLike, u: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, *,
    out: Array | None = None, backend: str = "kernel",
) -> Array:  # fmt: skip
    """(...) rate of kinetic plus potential energy [W]: what tau and f_ext do, less what damping takes.

    >>> import myoquat as mq
    >>> sled = mq.ArticulatedSystem((mq.Body("sled", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=2.0),))
    >>> mq.dynamics.power(sled, [0.0], [3.0], [4.0])
    array(12.)
    """
    call = Call(model).q(q).u(u).velocities("tau", tau).wrenches(f_ext)
    return _of_motion(call, "power", inverse.work_rate, 0, out, backend)


def joint_reactions(
    model: SystemLike, q: ArrayLike, u: ArrayLike, udot: ArrayLike, f_ext: ArrayLike | None = None, *,
    out: Array | None = None, backend: str = "kernel",
) -> Array:  # fmt: skip
    """(..., bodies, 6) the wrench (force [N], torque [N m]) that each body gets through its joint, at the body's origin
    in world axes. It has everything that passes there, actuation, damping and springs included, welds too.

    >>> import myoquat as mq
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    >>> found = mq.dynamics.joint_reactions(mq.ArticulatedSystem((bob,)), [0.0], [3.0], [0.0])
    >>> found.round(3) + 0.0  # it hangs: m g + m l omega^2 upwards
    array([[ 0.  ,  0.  , 28.62,  0.  ,  0.  ,  0.  ]])
    """
    call = Call(model).q(q).u(u).velocities("udot", udot).wrenches(f_ext)
    return _of_motion(call, "joint_reactions", inverse.joint_wrenches, 2, out, backend)


def external_force(
    model: SystemLike, q: ArrayLike, f_ext: ArrayLike, *, out: Array | None = None, backend: str = "kernel"
) -> Array:
    """(..., nu) J^T f_ext: external wrenches as generalized forces.

    >>> import myoquat as mq
    >>> bob = mq.Body("bob", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0)
    >>> system = mq.ArticulatedSystem((bob,))
    >>> f_ext = mq.dynamics.wrench_at(system, [0.0], "bob", force=[0.0, 0.0, 10.0], point=[0.5, 0.0, 0.0])
    >>> mq.dynamics.external_force(system, [0.0], f_ext)  # 10 N at 0.5 m
    array([-5.])
    """
    call = Call(model).q(q).wrenches(f_ext)
    return call.run("external_force", partial(inverse.external, call.system), 1, out=out, backend=backend)


def wrench_at(
    model: SystemLike,
    q: ArrayLike,
    body: str | int,
    force: ArrayLike,
    torque: ArrayLike = (0.0, 0.0, 0.0),
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> Array:  # fmt: skip
    """(..., bodies, 6) f_ext of one force [N] and torque [N m], in world axes, on a point (..., 3) [m] of a body, in
    the body's axes. Several wrenches add.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> f_ext = mq.dynamics.wrench_at(model, np.array(model.start_q), "B", force=(0, 0, 10.0))
    >>> f_ext.shape
    (2, 6)
    """
    call = Call(model).q(q).vector("force", force).vector("torque", torque).vector("point", point)
    index = call.system.indices.body(body)
    name, count = call.system.body_names[index], len(call.system.bodies)

    def formula(q: Array, force: Array, torque: Array, point: Array) -> Array:
        R, _ = pose(call.system, q, name, point)
        moment = torque + cross(matvec(R, point), force)
        row = joined([force, moment])
        rows = [row if i == index else np.zeros(row.shape) for i in range(count)]
        return np.stack(rows, axis=-2)

    return call.run("wrench_at", formula, 2, variant=int(index))
