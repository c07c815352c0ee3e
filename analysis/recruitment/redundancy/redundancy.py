"""Muscle redundancy along a motion: of all activations that produce it, those of the least effort.

minimise  sum_i w_i |a_i - t_i|^p + sum_j w_j |c_j|^p

under C^T (-J^T (F0 + F1 a) + R c) = C^T tau, bounds, and forces in joints within cones. C spans the velocities that
locks, couplers and constraints leave free. The targets t are 0 by default. Tendons are rigid, or stretch under the
muscles' forces (`tendons`).

A force law that is affine in the activation makes a frame a convex program. Other laws, such as Thelen's or one that is
cut off at zero, are solved by tangents until the forces themselves meet the equations. A bound that holds for the law
itself distinguishes solutions from local minima (`posed`). Without cones, where all efforts have a power of at least 2,
most frames of a long motion start from the solutions beside them (`sequential_programming`). The results are the same.

Sources: R. D. Crowninshield, R. A. Brand, A physiologically based criterion of muscle force prediction in locomotion,
J. Biomech. 14, 1981, for p-th powers. I. Belli et al., Does enforcing glenohumeral joint stability matter?, PLoS ONE
18, 2023, for the cone.
"""

from collections.abc import Sequence
from functools import partial
from types import NoneType
from typing import Literal

import numpy as np

from myoquat.analysis.recruitment.redundancy.actuators import AnyReserve
from myoquat.analysis.recruitment.redundancy.assembled_motion import check_consistent
from myoquat.analysis.recruitment.redundancy.coupled import Recruited, check_recruited, recruited
from myoquat.analysis.recruitment.redundancy.equations import Demands, Effort
from myoquat.analysis.recruitment.redundancy.result import Redundancy
from myoquat.analysis.recruitment.redundancy.searched import check_searched
from myoquat.analysis.recruitment.redundancy.tendons import Tendons
from myoquat.analysis.recruitment.redundancy.whole import Coupled, FrameCoupling
from myoquat.analysis.recruitment.stability import StabilityRule
from myoquat.core.arguments import check_types
from myoquat.core.typing import Array
from myoquat.data.motions import Forces, Motion, MotionLike, motion_of
from myoquat.joints.compiled import traced_once
from myoquat.muscle.model import Model

__all__ = ["redundancy"]


@traced_once()
def redundancy(
    model: Model,
    motion: MotionLike,
    loads: Forces | None = None,
    *,
    effort: Effort | None = None,
    reserves: float | Sequence[AnyReserve] = (),
    cones: Sequence[StabilityRule] = (),
    dynamics: FrameCoupling | None = None,
    tendons: Literal["rigid", "elastic"] = "rigid",
    backend: str = "kernel",
) -> Redundancy:
    """Activations, reserves and muscle forces for a motion (q, u, udot) under external loads, all frames at once.

    effort    what is minimal; None for the sum of squares of activations and reserves.
    reserves  actuators beside the muscles, on velocities (`Reserve`) or anywhere (`ReserveActuator`), or one strength
              [N m, N] for one on every free velocity.
    cones     stability rules of joints, such as `JointCone`; one at most may be a `SearchedRule`.
    dynamics  None: frames are independent. `Sequential()`: activations of muscles with `activation_dynamics` change no
              further between frames than excitations of 0 or 1 bring them; `Coupled()`: with the least total.
    tendons   "rigid", or "elastic" for those of the model's muscles that are. Then fiber and tendon pull alike in every
              frame, to 1e-7 of the greatest strength. The speeds of fibers are differences of second order over the
              frames. Frames that do not get there are unsolved.
    backend   "kernel" compiles a step of the solver at its first use for each size of problem; "numpy" does without.

    Activations reach from `minimum_activation` of a muscle's law, or 0, to 1. Locked coordinates need no torque;
    couplers and constraints pass on what they carry, and the motion must keep them (`consistent_motion`). A frame
    without a solution says so and gets what violates its conditions the least.

    Raises ValueError for a motion without frames, without u and udot, of another system or off the constraints, and for
    locked coordinates that accelerate. So do efforts, reserves and cones that do not fit, a metabolic effort with
    elastic tendons or `Coupled`, and cones where constraints are redundant. ModelError for muscles without a law.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import redundancy
    >>> from myoquat.data import Motion
    >>> from myoquat.muscle import ExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> muscles = tuple(mq.Muscle(name, path, ExponentialMuscle(0.5, 100.0)) for name in ("biceps", "brachialis"))
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), muscles)
    >>> held = Motion(model, [0.0, 0.1], [[0.0], [0.0]], [[0.0], [0.0]], [[0.0], [0.0]])
    >>> redundancy(model, held).force[0].round(3)  # alike muscles share alike
    array([20.437, 20.437])
    """
    check_types(model=(model, Model), loads=(loads, (Forces, NoneType)), dynamics=(dynamics, (FrameCoupling, NoneType)))
    motion, effort = motion_of(motion), effort or Effort()
    check_recruited(effort, dynamics, tendons)
    check_searched(cones, isinstance(dynamics, Coupled))
    if not len(motion.time):
        raise ValueError("the motion has no frames")
    model = motion.check_system(model)
    rigid = model.with_rigid_tendons()
    demands = Demands.of_motion(rigid, motion, loads, reserves, cones)
    check_consistent(rigid, motion)
    solve = partial(recruited, effort=effort, backend=backend, time=motion.time, dynamics=dynamics)
    if tendons == "rigid" or rigid is model:
        return _result(rigid, demands, motion, solve(demands), np.zeros((len(motion.time), 0)))
    elastic = Tendons(model)
    demands, found = elastic.solved(demands, motion.time, solve)
    return _result(model, demands, motion, found, elastic.fibers(demands))


def _result(model: Model, demands: Demands, motion: Motion, recruitment: Recruited, states: Array) -> Redundancy:
    demands = demands if recruitment.parameter is None else demands.with_rules(recruitment.parameter)
    m, found = len(model.muscles), recruitment.found
    a, c = found.x[:, :m], found.x[:, m:]
    force = demands.tensions(a)
    return Redundancy(
        model=model,
        motion=motion,
        velocities=demands.names,
        reserves=demands.reserves,
        cones=demands.cones,
        activation=a,
        force=force,
        reserve=c * np.array([reserve.strength for reserve in demands.reserves]),
        residual=demands.missing(force, c),
        status=found.status,
        effort=found.objective,
        bound=found.bound,
        price=found.y,
        pressed=demands.pressed(force, c),
        pull=demands.pull(found.z),
        columns=demands.columns,
        arms=demands.arms,
        lines=demands.lines,
        slopes=recruitment.slopes,
        states=states,
        external=demands.needed.wrenches,
        trial=recruitment.whole,
    )
