"""Path lengths, Jacobians, forces and torques of a model's muscles, on batches of poses through compiled kernels.

All take (..., n) arrays with leading batch axes that broadcast, check them once at the door, and compile at first
use; equal models share kernels. `backend="numpy"` evaluates the same formulas in NumPy (Jacobians by the complex
step): slower, and the reference that the kernels are tested against.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat import kernels
from myoquat.joints.compiled import kernel_for
from myoquat.joints.system import UNIT_TOLERANCE, ArticulatedSystem, check_state
from myoquat.muscle import jacobians, limits, states
from myoquat.muscle.checks import check_laws
from myoquat.muscle.flags import flags
from myoquat.muscle.laws.equilibrium import equilibrium_lengths, numbers_of
from myoquat.muscle.model import Model
from myoquat.muscle.path import lengths

__all__ = [
    "activation_rates",
    "eliminated_components",
    "equilibria",
    "equilibrium_states",
    "limit_torques",
    "muscle_forces",
    "muscle_state_rates",
    "muscle_state_residuals",
    "muscle_torques",
    "path_flags",
    "path_jacobian",
    "path_lengths",
]

KINDS = ("velocity", "coordinates", "quaternion", "constrained")
BACKENDS = ("kernel", "numpy")


def path_lengths(model: Model, q: Any, *, out: np.ndarray | None = None, backend: str = "kernel") -> np.ndarray:
    """(..., m) path lengths l [m] of the muscles at coordinates q (..., nq).

    `out` takes the result, a C-order float64 array. Raises ValueError for a wrong shape, numbers that are not finite
    or a quaternion off the unit sphere by more than 1e-6.
    """
    formula = lambda q: lengths(model.system, model.muscles, q)  # noqa: E731
    return _evaluate(model, "lengths", formula, {"q": _checked_q(model.system, q)}, out, backend)


def path_jacobian(
    model: Model,
    q: Any,
    wrt: str = "velocity",
    *,
    eliminated: Any = 0,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> np.ndarray:
    """(..., m, n) derivative of the path lengths at coordinates q (..., nq).

    wrt: "velocity"    J with dl/dt = J u, n = nu;
         "coordinates" dl/dq for the model's own coordinates, n = nq: J_Q, J_phi;
         "quaternion"  J_Q = dl/dQ, R(Q) the published polynomial, joint by joint, n = nq; joints without a
                       quaternion keep dl/dq;
         "constrained" J*_Q = dl/dQ* with one component of each quaternion eliminated, joint by joint. `eliminated`
                       is 0, 1, 2, 3, "largest" (of each pose and joint), or an array (..., balls) of indices.
    Moment arms in the biomechanist's sense are -J_phi. Raises ValueError as `path_lengths` does, for an unknown
    kind, and where an eliminated component is zero.
    """
    if wrt not in KINDS:
        raise ValueError(f"wrt is one of {', '.join(KINDS)}, not {wrt!r}")
    q = _checked_q(model.system, q)
    if wrt == "velocity":
        return _evaluate(model, wrt, lambda q: jacobians.velocity(model, q), {"q": q}, out, backend)
    if wrt != "constrained":
        return _evaluate(model, "coordinates", lambda q: jacobians.coordinates(model, q), {"q": q}, out, backend)
    index = eliminated_components(model.system, q, eliminated)
    arrays = {"q": q, "eliminated": index.astype(np.float64)}
    return _evaluate(model, wrt, lambda q, k: jacobians.constrained(model, q, k), arrays, out, backend)


def path_flags(model: Model, q: Any, near: float = 1e-3, *, backend: str = "kernel") -> np.ndarray:
    """(..., m) what is to be known of the paths at coordinates q (..., nq): bits of `PathFlag`, as whole numbers.

    near: how near a jump of the length is told, in metres or in the unit of a conditional point's coordinate. A pose
    whose bits are 0 or WRAPPED has a length that is smooth there, or, where a path only just touches a surface, once
    differentiable. Raises as `path_lengths` does, and ValueError for a `near` that is not positive.
    """
    if not (np.isfinite(near) and near > 0):
        raise ValueError(f"near must be positive, not {near}")
    formula = lambda q: flags(model, q, near)  # noqa: E731
    return _evaluate(model, f"flags {near}", formula, {"q": _checked_q(model.system, q)}, None, backend).astype(int)


def muscle_forces(
    model: Model,
    q: Any,
    u: Any,
    activation: Any,
    state: Any = None,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> np.ndarray:
    """(..., m) tensions F [N], positive when they pull, at q (..., nq), u (..., nu) and activation (..., m) in [0, 1].

    state (..., ns) holds the muscles' own states, such as the fiber lengths [m] of elastic tendons (`state_names`,
    `equilibrium_states`); a model whose laws have none takes none. Raises ModelError for muscles whose law or strength
    the model leaves open, ValueError as `path_lengths` does and for a state that is missing.
    """
    arrays = _checked_state(model, q, u, activation, state)
    return _evaluate(model, "forces", lambda *x: states.forces(model, *x), arrays, out, backend)


def muscle_torques(
    model: Model,
    q: Any,
    u: Any,
    activation: Any,
    state: Any = None,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> np.ndarray:
    """(..., nu) generalized forces -J^T F of all muscles on the velocities u: for a ball joint the torque [N m] in
    child-frame components. Arguments and errors as for `muscle_forces`."""
    arrays = _checked_state(model, q, u, activation, state)
    return _evaluate(model, "torques", lambda *x: states.torques(model, *x), arrays, out, backend)


def limit_torques(
    model: Model, q: Any, u: Any, *, out: np.ndarray | None = None, backend: str = "kernel"
) -> np.ndarray:
    """(..., nu) generalized forces on the velocities u of the model's limits (`CoordinateLimit`) at q (..., nq) and u
    (..., nu). At the gimbal lock of a limited angle that a quaternion has replaced they are not determined. Raises
    ValueError as `path_lengths` does."""
    arrays = {"q": _checked_q(model.system, q), "u": model.system.check_u(u)}
    return _evaluate(model, "limit_torques", lambda *x: limits.torques(model, *x), arrays, out, backend)


def muscle_state_rates(
    model: Model,
    q: Any,
    u: Any,
    activation: Any,
    state: Any,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> np.ndarray:
    """(..., ns) rates of the muscles' own states in the order of `state_names`; otherwise as `muscle_forces`."""
    arrays = _checked_state(model, q, u, activation, state)
    return _evaluate(model, "state_rates", lambda q, u, a, z: states.rates(model, q, u, a, z), arrays, out, backend)


