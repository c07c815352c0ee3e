"""The longest stable step of a simulation, from the damping of muscles and joints.

Small deviations of the velocities decay with the rates of -(C^T M C)^-1 C^T D C. D is the derivative of the generalized
forces with respect to u, and C spans the free velocities. The Runge-Kutta method of order 4 is stable for steps of up
to 2.785 over the greatest rate.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II, 2nd ed., Springer 1996, section IV.2.
"""

import numpy as np

from myoquat.analysis.recruitment.free import free_velocities
from myoquat.core.typing import Array
from myoquat.data.motions import Motion
from myoquat.dynamics import bias_force, mass_matrix
from myoquat.muscle.evaluate import acting_torques
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

__all__ = ["longest_step"]

STABILITY_LIMIT = 2.785  # step times decay rate, of the classical Runge-Kutta method
SAFETY = 0.7  # of the longest stable step, because rates between the sampled poses may be greater
MAX_STEP_S, MIN_STEP_S = 1e-3, 1e-5  # [s] for accuracy; for computing time
SAMPLED_POSES = 40
DIFFERENCE_STEP = 1e-6  # of a velocity


def longest_step(model: Model, motion: Motion, activation: Array) -> float:
    """[s] at most 1 ms. ValueError where the damping needs less than 10 us. Elastic tendons are not considered."""
    rows = np.unique(np.linspace(0, len(motion.time) - 1, SAMPLED_POSES).astype(int))
    assert motion.u is not None
    q, u, a = motion.q[rows], motion.u[rows], activation[rows]
    turned = DIFFERENCE_STEP * np.eye(model.system.nu)[:, None, :]
    ahead, behind = (_forces(model, q, u + sign * turned, a, motion.time[rows]) for sign in (1.0, -1.0))
    D = np.moveaxis((ahead - behind) / (2 * DIFFERENCE_STEP), 0, -1)  # (rows, nu, nu), a column per velocity
    C = free_velocities(model, q, motion.time[rows])[1]
    Ct = np.swapaxes(C, -1, -2)
    rates = np.abs(np.linalg.eigvals(np.linalg.solve(Ct @ mass_matrix(model, q) @ C, Ct @ D @ C)))
    rate = float(rates.max(initial=0.0))
    step = min(MAX_STEP_S, SAFETY * STABILITY_LIMIT / rate) if rate else MAX_STEP_S
    if step < MIN_STEP_S:
        raise ValueError(f"velocities settle at {rate:.3g} /s, which asks for steps of {step:.2g} s; give step=")
    return step


def _forces(model: Model, q: Array, u: Array, a: Array, time: Array) -> Array:
    """(..., nu) the generalized forces that depend on the velocities."""
    q, a = (np.broadcast_to(x, (*u.shape[:-1], x.shape[-1])) for x in (q, a))
    activation = a if model.muscles and not state_names(model) else None
    return acting_torques(model, q, u, time, activation=activation) - bias_force(model.system, q, u)
