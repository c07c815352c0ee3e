"""Forward simulation of the controls of a solution, beside it."""

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from myoquat.analysis.control.discretization import Statement
from myoquat.analysis.control.plants import ModelPlant, OwnPlant, PrescribedPlant
from myoquat.analysis.control.points import Point
from myoquat.core.lazy_imports import scipy
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.dynamics import SimulationWarning, simulate
from myoquat.dynamics.simulation.results.trajectory import Trajectory
from myoquat.muscle.actuators import delayed
from myoquat.muscle.model import Model

__all__ = ["Forward", "interval_errors", "run_forward"]

STIFF_TOLERANCE = 1e-7  # of simulations with elastic tendons
STEPS_PER_INTERVAL = 20  # of the method of fourth order in each interval of a model
END_OFFSET = 1e-9  # of an interval: distance from its ends at which the controls are evaluated

Controls = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Forward:
    """A forward simulation with the controls of a solution, at its nodes.

    time    (t,) [s]
    q       (t, nq) poses
    u       (t, nu) velocities
    states  (t, nw) such as activations and fiber lengths
    error   (t, n) displacement from the solution: that of the pose (nu), the velocities (nu) and the states (nw)

    >>> from myoquat.analysis.control import Equations, OwnGoal, Problem
    >>> cart = Equations(("x", "v"), ("force",), lambda point: (point["v"], point["force"]))
    >>> effort = OwnGoal(lambda point: point["force"] ** 2)
    >>> problem = Problem(cart, 1.0, (effort,), 10, initial={"x": 0, "v": 0}, final={"x": 1, "v": 0})
    >>> bool(problem.solve().simulate().largest < 1e-6)
    True
    """

    time: Array
    q: Array
    u: Array
    states: Array
    error: Array

    @property
    def largest(self) -> float:
        """The greatest entry of the error; NaN where the simulation did not reach the end."""
        return float(np.abs(self.error).max(initial=0.0))


def run_forward(
    statement: Statement, time: Array, states: tuple[Array, Array, Array], controls: Controls, rtol: float
) -> Forward:
    """Simulate from the first of the states (q, u, w) at the times; rtol is that of equations of one's own."""
    plant = statement.plant
    if isinstance(plant, OwnPlant):
        w = _own(plant, statement, time, states[2], controls, rtol)
        return Forward(time, states[0], states[1], w, w - states[2])
    if not isinstance(plant, ModelPlant):
        raise ValueError("the motion of this problem is prescribed, so that its controls have nothing to move")
    q, u, w = _model(plant, statement.loaded, time, states, controls)
    error = np.concatenate([plant.displacement(states[0], q), u - states[1], w - states[2]], axis=1)
    return Forward(time, q, u, w, error)


def interval_errors(
    statement: Statement, time: Array, states: tuple[Array, Array, Array], controls: Controls, rtol: float
) -> Array:
    """(n,) the error of every interval: its controls, simulated from the state at its start, beside the state at its
    end.

    It is the greatest difference of pose, velocities and states, each over 1 plus its greatest value along the motion.
    NaN where a simulation fails. ValueError for a prescribed motion.
    """
    plant, ends = statement.plant, np.arange(1, len(time))
    if isinstance(plant, PrescribedPlant):
        raise ValueError("the motion of this problem is prescribed, so that its controls have nothing to move")
    found = []
    for k in ends - 1:
        own = states[0][k : k + 2], states[1][k : k + 2], states[2][k : k + 2]
        found.append(run_forward(statement, time[k : k + 2], own, controls, rtol).error[-1])
    q, u, w = states
    moved = plant.displacement(np.broadcast_to(q[0], q.shape), q) if plant.nu else np.zeros((len(q), 0))
    scale = 1.0 + np.abs(np.concatenate([moved, u, w], axis=1)).max(axis=0)
    result: Array = np.max(np.abs(found) / scale, axis=1)
    return result


