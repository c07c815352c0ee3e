"""Trajectories: what a simulation returns, and everything that follows from it on demand."""

import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from myoquat.core import Array, Curve, Curves, Solved, frozen, html_table, pandas as pd, warn_user
from myoquat.data.files import check_ending, check_output
from myoquat.data.motions import Motion, motion_from_states, save_table
from myoquat.data.motions.coordinates import actuator_columns
from myoquat.data.motions.series import check_run
from myoquat.dynamics import articulated, inverse
from myoquat.dynamics.constraints import Constraint, ConstraintArrays, Constraints
from myoquat.dynamics.integrators import StateEquations
from myoquat.dynamics.simulation.methods import described
from myoquat.joints import ArticulatedSystem
from myoquat.joints.evaluation import SystemLike, compiled, system_of
from myoquat.kernels import Outcome
from myoquat.muscle import Model, Parameters, acting, muscle_forces, path_lengths, state_names
from myoquat.muscle.acting import Instant, acts_on_bodies, torques, wrenches
from myoquat.muscle.actuators import delayed
from myoquat.muscle.laws import PushWarning
from myoquat.muscle.segments.path_segments import paths_at

from .trajectory_files import SUFFIXES, read, write

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure


# matplotlib is imported only for figures: it takes half a second
FIGURES = "myoquat.dynamics.simulation.results.figures"
ANIMATION = "myoquat.data.motions.figures"


OVER_TIME = ("q", "u", "activation", "torque", "muscle_states", "excitation", "controls", "actuation")