def muscle_state_residuals(
    model: Model,
    q: Any,
    u: Any,
    activation: Any,
    state: Any,
    rate: Any,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> np.ndarray:
    """(..., ns) the equations of the muscles' own states in implicit form, 0 = g(q, u, activation, state, rate), as
    direct collocation takes them: of an elastic tendon, what its fiber pulls harder than it, over the greatest
    isometric force. Zero where rate (..., ns) is `muscle_state_rates`; otherwise as `muscle_forces`."""
    own = states.state_names(model)
    arrays = _checked_state(model, q, u, activation, state) | {"rate": check_state("rate", rate, len(own), own)}
    return _evaluate(model, "state_residuals", lambda *x: states.residuals(model, *x), arrays, out, backend)


def activation_rates(
    model: Model, excitation: Any, activation: Any, *, out: np.ndarray | None = None, backend: str = "kernel"
) -> np.ndarray:
    """(..., m) da/dt [1/s] of the activations at excitation and activation (..., m), both in [0, 1]; zero for muscles
    without activation dynamics. Raises ValueError for numbers outside."""
    arrays = {"excitation": model.check_activation(excitation), "activation": model.check_activation(activation)}
    return _evaluate(model, "activation_rates", lambda e, a: states.activation_rates(model, e, a), arrays, out, backend)


def equilibrium_states(model: Model, q: Any, activation: Any) -> np.ndarray:
    """(..., ns) states at which every muscle is in balance at rest: where a simulation can start.

    Solved muscle by muscle to 1e-12 of the fiber length. Raises as `muscle_forces` does, and ValueError where a law
    finds no balance, naming the muscle.
    """
    arrays = _checked_state(model, q, np.zeros(model.system.nu), activation, None, stateless=True)
    l, a = path_lengths(model, arrays["q"]), arrays["activation"]
    batch = np.broadcast_shapes(l.shape[:-1], a.shape[:-1])
    l, a = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (l, a))
    found = equilibria(model, l, a, {kind: numbers_of(kind, laws) for kind, laws in states.elastic(model).items()})
    if np.isnan(found).any():
        where = tuple(int(i) for i in np.argwhere(np.isnan(found))[0])
        name = states.state_names(model)[where[-1]].rpartition(".")[0]
        raise ValueError(f"muscle {name!r}: no fiber length balances the tendon at pose {where[:-1]}")
    return found


def equilibria(model: Model, l: np.ndarray, a: np.ndarray, numbers: dict[type, Any]) -> np.ndarray:
    """(..., ns) states in balance at rest at path lengths and activations (..., m), NaN where there is none; `numbers`
    of the laws of every class in `states.elastic`."""
    found = np.full((*l.shape[:-1], len(states.state_names(model))), np.nan)
    slices = states.state_slices(model)
    for kind in numbers:
        members = [i for i, s in enumerate(slices) if s.stop > s.start and type(model.muscles[i].law) is kind]
        places = [slices[i].start for i in members]
        found[..., places] = equilibrium_lengths(kind, numbers[kind], l[..., members], a[..., members])
    for i, s in enumerate(slices):
        law = model.muscles[i].law
        if s.stop > s.start and law is not None and type(law) not in numbers:
            found[..., s] = law.equilibrium(l[..., i], 0.0, a[..., i])
    return found


