"""The common data of all analyses: a model, its motion, loads, and the states of its muscles where they are known."""

import warnings
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.analysis.motion.angle_smoothing import natural_spline, smooth_angles
from myoquat.analysis.motion.inverse_kinematics import MotionWarning
from myoquat.analysis.recruitment.joint_loads import JointLoads, joint_loads
from myoquat.analysis.recruitment.redundancy import consistent_motion
from myoquat.apps.opensim_tools.moved import actuators_of, cut_motion, loaded_motion, loads_at, with_speeds
from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data import load_model
from myoquat.data.files import file_name
from myoquat.data.motions import Forces, Motion, load_table, muscle_states_from_motion
from myoquat.data.motions.coordinates import bare_name
from myoquat.data.motions.muscles import actuation_from_motion
from myoquat.data.setups import AnalyzeSetup, ForwardSetup
from myoquat.data.setups.controls import read_controls
from myoquat.dynamics.constraints import AssemblyError
from myoquat.joints.errors import ModelError, in_file
from myoquat.muscle import muscle_forces
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

__all__ = ["Moving", "assembled_motion", "moving_of", "note", "unbounded"]


def note(message: str) -> None:
    """Tell what is left out."""
    warnings.warn(message, MotionWarning, stacklevel=3)


@dataclass(frozen=True, eq=False)
class Moving:
    """A motion with u. If it comes from coordinates, it also has udot, from splines through the coordinates.

    activation (t, m) and muscle_states (t, ns) are those of a states file, None where there is none.
    """

    setup: AnalyzeSetup | ForwardSetup
    model: Model
    motion: Motion
    loads: Forces | None
    first: int  # the number of the first frame in the file
    activation: Array | None = None
    muscle_states: Array | None = None
    given_controls: Array | None = None
    actuation: dict[str, Array] | None = None  # (t,) activations of actuators in the file of states

    @cached_property
    def controls(self) -> Array:
        """(t, k) those given, or what the setup's controllers say, 0 where they say nothing. Activations of the file of
        states in place of those that they follow with a delay."""
        if self.given_controls is not None:
            return self.given_controls
        model, time = self.model, self.motion.time
        controls = np.zeros((len(time), len(model.control_names)))
        for path in self.setup.controls:
            table = read_controls(path)
            for k in (k for k, name in enumerate(model.control_names) if name in table):
                controls[:, k] = table[model.control_names[k]].at(time)
        for name, activation in (self.actuation or {}).items():
            controls[:, model.control_names.index(name)] = activation
        return controls

    def joint_loads(self, tensions: "Array | pd.DataFrame | None", controls: Array) -> JointLoads:
        """The loads of joints, and the accelerations, under tensions and controls, which may be out of bounds."""
        model = unbounded(self.model)
        return joint_loads(model, self.forward, tensions, self.loads, controls=controls if model.actuators else None)

    @property
    def forward(self) -> Motion:
        """The motion without accelerations, so that forces have to cause them."""
        return replace(self.motion, udot=None)

    @property
    def tensions(self) -> Array | None:
        """(t, m) [N] tensions of the muscles, None where their states are not known."""
        m, n = self.motion, len(self.model.muscles)
        if not n:
            return np.zeros((len(m.time), 0))
        if self.activation is None or (self.muscle_states is None and state_names(self.model)):
            return None
        assert m.u is not None
        return muscle_forces(self.model, m.q, m.u, self.activation, self.muscle_states)

    @cached_property
    def accelerations(self) -> Array | str:
        """(t, nu) udot that the forces cause, as OpenSim's analyses have them, or why they are not known."""
        tensions = self.tensions
        if tensions is None:
            return "accelerations are those that the forces cause, and what the muscles do is not in the file"
        pull = tensions if tensions.size else None
        try:
            udot = self.joint_loads(pull, self.controls).motion.udot
        except ModelError as error:
            return f"accelerations are not known: {error}"
        assert udot is not None
        return udot

    def file(self, analysis: str, table: str) -> Path:
        """Where a table of an analysis is written; ModelError for names that no file can have."""
        return self.setup.results / file_name(f"{self.setup.name}_{analysis}_{table}.sto")

    def rows(self, interval: int) -> Array:
        """The numbers of the frames that an analysis records: the first, all multiples of its interval in the file's
        numbers, and the last."""
        k = np.arange(len(self.motion.time))
        return np.flatnonzero(((k + self.first) % interval == 0) | (k == 0) | (k == len(k) - 1))


def unbounded(model: Model) -> Model:
    """The model whose actuators take any control."""
    free: dict[str, Any] = {"lower": -np.inf, "upper": np.inf}
    return replace(model, actuators=tuple(replace(a, **free) if hasattr(a, "lower") else a for a in model.actuators))


def assembled_motion(model: Model, motion: Motion, path: Path) -> Motion:
    """The motion of a file with what couplers and constraints drive, whatever the file has for it, as OpenSim assembles
    it. A warning where a frame cannot be assembled: the motion is then that of the file."""
    names = {c.dependent for c in model.couplers}
    given = {bare_name(str(label), names) for label in load_table(path).columns}
    driven = [c.dependent for c in model.couplers if c.dependent not in given]
    if driven:
        note(f"{path.name} has no column for {', '.join(driven)}: couplers of the model drive them")
    try:
        return consistent_motion(model, motion)
    except AssemblyError as error:
        note(f"the motion of {path.name} stays off the constraints of the model: {error}")
        return motion


def moving_of(setup: AnalyzeSetup, rotations: str) -> Moving:
    """The motion that a setup asks for, cut to its times."""
    model = load_model(setup.model, rotations)
    own = actuators_of(model, setup.force_sets)
    model = replace(model, actuators=tuple(own.values()), inputs=())
    if setup.states is None:
        assert setup.coordinates is not None
        whole = loaded_motion(setup.coordinates, model, in_degrees=True)
        try:
            whole = smooth_angles(whole, setup.cutoff)
        except ValueError as error:
            raise in_file(error, setup.coordinates) from None
        if setup.speeds is not None:
            whole = with_speeds(whole, setup.speeds)
        whole = assembled_motion(model, whole, setup.coordinates)
        assert whole.u is not None
        bends = natural_spline(whole.time, whole.u)(whole.time, 1)  # not the second derivatives of the coordinates
        rows, motion = cut_motion(replace(whole, udot=bends), setup.times, setup.path)
        return Moving(setup, model, motion, loads_at(setup.loads, motion.time), rows.start)
    rows, motion = cut_motion(loaded_motion(setup.states, model, in_degrees=False), setup.times, setup.path)
    motion = assembled_motion(model, motion, setup.states)
    if motion.u is None:
        raise ModelError("the file of states holds no speeds", file=setup.states)
    table = load_table(setup.states)
    try:
        states = muscle_states_from_motion(model, table)
    except ValueError as error:
        raise in_file(error, setup.states) from None
    activation, fibers = (None if x is None else x[rows] for x in states)
    acting = {name: values[rows] for name, values in actuation_from_motion(model, table).items()}
    return Moving(
        setup, model, motion, loads_at(setup.loads, motion.time), rows.start, activation, fibers, actuation=acting
    )
