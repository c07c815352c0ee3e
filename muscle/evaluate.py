"""Path lengths, Jacobians, forces and torques of a model's muscles, on batches of poses through compiled kernels.

All take (..., n) arrays with leading batch axes that broadcast, validate them once, and compile at first use; equal
models share kernels. `out` takes the result, a C-order float64 array. `backend="numpy"` evaluates the same formulas in
NumPy (Jacobians by the complex step): slower, and the reference that the kernels are tested against. SymPy and CasADi
symbols go in and come out, but SymPy symbols take no wrapping surfaces. Paths that need a solver raise TypeError:
around an ellipsoid, a torus, or several surfaces that act together.
"""

from functools import partial

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, check_unmasked, real_array
from myoquat.joints.vectors import joined, rows_of
from myoquat.kernels.symbolic.arrays import is_symbolic
from myoquat.muscle import acting, states

from .acting import Instant
from .argument_validation import MuscleCall, eliminated_components
from .forces import ContactForce
from .laws import HillLaw
from .laws.equilibrium import equilibrium_lengths
from .model import Model, check_laws
from .segments import tables
from .segments.flags import flags
from .segments.lengths import carried_bodies, carried_wrenches
from .segments.path_segments import wrenches
from .states import elastic, state_names, state_slices

JACOBIAN_VARIABLES = ("velocity", "coordinates", "quaternion", "constrained")


def path_lengths(model: Model, q: ArrayLike, *, out: np.ndarray | None = None, backend: str = "kernel") -> Array:
    """(..., m) path lengths l [m] of the muscles at coordinates q (..., nq).

    Raises ValueError for a wrong shape, numbers that are not finite or a quaternion off the unit sphere by more than
    1e-6.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> q = np.array(model.start_q)
    >>> mq.path_lengths(model, q).round(3)
    array([1.757, 2.227, 0.711, 1.851, 1.557, 1.718])
    """
    call = MuscleCall(model).q(q)
    formula = partial(tables.path_lengths, model.system, model.paths)
    return call.run_muscles("lengths", formula, 1, out, backend)