@frozen
class Trajectory(Curves, Solved):
    """A motion of a model, for a batch (...) of simulations.

    time           (t,) [s], the start first
    q, u           (..., t, nq) and (..., t, nu), NaN after a simulation stopped
    activation     (..., t, m) at those times, None without
    torque         (..., t, nu) at those times, None without
    method         how it was computed
    stopped        (...,) time of the step that failed, NaN if none did
    code           (...,) the `myoquat.kernels.Outcome` of each; `reason` has it in words
    steps          (...,) steps taken
    occurrences    the events that happened, an array (...,) of tuples for a batch
    constraints    those of the simulation
    muscle_states  (..., t, ns) the states of the muscles' laws such as fiber lengths [m], in the order of
                   `myoquat.muscle.state_names`, None without
    excitation     (..., t, m) the input where activations are states, None without
    parameters     (..., n) the numbers of the model that differ between runs, in the order of parameter_names, None
                   without
    controls       (..., t, k) those of the actuators, in the order of `Model.control_names`, None without
    actuation      (..., t, k) what acts in place of the controls where activations follow some with a delay, None
                   without

    What is computed on demand is kept; rows of NaN give NaN.

    >>> import myoquat as mq
    >>> motion = mq.simulate(mq.load_model("two_link"), duration=0.1, step=1e-2)
    >>> motion.time.shape, motion.q.shape, motion.forces.shape
    ((11,), (11, 8), (11, 6))
    >>> bool(abs(motion.norm_drift).max() < 1e-12)
    True
    """

    model: SystemLike
    time: Array
    q: Array
    u: Array
    activation: Array | None
    torque: Array | None
    method: str
    stopped: Array
    code: Array
    steps: Any = None
    occurrences: Any = ()
    constraints: tuple[Constraint, ...] = ()
    muscle_states: Array | None = None
    excitation: Array | None = None
    parameters: Array | None = None
    parameter_names: tuple[str, ...] = ()
    controls: Array | None = None
    actuation: Array | None = None

    @property
    def system(self) -> ArticulatedSystem:
        """The articulated system that moves."""
        return system_of(self.model)

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the leading axes."""
        return self.q.shape[:-2]

    @property
    def reason(self) -> str | Array:
        """Why each simulation ended: a sentence, or an array (...,) of them."""
        return np.vectorize(lambda code: Outcome(code).sentence, otypes=[object])(self.code)[()]

    @property
    def complete(self) -> bool:
        """True if every simulation ran to its end."""
        return bool(np.all(self.code == Outcome.COMPLETED))

    @property
    def success(self) -> bool:
        """Whether every simulation ran to its end: `complete`."""
        return self.complete

    # ---- a motion and what belongs to it (`myoquat.data.MotionLike`) ------------------------------------------

    @property
    def udot(self) -> Array:
        """(..., t, nu) `acceleration`."""
        return self.acceleration

    @property
    def force(self) -> Array | None:
        """(..., t, m) `forces` of the muscles [N], None without activations."""
        return None if self.activation is None else self.forces

    @cached_property
    def loads(self) -> Array | None:
        """(..., t, bodies, 6) force [N] and torque [N m] of the model's passive forces, such as contacts and prescribed
        forces, on every body, at its origin in world axes. None for a model without."""
        if not (isinstance(self.model, Model) and acts_on_bodies(self.model)):
            return None
        return self._of("loads", q=self.q, u=self.u, t=self._times)

    def to_motion(self, run: int | tuple[int, ...] = ()) -> Motion:
        """q, u, udot of one run of a batch, without the rows after a stop; ValueError for a run that does not exist."""
        run = check_run(run, self.batch)
        rows = np.isfinite(self.q[run]).all(axis=-1)
        return Motion(self.system, self.time[rows], self.q[run][rows], self.u[run][rows], self.udot[run][rows])

    # ---- on demand -------------------------------------------------------------------------------------------

    @cached_property
    def lengths(self) -> Array:
        """(..., t, m) muscle path lengths [m]."""
        return self._of("lengths", q=self.q)

    @cached_property
    def forces(self) -> Array:
        """(..., t, m) muscle tensions [N]. A PushWarning names muscles that push by more than 1 % of their strength."""
        if self.activation is None:
            raise ValueError("this model has no muscles")
        found = self._of("forces", **self._acting)
        message = push_message(self.muscled, found)
        if message is not None:
            warn_user(message, PushWarning)
        return found

    @cached_property
    def torques(self) -> Array:
        """(..., t, nu) generalized forces of muscles, limits, passive forces, actuators and outside torques on u
        [N m, N]."""
        return self._of("torques", **self._acting)

    @cached_property
    def power(self) -> Array:
        """(..., t) [W] the rate of `energy`.

        It is the power of outside torques, muscles, actuators, prescribed forces and expressions, less what damping and
        friction take. Constraints that move with time do work that is no part of it.
        """
        return self._of("power", **self._acting)

    @cached_property
    def acceleration(self) -> Array:
        """(..., t, nu) udot."""
        if self._differs_under_constraints:
            return self._by_run("acceleration")
        if self.constraints:
            arrays = self._constraint_arrays
            udot = lambda q, u, tau, t: arrays.motion(q, u, tau, t[..., 0]).acceleration  # noqa: E731
            return self._along(udot, q=self.q, u=self.u, tau=self.torques, t=self._times)
        return self._of("acceleration", q=self.q, u=self.u, tau=self.torques)

    @cached_property
    def kinetic_energy(self) -> Array:
        """(..., t) [J]."""
        return self._of("kinetic_energy", q=self.q, u=self.u)

    @cached_property
    def potential_energy(self) -> Array:
        """(..., t) [J] of gravity, the springs of joints, and all that `myoquat.muscle.elastic_energy` tells: limits,
        springs, bushings, contacts and ligaments. Muscles, actuators, prescribed forces and expressions have none."""
        return self._of("potential_energy", q=self.q)

    @property
    def energy(self) -> Array:
        """(..., t) kinetic and potential [J]. `power` is its rate."""
        return self.kinetic_energy + self.potential_energy

    @property
    def _differs_under_constraints(self) -> bool:
        """Whether every run has constraints with numbers of its own."""
        return bool(self.constraints) and self.parameters is not None

    def _by_run(self, name: str) -> Array:
        """A quantity of every run, by the model and the constraints with its numbers."""
        model = self.model if isinstance(self.model, Model) else self.system
        equations = StateEquations(model, constraints=self.constraints)
        varied = Parameters.of(model, self.parameter_names)
        numbers = np.broadcast_to(self._numbers[..., 0, :], (*self.batch, len(varied.names)))
        arrays = {key: x for key in OVER_TIME if (x := getattr(self, key)) is not None}
        found = []
        for run in np.ndindex(self.batch):
            own = equations.of_model(varied.bind(numbers[run]))
            rows: dict[str, Any] = {k: np.broadcast_to(x, (*self.batch, *x.shape[-2:]))[run] for k, x in arrays.items()}
            rows |= {"parameters": None, "parameter_names": ()}
            found.append(getattr(replace(self, model=own.model, constraints=own.constraints, **rows), name))
        return np.reshape(found, (*self.batch, *found[0].shape))

    @property
    def _constraint_arrays(self) -> ConstraintArrays:
        return ConstraintArrays(Constraints(self.system, self.constraints))

    @property
    def _times(self) -> Array:
        return np.broadcast_to(self.time, self.q.shape[:-1])[..., None]

    @cached_property
    def reactions(self) -> Array:
        """(..., t, bodies, 6) wrench (force [N], torque [N m]) on each body through its joint, world axes.

        Constraints between bodies act on them from outside, where they hold them. Of redundant ones the least forces
        are taken, since the motion does not determine them. Raises NotImplementedError for constraints on velocities.
        """
        if self._differs_under_constraints:
            return self._by_run("reactions")
        if self.constraints:
            arrays = self._constraint_arrays
            through = lambda q, u, tau, t, wrenches: arrays.joint_reactions(  # noqa: E731
                q, u, tau, t[..., 0], wrenches.reshape(len(q), -1, 6)
            )
            wrenches = self._of("wrenches", **self._acting)
            wrenches = wrenches.reshape((*wrenches.shape[:-2], -1))
            return self._along(through, q=self.q, u=self.u, tau=self.torques, t=self._times, wrenches=wrenches)
        return self._of("reactions", udot=self.acceleration, **self._acting)

    @cached_property
    def norm_drift(self) -> Array:
        """(..., t, balls) |Q| - 1 of every quaternion."""
        slices = self.system.quaternion_slices()
        norms = [np.linalg.norm(self.q[..., s], axis=-1) - 1 for s in slices]
        return np.stack(norms, axis=-1) if norms else np.zeros((*self.q.shape[:-1], 0))

    @cached_property
    def constraint_drift(self) -> Array:
        """(..., t, h) phi of every constraint on coordinates [m, rad]: zero but for what the method leaves."""
        if not self.constraints:
            return np.zeros((*self.q.shape[:-1], 0))
        if self._differs_under_constraints:
            return self._by_run("constraint_drift")
        arrays = self._constraint_arrays
        return self._along(lambda q, t: arrays.position(q, t[..., 0]), q=self.q, t=self._times)

    @property
    def muscled(self) -> Model:
        """The Model whose muscles act; ValueError for a system without muscles."""
        if not isinstance(self.model, Model):
            raise ValueError("this system has no muscles")
        return self.model

    @property
    def _acting(self) -> dict[str, Array]:
        """What acts, by the names of `myoquat.muscle.acting.Instant`."""
        controls = self.controls if self.actuation is None else self.actuation
        given = {"q": self.q, "u": self.u, "t": self._times, "activation": self.activation,
                 "states": self.muscle_states, "controls": controls, "torque": self.torque}  # fmt: skip
        return {name: array for name, array in given.items() if array is not None}

    def _of(self, name: str, **arrays: Array) -> Array:
        """A quantity by the formula of this name, with the numbers of every run."""
        varied = None if self.parameters is None else Parameters.of(self.model, self.parameter_names)
        numbers = {} if varied is None else {"p": self._numbers}
        return self._along(partial(quantity, self.model, name, varied), **arrays, **numbers)

    @property
    def _numbers(self) -> Array:
        """(..., 1, n) the parameters, for all times."""
        return np.zeros((1, 0)) if self.parameters is None else self.parameters[..., None, :]

    def _along(self, function: Callable[..., Array], **arrays: Array) -> Array:
        """function of the rows that are finite; NaN in the others."""
        rows = self.q.shape[:-1]
        flat = {name: np.broadcast_to(a, (*rows, a.shape[-1])).reshape(math.prod(rows), a.shape[-1])
                for name, a in arrays.items()}  # fmt: skip
        good = np.all([np.isfinite(a).all(axis=-1) for a in flat.values()], axis=0)
        values = function(**{name: a[good] for name, a in flat.items()})
        result = np.full((len(good), *values.shape[1:]), np.nan)
        result[good] = values
        return result.reshape((*rows, *values.shape[1:]))

    # ---- as a table ------------------------------------------------------------------------------------------

    def to_dataframe(self) -> "pd.DataFrame":
        """A table with a row for each time.

        Its columns are:

        - 'time' [s], coordinates and velocities by name
        - '<muscle>.activation', '<muscle>.length' and '<muscle>.force' of every muscle
        - '<muscle>.excitation' where activations are states
        - what the law of a muscle integrates, such as '<muscle>.fiber_length'
        - '<control>.control' of actuators, and '<actuator>.activation' of delayed ones
        - 'parameter <name>' of numbers that vary

        A batch has its indices as index levels 'run_0', ... before 'row'.
        """
        rows = self.q.shape[:-1]
        columns = {"time": self._times.ravel()}
        described = list(self._described())
        if self.actuation is not None:
            actuators = delayed(self.muscled)
            labels = [actuator.name for actuator in actuators.values()]
            described.append(("", "", self.actuation[..., [*actuators]], labels, "{}.activation", ""))
        for _, _, values, names, pattern, _ in described:
            values = np.broadcast_to(values, (*rows, len(names)))
            columns |= {pattern.format(name): values[..., k].ravel() for k, name in enumerate(names)}
        table = pd.DataFrame(columns)
        if len(rows) > 1:
            levels = [*(f"run_{k}" for k in range(len(rows) - 1)), "row"]
            table.index = pd.MultiIndex.from_product([range(n) for n in rows], names=levels)
        return table

    def _described(self) -> Iterator[tuple[str, str, Array, Sequence[str], str, Any]]:
        """Name, axis, values (..., t, n), names along the axis, names of columns and units of what tables and curves
        show."""
        system = self.system
        units = [system.coordinate_units[name] for name in system.coordinate_names]
        yield "q", "coordinate", self.q, system.coordinate_names, "{}", units
        yield "u", "velocity", self.u, system.velocity_names, "{}", [*system.velocity_units.values()]
        if self.activation is not None:
            muscles = self.muscled.muscle_names
            yield "activation", "muscle", self.activation, muscles, "{}.activation", "1"
            yield "length", "muscle", self.lengths, muscles, "{}.length", "m"
            yield "force", "muscle", self.forces, muscles, "{}.force", "N"
        if self.excitation is not None:
            yield "excitation", "muscle", self.excitation, self.muscled.muscle_names, "{}.excitation", "1"
        if self.controls is not None:
            yield "controls", "control", self.controls, self.muscled.control_names, "{}.control", None
        if self.muscle_states is not None:
            yield "muscle_state", "state", self.muscle_states, state_names(self.muscled), "{}", None
        if self.parameters is not None:
            yield "parameter", "name", self._numbers, self.parameter_names, "parameter {}", None

    # ---- to look at, and to keep -----------------------------------------------------------------------------

    def curves(self) -> dict[str, Curve]:
        """What `to_dataframe` has, over runs, times, and coordinates, velocities, muscles and so on."""
        rows = (*(f"run_{k}" for k in range(len(self.batch))), "time")
        return {
            name: Curve((*rows, axis), np.broadcast_to(values, (*self.q.shape[:-1], values.shape[-1])), unit)
            for name, axis, values, _, _, unit in self._described()
        }

    def labels(self) -> dict[str, Any]:
        """Times, and the names along the other axes."""
        return {"time": self.time} | {axis: list(names) for _, axis, _, names, _, _ in self._described()}

    def plot(self, run: int | tuple[int, ...] = ()) -> "Figure":
        """A matplotlib Figure over time: coordinates, velocities, tensions, energies. `run`: which of a batch."""
        return importlib.import_module(FIGURES).plot(self, run)

    def animate(
        self, file: str | Path | None = None, run: int | tuple[int, ...] = (), speed: float = 1.0, *,
        overwrite: bool = False,
    ) -> "FuncAnimation":  # fmt: skip
        """An animation of bodies and muscles with matplotlib, which a notebook shows.

        It is written to `file` if given, as .gif, .html or, where ffmpeg is installed, .mp4. `speed`: seconds of motion
        per second of watching. Raises FileExistsError for a file that exists unless `overwrite` is True.
        """
        return importlib.import_module(ANIMATION).animate(self, file, run, speed, overwrite)

    def save(self, path: str | Path, *, overwrite: bool = False, in_degrees: bool | None = None) -> None:
        """Write the motion in the format that the path's ending names.

        .npz          everything, the model and the constraints included, for `Trajectory.load`; no pickle. ValueError
                      for a constraint that holds a Python function.
        .mot, .sto    one run: coordinates, speeds, activations where they are states, and other states of muscles, as
                      OpenSim names them, for `myoquat.data.motions.states_from_motion`. A quaternion that has replaced
                      the angles of a model file is written in these. in_degrees: by default True for .mot.
        .csv          one run: the columns of `to_dataframe`.
        .bvh          one run: the motion of the bodies, for programs of animation.

        Of a run that stopped, files of one run hold the rows before. Raises FileExistsError for a file that exists
        unless `overwrite` is True, ValueError for another ending.
        """
        path = check_output(check_ending("a trajectory is", path, *SUFFIXES), overwrite)
        if path.suffix.lower() == ".npz":
            write(path, self)
            return
        if self.batch:
            raise ValueError(f"a {path.suffix} file holds one run, not {self._runs}; .npz holds them all")
        if path.suffix.lower() == ".bvh":
            self.to_motion().save(path, overwrite=True)  # `check_output` has asked
            return
        rows = np.isfinite(self.q).all(axis=-1)
        if path.suffix.lower() == ".csv":
            table = self.to_dataframe()[rows].set_index("time")
        else:  # a table of OpenSim's states
            table = motion_from_states(
                self.model, self.time[rows], self.q[rows], self.u[rows],
                in_degrees=path.suffix.lower() == ".mot" if in_degrees is None else in_degrees,
                activation=None if self.excitation is None or self.activation is None else self.activation[rows],
                muscle_states=None if self.muscle_states is None else self.muscle_states[rows],
            )  # fmt: skip
            if self.actuation is not None:
                table = table.assign(**actuator_columns(self.muscled, self.actuation[rows]))
        save_table(table, path, overwrite=True)  # `check_output` has asked

    @classmethod
    def load(cls, path: str | Path) -> "Trajectory":
        """The trajectory in a file that `save` wrote, without events; ValueError for any other file."""
        return cls(**read(path))

    # ---- to look at, in short --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        runs = f"{self._runs} runs of" if self.batch else "of"
        return f"<Trajectory {runs} {described(self.model)}: {self._span}; {self.method}; {self._ending}>"

    def _repr_html_(self) -> str:
        rows = {
            "model": described(self.model), "runs": self._runs or "1", "time": self._span, "method": self.method,
            "end": self._ending
        }  # fmt: skip
        return html_table(list(rows), [list(rows.values())])

    @property
    def _runs(self) -> str:
        return " x ".join(map(str, self.batch))

    @property
    def _span(self) -> str:
        return f"{len(self.time)} rows from {self.time[0]:.6g} to {self.time[-1]:.6g} s"

    @property
    def _ending(self) -> str:
        """How the runs ended, in words, and how many if there are several."""
        numbers, counts = np.unique(self.code, return_counts=True)
        ends = [(Outcome(number).sentence, count) for number, count in zip(numbers, counts, strict=True)]
        return "; ".join(f"{count}: {sentence}" if self.batch else sentence for sentence, count in ends)


# ---- Quantities of a trajectory: the same formulas where every run has numbers of its own ----------------------------


def _at(given: Mapping[str, Array]) -> Instant:
    """What acts, of arrays by the names of an instant; the time is (..., 1)."""
    arrays: dict[str, Any] = {**given, "t": given["t"][..., 0]}
    return Instant(**arrays)


def _reactions(model: SystemLike, udot: Array, **given: Array) -> Array:
    at = _at(given)
    return inverse.joint_wrenches(system_of(model), at.q, at.u, udot, wrenches(model, at))


def _power(model: SystemLike, **given: Array) -> Array:
    at = _at(given)
    stored = acting.energy_rate(model, at.q, at.u) if isinstance(model, Model) else 0.0
    return inverse.work_rate(system_of(model), at.q, at.u, torques(model, at)) + stored


FORMULAS: dict[str, Callable[..., Any]] = {
    "lengths": lambda model, q: paths_at(model.system, model.paths, q, np.zeros(model.system.nu)).length,
    "forces": lambda model, **given: acting.tensions(model, _at(given)),
    "torques": lambda model, **given: torques(model, _at(given)), "power": _power,
    "acceleration": lambda model, q, u, tau: articulated.forward(system_of(model), q, u, tau),
    "kinetic_energy": lambda model, q, u: inverse.kinetic(system_of(model), q, u),
    "potential_energy": lambda model, q: (
        inverse.potential(system_of(model), q) + (acting.energy(model, q) if isinstance(model, Model) else 0.0)
    ),
    "loads": lambda model, q, u, t: wrenches(model, Instant(q, u, t[..., 0])),
    "wrenches": lambda model, **given: wrenches(model, _at(given)), "reactions": _reactions
}  # fmt: skip


# of one model by public functions, whose kernels others share
SHARED: dict[str, Callable[..., Array]] = {
    "lengths": path_lengths,
    "forces": lambda model, q, u, activation, states=None, **other: muscle_forces(model, q, u, activation, states),
}


def quantity(model: Any, name: str, varied: Parameters | None, **arrays: Array) -> Array:
    """A quantity of a model at arrays (rows, n) by name, with the `varied` numbers p (rows, k) in every row."""
    if varied is None and name in SHARED:
        return SHARED[name](model, **arrays)
    sizes = {key: array.shape[-1] for key, array in arrays.items()}

    def formula(*rows: Array) -> Any:
        given = dict(zip(sizes, rows, strict=True))
        bound = model if varied is None else varied.bind(given.pop("p"))
        return FORMULAS[name](bound, **given)

    key = "trajectory", name, model.content_key, () if varied is None else varied.names, tuple(sizes.items())
    return np.asarray(compiled(key, formula, sizes, [name], name=f"trajectory_{name}")(*arrays.values()))


# ---- Muscles that push: what there is to say where a law gave forces below zero --------------------------------------


MIN_REPORTED_PUSH = 0.01  # of the greatest isometric force: what a curve's end may leave below zero is less


def push_message(model: Model, forces: Array) -> str | None:
    """A sentence about the muscles whose forces (..., m) [N] lie below zero by more than 1 % of their greatest
    isometric force, as their laws allow (`ForceLaw.can_push`). None if there are none."""
    pushing = []
    for i, muscle in enumerate(model.muscles):
        strength = getattr(muscle.law, "max_isometric_force", None)
        if muscle.law is None or not muscle.law.can_push or not strength:
            continue
        least = float(np.nanmin(forces[..., i], initial=0.0))
        if least < -MIN_REPORTED_PUSH * strength:
            pushing.append((least, muscle))
    if not pushing:
        return None
    least, worst = min(pushing, key=lambda pair: pair[0])
    option = "; the law has an option pull_only=True" if hasattr(worst.law, "pull_only") else ""
    others = f", and {len(pushing) - 1} other muscles too" if len(pushing) > 1 else ""
    law = worst.law.kind if worst.law is not None else ""
    return f"muscle {worst.name!r} pushes with up to {-least:.4g} N{others}: law {law!r} goes below zero{option}"
