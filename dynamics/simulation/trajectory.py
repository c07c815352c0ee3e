"""Trajectories: what a simulation returns, and everything that follows from it on demand."""

import importlib
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from myoquat.data.files import write_bytes
from myoquat.data.toml import model_text, parse_model
from myoquat.dynamics.constraints import Constraint, ConstraintArrays, Constraints
from myoquat.dynamics.equations import forward_dynamics, joint_reactions, kinetic_energy, mass_matrix, potential_energy
from myoquat.dynamics.simulation.adaptive import EVENT, STUCK
from myoquat.dynamics.simulation.quantities import varied_quantity
from myoquat.dynamics.udwadia_kalaba import RANK_TOLERANCE, Constrained, working
from myoquat.joints.door import system_of
from myoquat.joints.system import ArticulatedSystem
from myoquat.joints.vectors import matvec
from myoquat.kernels import Steps
from myoquat.muscle.evaluate import limit_torques, muscle_forces, muscle_torques, path_lengths
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import Parameters
from myoquat.muscle.states import state_names

__all__ = ["REASONS", "Trajectory"]

FIGURES = "myoquat.dynamics.simulation.figures"  # matplotlib takes half a second: only for those who want figures
FORMAT = "myoquat-trajectory-1"
REQUIRED = ("time", "q", "u", "stopped", "code")
OPTIONAL = ("activation", "torque", "steps", "muscle_states", "excitation", "parameters")

REASONS = {
    Steps.RAN: "ran to the end",
    EVENT: "an event ended it",
    STUCK: "the step size has become too small to go on",
    Steps.NOT_FINITE: "the next state is not finite",
    Steps.BOUND: "the speed |u| is beyond 1e6",
}