def path_jacobian(
    model: Model,
    q: ArrayLike,
    wrt: str = "velocity",
    *,
    eliminated: ArrayLike | str = 0,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., m, n) derivative of the path lengths at coordinates q (..., nq).

    wrt         With "velocity" J with dl/dt = J u, n = nu. With "coordinates" dl/dq for the own coordinates, J_Q or
                J_phi, n = nq. With "quaternion" J_Q = dl/dQ joint by joint, R(Q) as a polynomial, n = nq. Joints
                without a quaternion keep dl/dq there. With "constrained" J*_Q = dl/dQ* joint by joint, with one
                component of each quaternion eliminated.
    eliminated  0, 1, 2, 3, "largest" (of each pose and joint), or an array (..., balls) of indices, for "constrained".

    Moment arms in the biomechanist's sense are -J_phi. Raises ValueError as `path_lengths` does, for unknown
    variables, and where an eliminated component is zero.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> q = np.array(model.start_q)
    >>> mq.path_jacobian(model, q).shape, mq.path_jacobian(model, q, "quaternion").shape
    ((6, 6), (6, 8))
    >>> mq.path_jacobian(model, q)[0].round(3)
    array([-0.722, -0.509, -0.087,  0.   ,  0.   ,  0.   ])
    """
    if wrt not in JACOBIAN_VARIABLES:
        raise ValueError(f"wrt is one of {', '.join(JACOBIAN_VARIABLES)}, not {wrt!r}")
    call = MuscleCall(model).q(q)
    quantity = "coordinates" if wrt == "quaternion" else wrt
    check_unmasked("eliminated", eliminated)
    if quantity == "constrained":
        index = eliminated_components(model.system, call.inputs["q"].array, eliminated).astype(np.float64)
        call.put("eliminated", index, index)
    formula = partial(tables.path_jacobian, model.system, model.paths, quantity)
    return call.run_muscles(quantity, formula, 2, out, backend)


def path_flags(model: Model, q: ArrayLike, near: float = 1e-3, *, backend: str = "kernel") -> Array:
    """(..., m) what is to be known of the paths at coordinates q (..., nq): bits of `PathFlag`, as whole numbers.

    near: the distance at which a jump of the length is reported, in metres or in the unit of a conditional point's
    coordinate. A pose whose bits are 0 or WRAPPED has a length that is smooth there, or, where a path only just touches
    a surface, once differentiable. Raises as `path_lengths` does, ValueError for a `near` that is not positive, and
    TypeError for symbols, of which no bits can be known.

    >>> import myoquat as mq
    >>> from myoquat.muscle import MusclePath, PathFlag, PathPoint, WrapSphere
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> muscle = mq.Muscle("biceps", MusclePath(path, (WrapSphere(body="ground", radius=0.25),)))
    >>> flags = mq.muscle.path_flags(mq.Model(mq.ArticulatedSystem((rod,)), (muscle,)), [0.0])
    >>> PathFlag(int(flags[0])).name
    'WRAPPED'
    """
    if not (np.isfinite(near) and near > 0):
        raise ValueError(f"near must be positive, not {near}")
    call = MuscleCall(model).q(q)
    if is_symbolic(call.inputs["q"].array):
        raise TypeError("path_flags: the flags depend on the values of q, which must be numbers, not symbols")
    found = call.run_muscles(f"flags {near}", lambda q: flags(model.system, model.paths, q, near), 1, None, backend)
    return found.astype(int)


def muscle_forces(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    activation: ArrayLike,
    state: ArrayLike | None = None,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., m) tensions F [N], positive when they pull, at q (..., nq), u (..., nu) and activation (..., m) in [0, 1].

    state (..., ns) holds the muscles' own states, such as the fiber lengths [m] of elastic tendons (`state_names`,
    `equilibrium_states`). A model whose laws have none takes none. Raises ModelError for muscles whose law or strength
    the model leaves open, ValueError as `path_lengths` does and for a state that is missing.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> q, u = np.array(model.start_q), np.zeros(6)
    >>> mq.muscle_forces(model, q, u, np.full(6, 0.5)).round(3)
    array([ 5.604, 14.892,  3.612,  4.248,  2.323,  2.596])
    """
    call = _state_call(model, q, u, activation, state)
    return call.run_muscles("forces", partial(states.forces, model), 1, out, backend)


def law_forces(
    model: Model,
    lengths: ArrayLike,
    speeds: ArrayLike,
    activation: ArrayLike,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., m) tensions F [N] of muscles without states at path lengths [m], lengthening speeds [m/s] and activations.

    All are (..., m): `muscle_forces` where lengths and speeds are known. Raises as it does, and ValueError for states.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> q, u, a = np.array(model.start_q), np.ones(6), np.full(6, 0.5)
    >>> l, v = mq.path_lengths(model, q), mq.path_jacobian(model, q) @ u
    >>> np.allclose(mq.muscle.law_forces(model, l, v, a), mq.muscle_forces(model, q, u, a))
    True
    """
    check_laws(model)
    if state_names(model):
        raise ValueError(f"law_forces: the muscles have states, {state_names(model)[0]!r} and others")
    names = model.muscle_names
    call = MuscleCall(model).vector("lengths", lengths, names).vector("speeds", speeds, names)
    call.activation("activation", activation)
    return call.run_muscles("law_forces", partial(states.forces_of_laws, model), 1, out, backend)


def muscle_torques(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    activation: ArrayLike,
    state: ArrayLike | None = None,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., nu) generalized forces -J^T F of all muscles on the velocities u: for a ball joint the torque [N m] in
    child-frame components. Arguments and errors as for `muscle_forces`.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> q, u = np.array(model.start_q), np.zeros(6)
    >>> a = np.full(6, 0.5)
    >>> J, F = mq.path_jacobian(model, q), mq.muscle_forces(model, q, u, a)
    >>> np.allclose(mq.muscle_torques(model, q, u, a), -J.T @ F)
    True
    """
    call = _state_call(model, q, u, activation, state)
    return call.run_muscles("torques", partial(states.torques, model), 1, out, backend)


