"""What a warning says about simulations that stopped before their end."""

import math
import warnings
from collections.abc import Mapping

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.composite import mass
from myoquat.dynamics.equations import forward_dynamics
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.regularity import check_pose
from myoquat.dynamics.simulation.controls import Control, element
from myoquat.dynamics.simulation.run import Run
from myoquat.joints.errors import CoordinateWarning, ModelError
from myoquat.joints.locks import near_locks
from myoquat.kernels import Outcome

__all__ = ["stop_message"]

FAILED = [outcome for outcome in Outcome if outcome.failed]


def stop_message(
    equations: StateEquations, run: Run, controls: Mapping[str, Control], parameters: Array | None
) -> str | None:
    """Time, state and |udot| of the first state that failed; None if none did."""
    if np.all(run.reason == int(Outcome.COMPLETED)):  # most calls: `isin` takes five times as long
        return None
    failed = np.isin(run.reason, FAILED)
    if not failed.any():
        return None
    where = tuple(int(i) for i in np.argwhere(failed)[0]) if run.reason.ndim else ()
    time, q, u = float(run.stopped[where]), run.final_q[where], run.final_u[where]
    values = {name: element(control.at(np.array([time]))[..., 0, :], where) for name, control in controls.items()}
    values["own"] = run.final_own[where]
    norm = _acceleration_norm(_equations_of(equations, parameters, where), time, q, u, values)
    which = f"state {list(where)} of {np.count_nonzero(failed)} that stopped" if where else "the simulation stopped"
    return (
        f"{which} at t = {time:.6g} s: {Outcome(run.reason[where]).sentence}; last good state q = {_shown(q)}, "
        f"u = {_shown(u)}, |udot| = {norm:.6g}. Rows after it are NaN; {_advice(equations, q)}"
    )


def _advice(equations: StateEquations, q: Array) -> str:
    """What may help at the pose q (nq,): what to do about locks near it, or another pose, where the mass matrix is
    singular there."""
    if np.isfinite(q).all() and (locks := near_locks(equations.system, q)):
        return (
            f"{locks}; describe such joints by quaternions, with_rotations('quaternion'), and set the inertia of frames"
            " that follow them to zero"
        )
    if not equations.constraints and np.isfinite(q).all():
        try:
            check_pose(equations.system, mass(equations.system, q))
        except ModelError as error:
            return error.message
    return "a smaller step, or method='radau' where forces are stiff, may help"


def _equations_of(equations: StateEquations, parameters: Array | None, where: tuple[int, ...]) -> StateEquations:
    """The equations of one element of the batch, its own numbers in the model."""
    return equations if parameters is None else equations.fixed(element(parameters, where))


def _acceleration_norm(
    equations: StateEquations, time: float, q: Array, u: Array, values: Mapping[str, Array]
) -> float:
    """|udot| of one state, NaN where there is none: off the unit sphere or at a lock."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", CoordinateWarning)  # that the pose is far away is said
        try:
            tau = equations.force(np.array(time), q, u, values)
            return float(np.linalg.norm(forward_dynamics(equations.model, q, u, tau, backend="numpy")))
        except ValueError:
            return math.nan


def _shown(array: Array) -> str:
    return np.array2string(array, precision=4, threshold=20, max_line_width=10**6)