def _own(plant: OwnPlant, statement: Statement, time: Array, states: Array, controls: Controls, rtol: float) -> Array:
    """Interval by interval, since controls may jump at nodes."""

    def rate(t: float, x: Array, start: float, end: float) -> Array:
        margin = END_OFFSET * (end - start)
        c = controls(np.array([np.clip(t, start + margin, end - margin)]))[0]
        point = Point(statement.names, np.array(t), states=x, controls=c, parameters=plant.parameters)
        return np.array([float(v) for v in plant.equations.rate(point)])

    found = [states[0]]
    for start, end in pairwise(time):
        run = scipy.integrate.solve_ivp(rate, (start, end), found[-1], rtol=rtol, atol=rtol, args=(start, end))
        found.append(run.y[:, -1])
    return np.array(found)


def _model(
    plant: ModelPlant, model: Model, time: Array, states: tuple[Array, Array, Array], controls: Controls
) -> tuple[Array, Array, Array]:
    """Interval by interval by a method on the group, of the model under external loads."""
    found = [tuple(x[:1].copy() for x in states)]
    for k in range(len(time) - 1):
        if all(np.isfinite(x).all() for x in found[-1]):
            found.append(_interval(plant, model, (time[k], time[k + 1]), found[-1], controls))
        else:
            found.append(found[-1])
    q, u, w = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return q, u, w


def _interval(
    plant: ModelPlant, model: Model, span: tuple[float, float], state: tuple[Array, ...], controls: Controls
) -> tuple[Array, ...]:
    """The state after an interval, each of shape (1, n)."""
    q, u, w = (x[0] for x in state)
    start, end = span
    first, last = plant.law_states
    stiff = last > first  # elastic tendons
    rows = STEPS_PER_INTERVAL * (1 if stiff else 2) + 1  # fixed steps take the controls in their middle too
    at = np.linspace(start, end, rows)
    inside = start + np.linspace(END_OFFSET, 1 - END_OFFSET, rows) * (end - start)
    bounded = np.clip(controls(inside), *plant.control_bounds.T)  # polynomials leave them between nodes
    given = _inputs(plant, at, plant.acting_controls(at, bounded), w)
    starts = dict(zip((f"actuators.{a.name}.activation" for a in delayed(model).values()), w[last:], strict=True))
    given["parameters"] = starts
    if stiff:
        given |= {"method": "radau", "rtol": STIFF_TOLERANCE}
    else:
        given |= {"method": "lie_rk4", "step": (end - start) / STEPS_PER_INTERVAL}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)  # the error of the result is NaN then
        way = simulate(model, q, u, end - start, output_step=end - start, start_time=start, **given)
    return way.q[-1:], way.u[-1:], _own_states(plant, way)


def _own_states(plant: ModelPlant, way: Trajectory) -> Array:
    """(1, nw) the states of muscles and actuators at the end of a simulation."""
    equations, parts = plant.equations, []
    if equations.excited:
        assert way.activation is not None
        parts.append(way.activation[-1:, list(equations.excited)])
    if way.muscle_states is not None:
        parts.append(way.muscle_states[-1:])
    if equations.delayed:
        assert way.actuation is not None
        parts.append(way.actuation[-1:, list(equations.delayed)])
    return np.concatenate(parts, axis=1) if parts else np.zeros((1, 0))


def _inputs(plant: ModelPlant, at: Array, values: Array, w: Array) -> dict[str, Any]:
    """The arguments of `simulate` from controls (t, nc) at the times `at` and the states w (nw,) at the start."""
    m, k = len(plant.muscle_names), len(plant.actuator_names)
    equations, given = plant.equations, dict[str, Any]()
    first, last = len(equations.excited), len(equations.of_muscles)
    if equations.excited:
        activation = values[0, :m].copy()
        activation[list(equations.excited)] = w[:first]
        given |= {"excitation": (at, np.clip(values[:, :m], 0, 1)), "activation": np.clip(activation, 0, 1)}
    elif m:
        given["activation"] = (at, np.clip(values[:, :m], 0, 1))
    if last > first:
        given["muscle_states"] = w[first:last]
    if k:
        given["controls"] = (at, values[:, m : m + k])
    if len(plant.torque_indices):
        torque = np.zeros((len(at), plant.nu))
        torque[:, plant.torque_indices] = values[:, m + k :] * plant.torque_scales
        given["torque"] = (at, torque)
    return given