def muscle_wrenches(
    model: Model, q: ArrayLike, tensions: ArrayLike, *, out: np.ndarray | None = None, backend: str = "kernel"
) -> Array:
    """(..., bodies, 6) forces [N] and torques [N m] of tensions (..., m) [N] on the bodies at their origins, in world
    axes. They are external wrenches f_ext with the torques -J^T F of `muscle_torques`. Raises ValueError as
    `path_lengths` does, and for tensions of another shape.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> mq.muscle.muscle_wrenches(model, model.start_q, np.ones(6)).shape
    (2, 6)
    """
    call = MuscleCall(model).q(q).vector("tensions", tensions, model.muscle_names)
    formula = partial(wrenches, model.system, model.paths_on_bones)
    return call.run_muscles("muscle_wrenches", formula, 2, out, backend)


def unit_wrenches(
    model: Model, q: ArrayLike, body: str, *, out: np.ndarray | None = None, backend: str = "kernel"
) -> Array:
    """(..., m, 6) force [N] and torque [N m] of a unit tension of each muscle on a body and all that it carries. They
    are at the body's origin in world axes, and zero for muscles that do not cross the body's joint. Raises ValueError
    as `path_lengths` does, and for a body that does not exist.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> mq.muscle.unit_wrenches(model, model.start_q, "B").shape
    (6, 6)
    """
    call = MuscleCall(model).q(q)
    carried = carried_bodies(model.system, body)
    formula = partial(carried_wrenches, model.system, model.paths_on_bones, carried=carried)
    return call.run_muscles(f"unit_wrenches {carried[0]}", formula, 2, out, backend)


def acting_torques(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    time: ArrayLike | None = None,
    *,
    activation: ArrayLike | None = None,
    state: ArrayLike | None = None,
    controls: ArrayLike | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., nu) the generalized forces on the velocities u of all that acts on a model.

    Limits and passive forces act, with the `time` (...) [s] where a force depends on it. Muscles act at an `activation`
    and `state` as for `muscle_forces`, and actuators at `controls` as for `actuator_forces`. Without these they do
    nothing. Gravity, and springs and dampers of joints, are in `myoquat.dynamics.bias_force`. Raises as these functions
    do.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> q, u, a = model.start, np.zeros(6), np.full(6, 0.5)
    >>> tau = mq.muscle.acting_torques(model, q, u, activation=a)  # of muscles alone: the model has nothing else
    >>> np.allclose(tau, mq.muscle_torques(model, q, u, a))
    True
    """
    if activation is not None:
        check_laws(model)
    call = MuscleCall(model).q(q).u(u).time(time)
    if activation is not None:
        call.activation("activation", activation).states("states", state)
    if controls is not None:
        call.controls(controls)
    return call.run_muscles("acting_torques", call.at_instant(acting.torques), 1, None, backend)


def acting_wrenches(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    time: ArrayLike | None = None,
    *,
    tensions: ArrayLike | None = None,
    controls: ArrayLike | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., bodies, 6) the forces [N] and torques [N m] on bodies of all that acts on a model, at their origins in
    world axes.

    Contacts, prescribed forces, springs and bushings act, muscles with `tensions` (..., m) [N], and actuators with
    `controls` (..., k). What acts within joints, such as limits and actuators of coordinates, is on no body. Raises
    ValueError as `limit_torques`, `muscle_wrenches` and `actuator_forces` do. ModelError for a passive force that does
    not say on which bodies it acts, and a muscle whose path is a function of coordinates alone.

    >>> import myoquat as mq
    >>> from myoquat.muscle.actuators import PointActuator
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 0, 1)), mass=1.0)
    >>> thruster = PointActuator("thruster", "rod", (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), optimal_force=5.0)
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), actuators=(thruster,))
    >>> mq.muscle.acting_wrenches(model, [0.0], [0.0], controls=[2.0])[0] + 0.0  # 10 N along y, at 1 m
    array([ 0., 10.,  0.,  0.,  0., 10.])
    """
    call = MuscleCall(model).q(q).u(u).time(time)
    if controls is not None:
        call.controls(controls)
    found = call.run_muscles("acting_wrenches", call.at_instant(acting.wrenches), 2, None, backend)
    return found if tensions is None else found + muscle_wrenches(model, q, tensions, backend=backend)


