"""Forward simulation of the controls of a solution, and refinement of its mesh by the error that it measures.

Every interval is integrated by SciPy in the chart of the pose at its start, from the explicit equations that multiple
shooting has too, as one compiled formula. Controls may jump at nodes, and no step goes over one.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from myoquat.core import Array, Record, content_key, frozen, scipy
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.vectors import joined
from myoquat.kernels import Kernel, compile

from .discretization import Statement, load_numbers_at
from .plants import ModelPlant, PrescribedPlant


@frozen
class Refinement(Record):
    """Solve again on finer meshes until the error of every interval is at most `tolerance`.

    tolerance    the greatest error that is allowed
    repetitions  the greatest number of finer meshes
    parts        the greatest number of parts of an interval from one mesh to the next

    The error of an interval is measured: its controls are simulated from the state at its start, and compared with the
    state at its end. It is the greatest difference of a coordinate, velocity or state, each over 1 plus its greatest
    value along the motion.

    An interval whose error e is too large is divided into equal parts, ceil((e / tolerance)^(1 / (p + 1))) of them.
    Here p is the order of the transcription [J. T. Betts, Practical Methods for Optimal Control and Estimation Using
    Nonlinear Programming, 2nd ed., 2010, section 4.7]. ValueError for a tolerance that is not positive, repetitions
    below 1 and parts below 2.

    >>> from myoquat.analysis.control import Refinement
    >>> Refinement(1e-6).repetitions
    5
    """

    tolerance: float = 1e-5
    repetitions: int = 5
    parts: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.tolerance > 0 and self.repetitions >= 1 and self.parts >= 2):
            raise ValueError("a refinement needs a positive tolerance, at least 1 repetition and at least 2 parts")


@frozen(eq=False)
class MeasuredMesh:
    """A mesh (n + 1,), ends of the intervals as fractions of the duration, and the measured error (n,) of each.

    >>> import numpy as np
    >>> from myoquat.analysis.control import MeasuredMesh
    >>> MeasuredMesh(np.array([0.0, 0.5, 1.0]), np.array([1e-3, 1e-6])).largest
    0.001
    """

    mesh: Array
    errors: Array

    @property
    def largest(self) -> float:
        """The greatest error."""
        return float(self.errors.max(initial=0.0))


def refined(found: MeasuredMesh, order: int, settings: Refinement) -> Array | None:
    """The ends of the intervals of the next mesh; None where all errors are small enough."""
    excess = np.where(np.isfinite(found.errors), found.errors / settings.tolerance, np.inf)
    if np.all(excess <= 1.0):
        return None
    with np.errstate(over="ignore"):
        wanted = np.ceil(np.maximum(excess, 1.0) ** (1 / (order + 1)))
    parts = np.clip(np.where(excess > 1.0, np.maximum(wanted, 2), 1), 1, settings.parts).astype(int)
    pieces = [np.linspace(a, b, n + 1)[:-1] for a, b, n in zip(found.mesh[:-1], found.mesh[1:], parts, strict=True)]
    return np.append(np.concatenate(pieces), 1.0)


def mesh_lines(meshes: tuple[MeasuredMesh, ...]) -> list[str]:
    """The meshes in words."""
    return [
        f"Mesh of {len(m.errors)} intervals: greatest error of an interval {m.largest:.2g}, from "
        f"{m.mesh[(k := int(np.argmax(m.errors)))]:.3g} to {m.mesh[k + 1]:.3g} of the duration"
        for m in meshes
    ]


STIFF_TOLERANCE = 1e-7  # of simulations with elastic tendons
END_OFFSET = 1e-9  # of an interval: distance from its ends at which the controls are evaluated

Controls = Callable[[Array], Array]


@frozen(eq=False)
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
    statement: Statement, time: Array, states: tuple[Array, Array, Array], controls: Controls, rtol: float,
    anew: bool = False,
) -> Forward:  # fmt: skip
    """Simulate from the first of the states (q, u, w) at the times, or `anew` in every interval from its own, with a
    local error of rtol. ValueError for a prescribed motion."""
    plant, n = statement.plant, statement.plant.nu
    if isinstance(plant, PrescribedPlant):
        raise ValueError("the motion of this problem is prescribed, so that its controls have nothing to move")
    nq, nc, loads, bounds = plant.nq, plant.nc, statement.loads, plant.control_bounds.T
    elastic = isinstance(plant, ModelPlant) and plant.law_states[1] > plant.law_states[0]
    options = {"method": "Radau" if elastic else "DOP853", "rtol": max(rtol, STIFF_TOLERANCE) if elastic else rtol}

    def formula(t: Array, x: Array, d: Array) -> Array:
        """The rates of x = (displacement from q0, u, w) at the time t; d is q0 and the controls."""
        theta, u, w = x[..., :n], x[..., n : 2 * n], x[..., 2 * n :]
        q = plant.displaced(d[..., :nq], theta)
        acting = {} if loads is None else {"loads": load_numbers_at(loads, t)}
        point = plant.point(t, {"q": q, "u": u, "w": w, "controls": d[..., nq : nq + nc]}, **acting)
        udot, wdot = plant.rates(point)
        return joined([plant.displacement_rate(theta, q, u), udot, wdot])

    def build(content: str | None) -> Kernel:
        inputs = {"t": (), "x": 2 * n + plant.nw, "d": nq + nc + 1}
        return compile(formula, inputs, ["rates"], name="control_forward", content=content)

    given = content_key(loads), tuple(map(float, plant.parameters)), plant.state_names
    rates: Any = kernel_for(("control forward", plant.content, *given), build)

    def rate(t: float, x: Array, q0: Array, start: float, end: float) -> Array:
        margin = END_OFFSET * (end - start)
        c = controls(np.array([np.clip(t, start + margin, end - margin)]))[0]
        return rates(t, x, np.concatenate([q0, np.clip(c, *bounds), [0.0]]))  # polynomials leave the bounds

    poses, others = states[0], np.concatenate(states[1:], axis=1)
    q, rest = [poses[0]], [others[0]]
    for k, span in enumerate(pairwise(time)):
        q0, rest0 = (poses[k], others[k]) if anew else (q[-1], rest[-1])
        x = np.full(n + len(rest0), np.nan)
        if np.isfinite(rest0).all():
            x0 = np.concatenate([np.zeros(n), rest0])
            run = scipy.integrate.solve_ivp(rate, span, x0, atol=options["rtol"], args=(q0, *span), **options)
            x = run.y[:, -1] if run.success else x
        q.append(np.asarray(plant.displaced(q0, x[:n])))
        rest.append(x[n:])
    found, ends = np.array(q), np.array(rest)
    errors = np.concatenate([plant.displacement(poses, found), ends - others], axis=1)
    return Forward(time, found, ends[:, :n], ends[:, n:], errors)


def interval_errors(
    statement: Statement, time: Array, states: tuple[Array, Array, Array], controls: Controls, rtol: float
) -> Array:
    """(n,) the error of every interval: its controls, simulated from the state at its start, beside the state at its
    end.

    It is the greatest difference of pose, velocities and states, each over 1 plus its greatest value along the motion.
    NaN where a simulation fails. ValueError for a prescribed motion.
    """
    plant, (q, *others) = statement.plant, states
    found = run_forward(statement, time, states, controls, rtol, anew=True).error[1:]
    moved = plant.displacement(np.broadcast_to(q[0], q.shape), q)
    scale = 1.0 + np.abs(np.concatenate([moved, *others], axis=1)).max(axis=0)
    return np.max(np.abs(found) / scale, axis=1)
