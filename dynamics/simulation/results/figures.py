"""Figures of trajectories."""

import numpy as np
from matplotlib.figure import Figure

from myoquat.core import Panel, draw_panels
from myoquat.data.motions.figures import motion_panels
from myoquat.data.motions.series import check_run
from myoquat.muscle import state_names

from .trajectory import Trajectory


def plot(trajectory: Trajectory, run: int | tuple[int, ...] = ()) -> Figure:
    """Coordinates, velocities, activations, tensions and energies over time, and states of muscles."""
    run = check_run(run, trajectory.batch)
    activation, force = trajectory.activation, None if trajectory.activation is None else trajectory.forces[run]
    if activation is not None:
        own = activation[run] if activation.ndim > 2 else activation
        activation = np.broadcast_to(own, (len(trajectory.time), activation.shape[-1]))
    panels = motion_panels(trajectory.model, trajectory.q[run], trajectory.u[run], activation, force)
    if trajectory.muscle_states is not None:
        names = tuple(name.removesuffix(".fiber_length") for name in state_names(trajectory.muscled))
        panels.append(Panel("fiber lengths", "m", names, trajectory.muscle_states[run], shared=True))
    kinetic, potential = trajectory.kinetic_energy[run], trajectory.potential_energy[run]
    energies = np.stack([kinetic, potential - potential[0], kinetic + potential - potential[0]], axis=-1)
    panels.append(Panel("energy from the start", "J", ("kinetic", "potential", "sum"), energies))
    return draw_panels(trajectory.time, panels)