def limit_torques(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    time: ArrayLike | None = None,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., nu) generalized forces on the velocities u of the model's limits (`CoordinateLimit`) and passive forces
    (`myoquat.muscle.forces`) at q (..., nq) and u (..., nu). At the gimbal lock of a limited angle that a quaternion
    has replaced they are not determined. Raises ValueError as `path_lengths` does, and without the `time` (...) [s]
    where a force depends on it; other models do not need it.

    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import CoordinateSpring
    >>> gate = mq.Body("gate", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("angle",))
    >>> spring = CoordinateSpring("closer", "angle", stiffness=10.0, damping=1.0)
    >>> model = mq.Model(mq.ArticulatedSystem((gate,)), forces=(spring,))
    >>> mq.muscle.limit_torques(model, [0.5], [2.0])  # -10 * 0.5 - 1 * 2 N m
    array([-7.])
    """
    call = MuscleCall(model).q(q).u(u).time(time)
    return call.run_muscles("limit_torques", call.at_instant(acting.torques), 1, out, backend)


def elastic_energy(model: Model, q: ArrayLike, *, out: np.ndarray | None = None, backend: str = "kernel") -> Array:
    """(...) [J] what a model's passive parts store at q (..., nq): limits (`CoordinateLimit`, `SwingTwistLimit`),
    springs, bushings and contacts among `Model.forces`, and ligaments among the muscles.

    Its rate is less the power of these parts without damping and friction. Muscles, actuators and prescribed forces
    have no potential, and none is known of expressions. Springs and gravity of the system are in
    `myoquat.dynamics.potential_energy`. Raises ValueError as `path_lengths` does.

    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import CoordinateSpring
    >>> gate = mq.Body("gate", "ground", mq.joints.RevoluteJoint((0, 0, 1)), coordinate_names=("angle",))
    >>> spring = CoordinateSpring("closer", "angle", stiffness=10.0)
    >>> model = mq.Model(mq.ArticulatedSystem((gate,)), forces=(spring,))
    >>> mq.muscle.elastic_energy(model, [0.5])  # k x^2 / 2
    array(1.25)
    """
    call = MuscleCall(model).q(q)
    return call.run_muscles("elastic_energy", partial(acting.energy, model), 0, out, backend)


def actuator_forces(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    controls: ArrayLike,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., nu) generalized forces of the model's actuators on the velocities u at controls (..., k). The order is that
    of `Model.control_names`, with the activations of delayed actuators in place of their controls. Raises ValueError as
    `path_lengths` does, and for controls outside their bounds.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.joints import RevoluteJoint
    >>> from myoquat.muscle.actuators import CoordinateActuator
    >>> link = mq.Body("link", "ground", RevoluteJoint(), mass=1.0, joint_name="knee", coordinate_names=("bend",))
    >>> motor = CoordinateActuator("motor", "bend", optimal_force=50.0)
    >>> model = mq.Model(mq.ArticulatedSystem((link,)), actuators=(motor,))
    >>> mq.muscle.actuator_forces(model, [0.3], [0.0], [0.5])
    array([25.])
    """
    call = MuscleCall(model).q(q).u(u).controls(controls)
    formula = lambda q, u, controls: acting.torques(model, Instant(q, u, controls=controls, passive=False))  # noqa: E731
    return call.run_muscles("actuator_forces", formula, 1, out, backend)


