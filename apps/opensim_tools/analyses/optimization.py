"""StaticOptimization as OpenSim 4 poses it.

minimise sum |x_i|^p over muscles and actuators under C^T (-J^T (F_1 a) + B c) = C^T tau, bounds on both. F_1 is the
force of the active fiber at activation 1 with a rigid tendon, along the tendon. The torque tau is the part of the
motion's demand that the model's other forces and the loads leave. Its accelerations are those of splines.

Passive forces of muscles are left out, and forces are proportional to the activation.
`myoquat.analysis.recruitment.redundancy` makes neither assumption. For the laws in ALONG_FIBER, OpenSim lets the force
of the fiber pull along the tendon, without the cosine of the pennation (4.6, `calcInextensibleTendonActiveFiberForce`).
So does this tool, while `redundancy` does not.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from myoquat.analysis.motion.inverse_dynamics import inverse_dynamics_of_motion
from myoquat.analysis.recruitment.convex import Programs, Status, solve_programs
from myoquat.analysis.recruitment.free import free_velocities
from myoquat.apps.opensim_tools.analyses.moving import Moving, note, unbounded
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.core.typing import Array
from myoquat.data.files import file_name
from myoquat.data.motions import Motion
from myoquat.data.motions.motion import selected_frames
from myoquat.data.osim.control_bounds import read_control_bounds
from myoquat.data.setups.analyses import StaticOptimizationSetup
from myoquat.joints.errors import ModelError
from myoquat.joints.vectors import matvec, vecmat
from myoquat.muscle import actuator_forces, law_forces, path_jacobian, path_lengths
from myoquat.muscle.laws import DeGrooteFregly2016, Millard2012
from myoquat.muscle.laws.base import ForceLaw
from myoquat.muscle.laws.hill import HillLaw
from myoquat.muscle.laws.springs import PathActuator
from myoquat.muscle.model import Model

__all__ = ["Posed", "posed_as_opensim", "static_optimization_of"]

ALONG_FIBER = (Millard2012, DeGrooteFregly2016)


class Posed(NamedTuple):
    """The problems of the frames of `motion`, their unknowns by name, and the force (t, n) of each per unit of it."""

    motion: Motion
    programs: Programs
    names: tuple[str, ...]
    gains: Array


def static_optimization_of(moving: Moving, setup: StaticOptimizationSetup, outputs: Outputs) -> None:
    """Note the files of activations and forces."""
    posed = posed_as_opensim(moving, setup)
    motion, found = posed.motion, solve_programs(posed.programs)
    failed = np.flatnonzero(found.status != Status.SOLVED)
    if len(failed):
        t = motion.time[failed[0]]
        note(f"{setup.name}: {len(failed)} of {len(motion.time)} frames have no solution, the first at {t:g} s; what "
             "violates their equations the least is written for them")  # fmt: skip
    activations = pd.DataFrame(found.x, pd.Index(motion.time, name="time"), pd.Index(posed.names))
    _note_files(moving, setup, outputs, activations, posed.gains)


def posed_as_opensim(moving: Moving, setup: StaticOptimizationSetup) -> Posed:
    """The problem of every frame that the setup asks for."""
    rows = moving.rows(setup.interval)
    motion = _frames(moving, rows)
    model = moving.model
    pulling = [i for i, m in enumerate(model.muscles) if isinstance(m.law, (HillLaw, PathActuator))]
    gain, rest, columns = _strengths(model, motion, pulling, setup.physiology)
    needed = inverse_dynamics_of_motion(model, motion, moving.loads).torque
    C = free_velocities(model, motion.q)[1]
    J = path_jacobian(model, motion.q)
    arms = -np.swapaxes(J @ C, -1, -2)
    lower, upper = _bounds(moving, pulling)
    A = np.concatenate([arms[..., pulling] * gain[:, None, :], np.swapaxes(C, -1, -2) @ columns], axis=-1)
    b = vecmat(needed, C) - matvec(arms, rest)
    of_actuators = np.broadcast_to(_optimal(model), (len(rows), columns.shape[-1]))
    return Posed(
        motion,
        Programs.of(A, b, powers=setup.power, lower=lower, upper=upper),
        (*(model.muscle_names[i] for i in pulling), *model.control_names),
        np.concatenate([gain, of_actuators], axis=-1),
    )


def _note_files(moving: Moving, setup: StaticOptimizationSetup, outputs: Outputs, activations: pd.DataFrame,
                gains: Array) -> None:  # fmt: skip
    root = f"{moving.setup.name}_{setup.name}"
    results = moving.setup.results
    outputs.table(results / file_name(f"{root}_activation.sto"), activations, "Static Optimization", False)
    outputs.table(results / file_name(f"{root}_force.sto"), activations * gains, "ModelForces", False)


def _frames(moving: Moving, rows: Array) -> Motion:
    """The frames with accelerations."""
    motion = moving.motion
    if motion.udot is None:
        raise ModelError(
            "StaticOptimization needs <coordinates_file>: accelerations are derivatives of coordinates",
            file=moving.setup.path,
        )
    assert motion.u is not None
    return selected_frames(motion, rows)


def _strengths(model: Model, motion: Motion, pulling: Sequence[int], physiology: bool) -> tuple[Array, Array, Array]:
    """Strengths of muscles and actuators: (t, k), (t, m), (t, nu, r).

    Tensions (t, k) of the muscles in `pulling` per activation. Tensions (t, m) of the other elements, which act without
    activation. Generalized forces (t, nu, r) of the actuators at controls of 1.
    """
    J = path_jacobian(model, motion.q)
    assert motion.u is not None
    lengths, speeds = path_lengths(model, motion.q), matvec(J, motion.u)
    plain = replace(model, muscles=tuple(replace(m, law=_active(m.law)) for m in model.muscles))
    at_rest = law_forces(plain, lengths, speeds, np.zeros(lengths.shape))
    gain = (law_forces(plain, lengths, speeds, np.ones(lengths.shape)) - at_rest)[:, list(pulling)]
    for k, i in enumerate(pulling):
        law = plain.muscles[i].law
        if isinstance(law, ALONG_FIBER):
            gain[:, k] /= law.fiber(lengths[:, i], speeds[:, i], np.ones(len(lengths)))[1]
    if not physiology:
        of_law = [model.muscles[i].law for i in pulling]
        gain = np.array([law.max_isometric_force if isinstance(law, HillLaw) else gain[0, k]
                         for k, law in enumerate(of_law)]) + np.zeros(gain.shape)  # fmt: skip
    at_rest[:, list(pulling)] = 0.0
    count = len(model.control_names)
    columns = [actuator_forces(unbounded(model), motion.q, motion.u, np.broadcast_to(row, (len(lengths), count)))
               for row in np.eye(count)]  # fmt: skip
    return gain, at_rest, np.stack(columns, axis=-1) if columns else np.zeros((*motion.u.shape, 0))


def _active(law: ForceLaw | None) -> ForceLaw | None:
    """The law whose force is proportional to the activation, beside a passive part."""
    if not isinstance(law, HillLaw):
        return law
    undamped: dict[str, Any] = {"damping": 0.0} if hasattr(law, "damping") else {}
    return replace(law, tendon="rigid", minimum_activation=0.0, **undamped)


def _optimal(model: Model) -> Array:
    """(r,) the force of every actuator at a control of 1."""
    return np.array([getattr(a, "optimal_force", 1.0) for a in model.actuators for _ in a.control_names])


def _bounds(moving: Moving, pulling: Sequence[int]) -> tuple[Array, Array]:
    """Least and greatest activations and controls: those of the file, else of the law."""
    model, given = moving.model, read_control_bounds(moving.setup.model)
    rows = []
    for i in pulling:
        law = model.muscles[i].law
        least = law.minimum_activation if isinstance(law, HillLaw) else -np.inf
        most = 1.0 if isinstance(law, HillLaw) else np.inf
        low, high = given.get(model.muscle_names[i], (None, None))
        rows.append((least if low is None else low, most if high is None else high))
    rows += [bounds for actuator in model.actuators for bounds in actuator.bounds]
    lower, upper = np.array(rows).reshape(-1, 2).T
    return lower, upper
