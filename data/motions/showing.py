"""`plot` and `animate` of everything that knows a motion. matplotlib, half a second, is imported when one is called."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from myoquat.muscle.model import Model

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

__all__ = ["Shown"]


class Shown:
    """Base of the records of a motion and of what belongs to it, as `MotionLike` has it."""

    def plot(self) -> "Figure":
        """A matplotlib Figure over time: coordinates, angles in degrees, velocities, activations and tensions, as far
        as they are known."""
        figure: Figure = importlib.import_module("myoquat.data.motions.figures.panels").plot_motion(self)
        return figure

    def animate(
        self,
        file: str | Path | None = None,
        speed: float = 1.0,
        *,
        model: Model | None = None,
        overwrite: bool = False,
    ) -> "FuncAnimation":
        """A film of bodies and muscles, as `Trajectory.animate` makes it; model: the Model whose muscles are shown
        where the motion itself knows none."""
        animate = importlib.import_module("myoquat.data.motions.figures.animation").animate
        film: FuncAnimation = animate(self, file, (), speed, overwrite, model)
        return film