def muscle_state_rates(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    activation: ArrayLike,
    state: ArrayLike,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., ns) rates of the muscles' own states in the order of `state_names`; otherwise as `muscle_forces`.

    >>> import myoquat as mq
    >>> from myoquat.muscle import PathPoint
    >>> from myoquat.muscle.laws import DeGrooteFregly2016
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> law = DeGrooteFregly2016(1000.0, optimal_fiber_length=0.2, tendon_slack_length=0.3)
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, law),))
    >>> state = mq.muscle.equilibrium_states(model, [0.0], [0.5])
    >>> mq.muscle.muscle_state_rates(model, [0.0], [0.0], [0.6], state).round(2)  # [m/s] it shortens
    array([-0.13])
    """
    call = _state_call(model, q, u, activation, state)
    return call.run_muscles("state_rates", partial(states.rates, model), 1, out, backend)


def muscle_state_residuals(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    activation: ArrayLike,
    state: ArrayLike,
    rate: ArrayLike,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., ns) residuals 0 = g(q, u, activation, state, rate) of the muscles' own states, for direct collocation. For
    an elastic tendon it is the surplus of the fiber's pull over the tendon's, over the greatest isometric force. It is
    zero where rate (..., ns) is `muscle_state_rates`. The rest is as in `muscle_forces`.

    >>> import myoquat as mq
    >>> from myoquat.muscle import PathPoint
    >>> from myoquat.muscle.laws import DeGrooteFregly2016
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> law = DeGrooteFregly2016(1000.0, optimal_fiber_length=0.2, tendon_slack_length=0.3)
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, law),))
    >>> state = mq.muscle.equilibrium_states(model, [0.0], [0.5])
    >>> still = mq.muscle.muscle_state_residuals(model, [0.0], [0.0], [0.5], state, [0.0])
    >>> bool(abs(still[0]) < 1e-9)
    True
    """
    call = _state_call(model, q, u, activation, state).states("rate", rate)
    return call.run_muscles("state_residuals", partial(states.residuals, model), 1, out, backend)


