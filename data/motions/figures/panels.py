"""What is drawn of a motion and of what belongs to it: coordinates, velocities, activations and tensions as panels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from myoquat.core.figures import Panel, by_unit, draw_panels
from myoquat.core.typing import Array
from myoquat.data.motions.angles import angle_table
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle.model import Model

__all__ = ["coordinate_panels", "motion_panels", "muscle_panels", "plot_motion", "velocity_panels"]


def plot_motion(motion: Any, run: int | tuple[int, ...] = ()) -> Figure:
    """A Figure of any `MotionLike` over time: angles in degrees, positions, velocities, activations and tensions."""
    rows = motion.to_motion(run)
    known = (motion.activation, motion.force)
    index = (run,) if isinstance(run, int) else tuple(run)
    activation, force = (None if x is None else x[index if x.ndim > 2 else ()][: len(rows.time)] for x in known)
    return draw_panels(rows.time, motion_panels(motion.model, rows.q, rows.u, activation, force))


def motion_panels(model: Any, q: Array, u: Array | None, activation: Array | None, force: Array | None) -> list[Panel]:
    """The panels of coordinates q (t, nq), velocities u (t, nu), activations and tensions (t, m), as far as known."""
    system = model.system if isinstance(model, Model) else model
    found = coordinate_panels(system, q)
    if u is not None:
        found += velocity_panels(system, u)
    if isinstance(model, Model):
        found += muscle_panels(model.muscle_names, activation, force)
    return found


def coordinate_panels(system: ArticulatedSystem, q: Array) -> list[Panel]:
    """Coordinates by unit; in place of a quaternion the angles of the file that it has replaced, where it has."""
    table = angle_table(system, np.arange(float(len(q))), q, None, False)
    names = [str(name) for name in table.columns]
    return by_unit(names, [system.coordinate_units[name] for name in names], table.to_numpy(dtype=float))


def velocity_panels(system: ArticulatedSystem, u: Array) -> list[Panel]:
    """Velocities by unit."""
    units = [unit for body in system.bodies for unit in body.joint.facts.velocity_units]
    return by_unit(system.velocity_names, units, u)


def muscle_panels(names: Sequence[str], activation: Array | None, force: Array | None) -> list[Panel]:
    """Activations and tensions of muscles, as far as they are known."""
    given = (("activations", "", activation), ("muscle tensions", "N", force))
    return [
        Panel(title, unit, tuple(names), values, shared=True) for title, unit, values in given if values is not None
    ]
