"""Simulation: states advanced in time, and what can be read from the trajectory."""

from dynamics.simulation.events import Event, Occurrence
from dynamics.simulation.simulate import SimulationWarning, simulate
from dynamics.simulation.simulator import Run, Simulator
from dynamics.simulation.trajectory import Trajectory

__all__ = ["Event", "Occurrence", "Run", "SimulationWarning", "Simulator", "Trajectory", "simulate"]