@dataclass(frozen=True)
class Trajectory:
    """A motion of a model, for a batch (...) of simulations.

    time (t,) [s], the start first; q (..., t, nq), u (..., t, nu), NaN after a simulation stopped; activation
    (..., t, m) and torque (..., t, nu) at those times, None without; method: how it was computed; stopped (...,): time
    of the step that failed, NaN if none did; code (...,): the reason's number, `reason` in words; steps (...,): steps
    taken; occurrences: the events that happened, an array (...,) of tuples for a batch; muscle_states (..., t, ns): the
    states of the muscles' laws such as fiber lengths [m], in the order of `myoquat.muscle.state_names`, None without;
    excitation (..., t, m): the input where activations are states, None without; parameters (..., n): the numbers of
    the model that runs have of their own, in the order of parameter_names, None without.

    What is computed on demand is kept; rows of NaN give NaN.
    """

    model: Any
    time: np.ndarray
    q: np.ndarray
    u: np.ndarray
    activation: np.ndarray | None
    torque: np.ndarray | None
    method: str
    stopped: np.ndarray
    code: np.ndarray
    steps: Any = None
    occurrences: Any = ()
    constraints: tuple[Constraint, ...] = ()
    muscle_states: np.ndarray | None = None
    excitation: np.ndarray | None = None
    parameters: np.ndarray | None = None
    parameter_names: tuple[str, ...] = ()

    @property
    def system(self) -> ArticulatedSystem:
        """The articulated system that moves."""
        return system_of(self.model)

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the leading axes."""
        return self.q.shape[:-2]

    @property
    def reason(self) -> Any:
        """Why each simulation ended: a sentence, or an array (...,) of them."""
        return np.vectorize(lambda code: REASONS[int(code)], otypes=[object])(self.code)[()]

    @property
    def complete(self) -> bool:
        """True if every simulation ran to its end."""
        return not np.any(self.code)

    # ---- on demand -------------------------------------------------------------------------------------------

    @cached_property
    def lengths(self) -> np.ndarray:
        """(..., t, m) muscle path lengths [m]."""
        return self._of("lengths", lambda q: path_lengths(self._muscled, q), self.q)

    @cached_property
    def forces(self) -> np.ndarray:
        """(..., t, m) muscle tensions [N]."""
        return self._of("forces", lambda *at: muscle_forces(self._muscled, *at), *self._at_muscles)

    @cached_property
    def torques(self) -> np.ndarray:
        """(..., t, nu) generalized forces of muscles, limits and outside torques on u [N m, N]."""
        tau = np.zeros(self.u.shape) if self.torque is None else np.broadcast_to(self.torque, self.u.shape)
        if isinstance(self.model, Model) and self.model.limits:
            tau = tau + self._of("limits", lambda q, u: limit_torques(self._muscled, q, u), self.q, self.u)
        if self.activation is None:
            return tau
        return tau + self._of("torques", lambda *at: muscle_torques(self._muscled, *at), *self._at_muscles)

    @cached_property
    def acceleration(self) -> np.ndarray:
        """(..., t, nu) udot."""
        if self.constraints:
            at = (self.q, self.u, self.torques, self._times)
            return self._along(lambda *at: self._least(*at).acceleration, *at)
        free = lambda q, u, tau: forward_dynamics(self.model, q, u, tau)  # noqa: E731
        return self._of("acceleration", free, self.q, self.u, self.torques)

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        """(..., t) [J]."""
        return self._of("kinetic_energy", lambda q, u: kinetic_energy(self.model, q, u), self.q, self.u)

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """(..., t) of gravity and springs [J]; muscles and limits not included."""
        return self._of("potential_energy", lambda q: potential_energy(self.model, q), self.q)

    @property
    def energy(self) -> np.ndarray:
        """(..., t) kinetic and potential [J]."""
        return self.kinetic_energy + self.potential_energy

    @property
    def _held(self) -> ConstraintArrays:
        return ConstraintArrays(Constraints(self.system, self.constraints))

    def _least(self, q: np.ndarray, u: np.ndarray, tau: np.ndarray, t: np.ndarray) -> Constrained:
        """Accelerations and forces under the constraints."""
        held, M = self._held, mass_matrix(self.system, q)
        Q = matvec(M, forward_dynamics(self.system, q, u, tau))
        return working(M, Q, held.jacobian(q, t[..., 0]), held.bias(q, u, t[..., 0]))

    def _held_joints(self, q: np.ndarray, u: np.ndarray, tau: np.ndarray, t: np.ndarray) -> np.ndarray:
        """What passes through the joints beside the constraints."""
        held, found = self._held, self._least(q, u, tau, t)
        back = np.linalg.pinv(np.swapaxes(held.jacobian(q, t[..., 0]), -1, -2), rcond=RANK_TOLERANCE)
        wrenches = held.wrenches(q, t[..., 0], matvec(back, found.force))
        return joint_reactions(self.model, q, u, found.acceleration, wrenches)

    @property
    def _times(self) -> np.ndarray:
        return np.broadcast_to(self.time, self.q.shape[:-1])[..., None]

    @cached_property
    def reactions(self) -> np.ndarray:
        """(..., t, bodies, 6) wrench (force [N], torque [N m]) on each body through its joint, world axes.

        Constraints between bodies act on them from outside, where they hold them; of redundant ones the least forces
        are taken, since the motion does not determine them. Raises NotImplementedError for constraints on velocities.
        """
        if self.constraints:
            return self._along(self._held_joints, self.q, self.u, self.torques, self._times)
        wrenches = lambda q, u, udot: joint_reactions(self.model, q, u, udot)  # noqa: E731
        return self._of("reactions", wrenches, self.q, self.u, self.acceleration)

    @cached_property
    def norm_drift(self) -> np.ndarray:
        """(..., t, balls) |Q| - 1 of every quaternion."""
        slices = self.system.quaternion_slices()
        norms = [np.linalg.norm(self.q[..., s], axis=-1) - 1 for s in slices]
        return np.stack(norms, axis=-1) if norms else np.zeros((*self.q.shape[:-1], 0))

    @cached_property
    def constraint_drift(self) -> np.ndarray:
        """(..., t, h) phi of every constraint on coordinates [m, rad]: zero but for what the method leaves."""
        if not self.constraints:
            return np.zeros((*self.q.shape[:-1], 0))
        held = ConstraintArrays(Constraints(self.system, self.constraints))
        return self._along(lambda q, t: held.position(q, t[..., 0]), self.q, self._times)

    @property
    def _muscled(self) -> Model:
        if not isinstance(self.model, Model):
            raise ValueError("this system has no muscles")
        return self.model

    @property
    def _at_muscles(self) -> tuple[np.ndarray, ...]:
        """What the muscles' forces depend on."""
        if self.activation is None:
            raise ValueError("this model has no muscles")
        return (self.q, self.u, self.activation, *(() if self.muscle_states is None else (self.muscle_states,)))

    def _of(self, name: str, function: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
        """A quantity of the model, or of every run's own."""
        if self.parameters is None:
            return self._along(function, *arrays)
        varied = Parameters.of(self.model, self.parameter_names)
        return self._along(lambda *at: varied_quantity(varied, name, at[:-1], at[-1]), *arrays, self._numbers)

    @property
    def _numbers(self) -> np.ndarray:
        """(..., 1, n) the parameters, for all times."""
        return np.zeros((1, 0)) if self.parameters is None else self.parameters[..., None, :]

    def _along(self, function: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
        """function of the rows that are finite; NaN in the others."""
        rows = self.q.shape[:-1]
        flat = [np.broadcast_to(a, (*rows, a.shape[-1])).reshape(-1, a.shape[-1]) for a in arrays]
        good = np.all([np.isfinite(a).all(axis=-1) for a in flat], axis=0)
        values = function(*(a[good] for a in flat))
        result = np.full((len(good), *values.shape[1:]), np.nan)
        result[good] = values
        return result.reshape((*rows, *values.shape[1:]))

    # ---- as a table ------------------------------------------------------------------------------------------

    def to_dataframe(self) -> pd.DataFrame:
        """Columns: 'time' [s], coordinates and velocities by name, of every muscle '<muscle>.activation', '.length' and
        '.force', '.excitation' where activations are states, and what its law integrates, such as '.fiber_length';
        'parameter <name>' of numbers that vary.
        A batch has its indices as index levels 'run_0', ... before 'row'."""
        columns = {"time": np.broadcast_to(self.time, self.q.shape[:-1])}
        columns |= self._named(self.system.coordinate_names, self.q)
        columns |= self._named(self.system.velocity_names, self.u)
        if self.activation is not None:
            parts = {"activation": self.activation, "length": self.lengths, "force": self.forces}
            for part, values in parts.items():
                columns |= self._named([f"{name}.{part}" for name in self._muscled.muscle_names], values)
        if self.excitation is not None:
            names = [f"{name}.excitation" for name in self._muscled.muscle_names]
            columns |= self._named(names, self.excitation)
        if self.muscle_states is not None:
            columns |= self._named(state_names(self._muscled), self.muscle_states)
        columns |= self._named([f"parameter {name}" for name in self.parameter_names], self._numbers)
        table = pd.DataFrame({name: np.ravel(values) for name, values in columns.items()})
        if self.batch:
            names = [*(f"run_{k}" for k in range(len(self.batch))), "row"]
            table.index = pd.MultiIndex.from_product([range(n) for n in self.q.shape[:-1]], names=names)
        return table

    def _named(self, names: Any, values: np.ndarray) -> dict[str, np.ndarray]:
        values = np.broadcast_to(values, (*self.q.shape[:-1], len(names)))
        return {name: values[..., k] for k, name in enumerate(names)}

    # ---- to look at, and to keep -----------------------------------------------------------------------------

    def plot(self, run: int | tuple[int, ...] = ()) -> Any:
        """A matplotlib Figure over time: coordinates, velocities, tensions, energies. `run`: which of a batch."""
        return importlib.import_module(FIGURES).plot(self, run)

    def animate(self, file: str | Path | None = None, run: int | tuple[int, ...] = (), speed: float = 1.0) -> Any:
        """A film of bodies and muscles: a matplotlib animation, which a notebook shows; written to `file` if given, as
        .gif, .html or, where ffmpeg is installed, .mp4. speed: seconds of motion per second of watching."""
        return importlib.import_module(FIGURES).animate(self, file, run, speed)

    def save(self, path: str | Path) -> None:
        """Write everything, the model's text included, to a .npz file that `Trajectory.load` reads; no pickle.

        Raises ValueError for a motion under constraints: their formulas cannot be stored.
        """
        if self.constraints:
            raise ValueError("a trajectory under constraints cannot be saved whole; to_dataframe() keeps its numbers")
        with_muscles = isinstance(self.model, Model)
        model = self.model if with_muscles else Model(self.system, name=self.system.name or "system")
        arrays = {name: getattr(self, name) for name in (*REQUIRED, *OPTIONAL) if getattr(self, name) is not None}
        arrays |= {"parameter_names": np.array(self.parameter_names)} if self.parameter_names else {}
        texts: dict[str, Any] = {"model": model_text(model), "method": self.method, "format": FORMAT}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, muscles=np.array(with_muscles), **arrays, **texts)
        write_bytes(path, buffer.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "Trajectory":
        """The trajectory in a file that `save` wrote; ValueError for any other file. Events are not kept."""
        try:
            with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
                data: dict[str, Any] = dict(archive)
        except (ValueError, zipfile.BadZipFile, EOFError) as error:
            raise ValueError(f"{path}: this is no saved trajectory ({error})") from None
        if str(data.get("format")) != FORMAT or not set(REQUIRED) <= set(data):
            raise ValueError(f"{path}: this is no saved trajectory of the format {FORMAT!r}")
        model = parse_model(str(data["model"]), Path(path))
        arrays: dict[str, Any] = {name: data.get(name) for name in (*REQUIRED, *OPTIONAL)}
        names = tuple(map(str, data.get("parameter_names", ())))
        moved = model if data["muscles"] else model.system
        return cls(moved, method=str(data["method"]), parameter_names=names, **arrays)