def activation_rates(
    model: Model,
    excitation: ArrayLike,
    activation: ArrayLike,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., m) da/dt [1/s] of the activations at excitation and activation (..., m), both in [0, 1]; zero for muscles
    without activation dynamics. Raises ValueError for numbers outside.

    >>> from dataclasses import replace
    >>> import myoquat as mq
    >>> from myoquat.muscle import ActivationDynamics
    >>> arm = mq.load_model("two_link")
    >>> muscles = tuple(replace(muscle, activation_dynamics=ActivationDynamics()) for muscle in arm.muscles)
    >>> mq.muscle.activation_rates(replace(arm, muscles=muscles), [1.0] * 6, [0.5] * 6).round(2)  # [1/s]
    array([18.95, 18.95, 18.95, 18.95, 18.95, 18.95])
    """
    call = MuscleCall(model).activation("excitation", excitation).activation("activation", activation)
    return call.run_muscles("activation_rates", partial(states.activation_rates, model), 1, out, backend)


def equilibrium_states(model: Model, q: ArrayLike, activation: ArrayLike) -> Array:
    """(..., ns) states at which every muscle is in balance at rest: where a simulation can start.

    Solved muscle by muscle to 1e-12 of the fiber length; `HillLaw.equilibrium` says what holds where a tendon is slack.
    Raises as `muscle_forces` does, TypeError for symbols, and ValueError where a law finds no
    balance, naming the muscle.

    >>> import myoquat as mq
    >>> from myoquat.muscle import PathPoint
    >>> from myoquat.muscle.laws import DeGrooteFregly2016
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> law = DeGrooteFregly2016(1000.0, optimal_fiber_length=0.2, tendon_slack_length=0.3)
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, law),))
    >>> mq.muscle.equilibrium_states(model, [0.0], [0.8]).round(4)  # [m] the fiber; the path is 0.5 m long
    array([0.1869])
    """
    check_laws(model)
    call = MuscleCall(model).q(q).activation("activation", activation)
    checked, a = (call.inputs[name].array for name in ("q", "activation"))
    if is_symbolic(checked) or is_symbolic(a):
        raise TypeError("equilibrium_states: an iterative solver finds them, which takes numbers only, not symbols")
    l, a = np.broadcast_arrays(path_lengths(model, checked), a)
    found = equilibria(model, l, a, elastic(model))
    if np.isnan(found).any():
        where = tuple(int(i) for i in np.argwhere(np.isnan(found))[0])
        name = state_names(model)[where[-1]].rpartition(".")[0]
        raise ValueError(f"muscle {name!r}: no fiber length balances the tendon at pose {where[:-1]}")
    return found


def equilibria(model: Model, l: np.ndarray, a: np.ndarray, laws: list[tuple[list[int], HillLaw]]) -> Array:
    """(..., ns) states in balance at rest at path lengths and activations (..., m), NaN where there is none. `laws` are
    those of `elastic`, whose numbers may be arrays (..., k)."""
    found = np.full((*l.shape[:-1], len(state_names(model))), np.nan)
    slices, solved = state_slices(model), set[int]()
    for members, stacked in laws:
        columns = [slices[i].start for i in members]
        found[..., columns] = equilibrium_lengths(stacked, l[..., members], a[..., members])
        solved.update(members)
    for i, muscle in enumerate(model.muscles):
        if muscle.law is not None and muscle.law.states and i not in solved:
            found[..., slices[i]] = muscle.law.equilibrium(l[..., i], 0.0, a[..., i])
    return found


def _state_call(model: Model, q: ArrayLike, u: ArrayLike, activation: ArrayLike, state: ArrayLike | None) -> MuscleCall:
    """A call of a model whose muscles all can pull."""
    check_laws(model)
    return MuscleCall(model).q(q).u(u).activation("activation", activation).states("state", state)


# ---- What bodies do to each other where they touch, on batches of states through compiled kernels -------------------


def contact_pairs(model: Model) -> tuple[tuple[str, str, str], ...]:
    """(force, first surface, second surface) by name of every pair of surfaces that can touch.

    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere, HuntCrossley
    >>> ball = mq.Body("ball", "ground", mq.joints.PrismaticJoint((0, 1, 0)), mass=1.0)
    >>> rubber = ContactMaterial((ContactSphere("round", "ball", radius=0.1), ContactHalfSpace("floor", "ground")), 1e6)
    >>> model = mq.Model(mq.ArticulatedSystem((ball,)), forces=(HuntCrossley("contact", (rubber,)),))
    >>> mq.muscle.contact_pairs(model)
    (('contact', 'floor', 'round'),)
    """
    check_types(model=(model, Model))
    return tuple((force.name, first.name, second.name) for force in _contacts(model) for first, second in force.pairs)


def _contacts(model: Model) -> list[ContactForce]:
    return [force for force in model.forces if isinstance(force, ContactForce)]


def contact_forces(
    model: Model, q: ArrayLike, u: ArrayLike, *, out: np.ndarray | None = None, backend: str = "kernel"
) -> Array:
    """(..., k, 7) force (3) [N], point (3) [m] and pressure [N] of every pair of `contact_pairs`.

    The force on the second surface's body acts at the point, both in world axes. The pressure is the force's part along
    the normal. Forces are zero where surfaces are apart. Raises ValueError as `path_lengths` does.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.joints.types import PrismaticJoint
    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere, HuntCrossley
    >>> body = mq.Body("ball", "ground", PrismaticJoint((0, 1, 0)), mass=1.0)
    >>> rubber = ContactMaterial((ContactSphere("round", "ball", radius=0.1), ContactHalfSpace("floor", "ground")), 1e6)
    >>> model = mq.Model(mq.ArticulatedSystem((body,)), forces=(HuntCrossley("contact", (rubber,)),))
    >>> mq.muscle.contact_forces(model, [[0.099], [0.101]], [0.0])[:, 0].round(2)
    array([[ 0.  ,  4.71,  0.  ,  0.  , -0.  ,  0.  ,  4.71],
           [ 0.  ,  0.  ,  0.  ,  0.  ,  0.  ,  0.  ,  0.  ]])
    """
    call = MuscleCall(model).q(q).u(u)
    system, found = model.system, _contacts(model)

    def formula(q: Array, u: Array) -> Array:
        poses = system.poses(q)
        shifts = system.shifts(q, u, poses, system.ground)
        touching = [contact for force in found for contact in force.contacts(poses, shifts)]
        rows = [joined([contact.force, contact.point, contact.pressure[..., None]]) for contact in touching]
        return rows_of(rows) if rows else np.zeros((*q.shape[:-1], 0, 7))

    return call.run_muscles("contact_forces", formula, 2, out, backend)


def force_wrenches(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    time: ArrayLike | None = None,
    *,
    out: np.ndarray | None = None,
    backend: str = "kernel",
) -> Array:
    """(..., bodies, 6) forces [N] and torques [N m] of the model's passive forces on the bodies at their origins.

    They are in world axes, and come from contacts, prescribed forces, springs and bushings. They are external wrenches
    f_ext with the generalized forces that are part of `limit_torques`. Forces on coordinates act within joints, on no
    body. Raises ValueError as `limit_torques` does.

    >>> import myoquat as mq
    >>> from myoquat.muscle.forces import ContactHalfSpace, ContactMaterial, ContactSphere, HuntCrossley
    >>> ball = mq.Body("ball", "ground", mq.joints.PrismaticJoint((0, 1, 0)), mass=1.0)
    >>> rubber = ContactMaterial((ContactSphere("round", "ball", radius=0.1), ContactHalfSpace("floor", "ground")), 1e6)
    >>> model = mq.Model(mq.ArticulatedSystem((ball,)), forces=(HuntCrossley("contact", (rubber,)),))
    >>> mq.muscle.force_wrenches(model, [0.099], [0.0])[0].round(2) + 0.0  # the floor lifts the ball
    array([0.  , 4.71, 0.  , 0.  , 0.  , 0.  ])
    """
    call = MuscleCall(model).q(q).u(u).time(time)
    return call.run_muscles("force_wrenches", call.at_instant(acting.wrenches), 2, out, backend)


# ---- Tensions of a model at a pose without simulation ---------------------------------------------------------------
# Elastic tendons are in equilibrium with their fibers.


def tensions_at_rest(model: Model, q: ArrayLike, activation: ArrayLike, u: ArrayLike | None = None) -> Array:
    """(..., m) tensions [N] at coordinates q (..., nq) and activation (..., m), muscle states in equilibrium at rest.

    A muscle is given its greatest isometric force F0 where no fiber length balances it, because its path is far too
    long or short there. The velocities u (..., nu), zero if nothing is said, move the muscles that have no states.
    Raises ModelError for muscles whose law or strength is open.
    """
    q = real_array("q", q)
    u = np.zeros(model.system.nu) if u is None else u
    if not state_names(model):
        return muscle_forces(model, q, u, activation)
    l, a = np.broadcast_arrays(path_lengths(model, q), model.check_activation(activation))
    state = equilibria(model, l, a, elastic(model))
    balanced = np.isfinite(state)
    F = muscle_forces(model, q, u, a, np.where(balanced, state, 1.0))
    for i, s in enumerate(state_slices(model)):
        F[~balanced[..., s].all(axis=-1), ..., i] = getattr(model.muscles[i].law, "max_isometric_force", 1.0)
    return F
