"""Simulation: states advanced in time, and what can be read from the trajectory."""

from myoquat.dynamics.simulation.controls import Inputs, StateFeedback
from myoquat.dynamics.simulation.events import Event, Occurrence
from myoquat.dynamics.simulation.methods import Run
from myoquat.dynamics.simulation.results.trajectory import Trajectory
from myoquat.dynamics.simulation.simulate import SimulationWarning, simulate
from myoquat.dynamics.simulation.simulator import Simulator
from myoquat.dynamics.simulation.stiffness import StiffnessWarning

__all__ = [
    "Event",
    "Inputs",
    "Occurrence",
    "Run",
    "SimulationWarning",
    "Simulator",
    "StateFeedback",
    "StiffnessWarning",
    "Trajectory",
    "simulate",
]
