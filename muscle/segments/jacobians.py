"""Muscle Jacobians: four differentiations of the path length, each on its own.

None is computed from another, so comparing them tests the maps between them. All are formulas on a model and
coordinates q (..., nq), floats or symbols, and give (..., m, n).
"""

import numpy as np

from myoquat.core.typing import Array
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.kernels.tracing.derivatives import jacobian_at
from myoquat.kernels.tracing.memoize import memoize
from myoquat.muscle.model import Model
from myoquat.muscle.path import Muscle, contacts, lengths
from myoquat.muscle.segments.charts import charts, together

__all__ = ["constrained", "coordinates", "velocity", "velocity_of"]


def velocity(model: Model, q: Array) -> Array:
    """(..., m, nu) J with dl/dt = J u: the derivative along a small motion from the pose."""
    return velocity_of(model.system, model.muscles, q)


@memoize
def velocity_of(system: ArticulatedSystem, muscles: tuple[Muscle, ...], q: Array) -> Array:
    """(..., m, nu) J of some muscles."""
    touching = contacts(system, muscles, q)
    result: Array = jacobian_at(
        lambda motion: lengths(system, muscles, q, motion, touching), np.zeros(system.nu), like=q
    )
    return result


def coordinates(model: Model, q: Array) -> Array:
    """(..., m, nq) dl/dq for the model's own coordinates: J_Q for a quaternion, J_phi for Euler angles."""
    touching = contacts(model.system, model.muscles, q)
    result: Array = jacobian_at(lambda x: lengths(model.system, model.muscles, x, touching=touching), q)
    return result


def constrained(model: Model, q: Array, eliminated: Array) -> Array:
    """(..., m, n) J*_Q = dl/dQ*, joint by joint; `eliminated` (..., balls) is the dropped component of each quaternion,
    those of floating joints included."""
    chart = together(charts(model.system, q, "constrained", eliminated))
    touching = contacts(model.system, model.muscles, q)

    def measured(x: Array) -> Array:
        return lengths(model.system, model.muscles, chart.coordinates(x), touching=touching)

    result: Array = jacobian_at(measured, chart.start)
    return result