# ---- at the door -------------------------------------------------------------------------------------------


def eliminated_components(system: ArticulatedSystem, q: np.ndarray, eliminated: Any) -> np.ndarray:
    """(..., balls) index of the eliminated component of each quaternion; ValueError if it is zero at a pose."""
    Q = quaternions(system, q)
    if isinstance(eliminated, str):
        if eliminated != "largest":
            raise ValueError(f"eliminated is 0, 1, 2, 3, 'largest' or an array of these, not {eliminated!r}")
        return np.argmax(np.abs(Q), axis=-1)
    index = np.asarray(eliminated)
    if index.dtype.kind not in "iu" or np.any((index < 0) | (index > 3)):
        raise ValueError(f"eliminated is 0, 1, 2, 3, 'largest' or an array of these, not {eliminated!r}")
    index = np.broadcast_to(index, Q.shape[:-1])
    vanishing = np.take_along_axis(Q, index[..., None], axis=-1)[..., 0] == 0
    if np.any(vanishing):
        where = [int(i) for i in np.argwhere(vanishing)[0]]
        raise ValueError(
            f"eliminated component Q{index[tuple(where)]} of ball joint {where[-1]} is zero at pose {where[:-1]}: "
            "the constrained chart does not exist there; use eliminated='largest'"
        )
    return index


def quaternions(system: ArticulatedSystem, q: np.ndarray) -> np.ndarray:
    """(..., balls, 4) the quaternions in q (..., nq)."""
    slices = system.quaternion_slices()
    return np.stack([q[..., s] for s in slices], axis=-2) if slices else np.zeros((*q.shape[:-1], 0, 4))


def _checked_state(
    model: Model, q: Any, u: Any, activation: Any, state: Any, stateless: bool = False
) -> dict[str, np.ndarray]:
    """The arrays of a state; `stateless`: without the muscles' own, though they have some."""
    check_laws(model)
    own = states.state_names(model)
    if state is None and own and not stateless:
        raise ValueError(
            f"state (..., {len(own)}) is needed: {own[0]!r} and others; equilibrium_states(model, q, activation) "
            "gives one"
        )
    arrays = {
        "q": _checked_q(model.system, q),
        "u": model.system.check_u(u),
        "activation": model.check_activation(activation),
    }
    return arrays if state is None else arrays | {"state": check_state("state", state, len(own), own)}


def _probe(system: ArticulatedSystem, q: Any) -> Any:
    """(..., balls + 1): every |Q|^2, and a sum that is finite only if all other coordinates are."""
    slices = system.quaternion_slices()
    other = np.ones(system.nq, dtype=bool)
    for s in slices:
        other[s] = False
    rest = np.sum(np.where(other, q, 0.0), axis=-1)
    return np.stack([*(np.sum(q[..., s] * q[..., s], axis=-1) for s in slices), rest], axis=-1)


CHUNK = 8192  # poses whose probe stays in the cache


def _checked_q(system: ArticulatedSystem, q: Any) -> np.ndarray:
    """As `ArticulatedSystem.check_q`, but reading a large batch only once, through a kernel."""
    q = np.asarray(q, dtype=np.float64)
    if q.size <= CHUNK or q.shape[-1] != system.nq:
        return system.check_q(q)
    rows = np.ascontiguousarray(q).reshape(-1, system.nq)
    kernel = kernel_for(
        ("probe", system.content_key), lambda: kernels.compile(lambda q: _probe(system, q), {"q": system.nq})
    )
    probe = np.empty((CHUNK, len(system.quaternion_slices()) + 1))
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        values = probe[: len(part)]
        kernel(part, out=values, threads=1)
        low, high = values[:, :-1].min(initial=1.0), values[:, :-1].max(initial=1.0)
        # |Q|^2 - 1 is twice |Q| - 1 to first order; the exact check decides, this one only finds where to look
        if not (low >= 1 - UNIT_TOLERANCE and high <= 1 + UNIT_TOLERANCE and np.isfinite(values[:, -1].sum())):
            system.check_q(part)
    return rows.reshape(q.shape)


def _evaluate(
    model: Model,
    quantity: str,
    formula: Callable[..., Any],
    arrays: dict[str, np.ndarray],
    out: np.ndarray | None,
    backend: str,
) -> np.ndarray:
    if backend not in BACKENDS:
        raise ValueError(f"backend is one of {', '.join(BACKENDS)}, not {backend!r}")
    if backend == "numpy":
        result = formula(*arrays.values())
        if out is None:
            return result
        out[...] = result
        return out
    inputs = {name: array.shape[-1] for name, array in arrays.items()}
    kernel = kernel_for(
        (quantity, model.content_key, tuple(inputs)),
        lambda: kernels.compile(formula, inputs, [quantity], name=f"{model.name}_{quantity}"),
    )
    return kernel(*arrays.values(), out=out)
