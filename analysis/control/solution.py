"""Solution: the motion that was found, its controls, how good it is, and why a solver ended as it did.

Forward simulations of its controls measure its error, by which a mesh is refined. Every interval is integrated by SciPy
in the chart of the pose at its start, from the explicit equations that multiple shooting has too, as one compiled
formula. Controls may jump at nodes, and no step goes over one.
"""

import importlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from myoquat.core import Array, Curve, Curves, Record, Solved, content_key, frozen, pandas as pd, scipy, time_table
from myoquat.data.files import check_ending
from myoquat.data.motions import Motion
from myoquat.data.motions.motion import Shown
from myoquat.data.storage import write_motion
from myoquat.joints.evaluation import kernel_for
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import joined
from myoquat.kernels import Kernel, compile
from myoquat.muscle.model import Model
from myoquat.muscle.parameters import known

from .discretization import Discretization, Sites, Statement, load_numbers_at
from .ipopt import Iterates, Program, SolutionStatus, status_of
from .plants import ModelPlant, MuscledPlant, PrescribedPlant
from .points import Point, interpolated_pose
from .transcriptions import Layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


# ---- The solution ------------------------------------------------------------------------------------------------

MAX_SHOWN = 5  # of the worst constraints and multipliers
ACTIVE_TOLERANCE = 1e-6  # distance from a bound, relative to 1 + |bound|, at which it holds


@frozen
class Finding:
    """A constraint or an unknown by name, the time [s], and a number: a violation, a multiplier.

    >>> from myoquat.analysis.control import Finding
    >>> str(Finding("change of v", 0.25, 1.5e-3))
    'change of v at 0.25 s: 0.0015'
    """

    name: str
    time: float
    value: float

    def __str__(self) -> str:
        at = f" at {self.time:.4g} s" if np.isfinite(self.time) else ""
        return f"{self.name}{at}: {self.value:.3g}"


@frozen
class Explanation:
    """Errors, worst constraints and multipliers of a solution, and how often each bound is active.

    kkt_error and violation are unscaled.

    >>> from myoquat.analysis.control import Explanation, Finding
    >>> worst = Finding("change of v", 0.25, 1.5e-3)
    >>> Explanation(1e-9, 1.5e-3, (worst,), (), {"force, upper": 3}).lines()[-1]
    '  force, upper: at 3 points'
    """

    kkt_error: float
    violation: float
    worst: tuple[Finding, ...]
    multipliers: tuple[Finding, ...]
    active: dict[str, int]

    def lines(self) -> list[str]:
        """In words."""
        found = [f"Greatest violation of a constraint {self.violation:.2g}, greatest KKT error {self.kkt_error:.2g}."]
        for title, findings in (("Worst constraints:", self.worst), ("Greatest multipliers:", self.multipliers)):
            found += [title, *(f"  {finding}" for finding in findings)] if findings else []
        if self.active:
            found.append("Bounds that hold:")
            found += [f"  {name}: at {count} points" for name, count in self.active.items()]
        return found


def explanation_of(
    program: Program, names: list[str], times: Array, bounds: Array, limits: Array, found: Iterates
) -> Explanation:
    """The explanation of an iterate, solution or not. names: of the variables; times: of the constraints [s]."""
    x = found.x
    g = program.constraints(x)
    missed = np.maximum(np.maximum(limits[:, 0] - g, g - limits[:, 1]), 0.0)
    finite = np.where(np.isfinite(missed), missed, np.inf)
    # the gradient of the Lagrangian
    pulled = program.jacobian_matrix(x).T @ found.constraint_multipliers
    slope = program.gradient(x) + pulled + found.bound_multipliers
    # how often each unknown is at one of its bounds, fixed ones left out
    active, free = Counter[str](), bounds[:, 0] < bounds[:, 1]
    for word, bound in zip(("lower", "upper"), bounds.T, strict=True):
        near = np.abs(x - bound) <= ACTIVE_TOLERANCE * (1 + np.abs(bound))
        active.update(f"{names[place]}, {word}" for place in np.flatnonzero(np.isfinite(bound) & near & free))
    return Explanation(
        float(np.abs(slope).max(initial=0.0)),
        float(finite.max(initial=0.0)),
        _greatest(finite, program.names, times),
        _greatest(np.abs(found.constraint_multipliers), program.names, times),
        dict(active),
    )


def _greatest(values: Array, names: Sequence[str], times: Array) -> tuple[Finding, ...]:
    """The greatest positive values, one for each name."""
    found: dict[str, Finding] = {}
    for place in np.argsort(-values):
        if len(found) == MAX_SHOWN or not values[place] > 0:
            break
        found.setdefault(names[place], Finding(names[place], float(times[place]), float(values[place])))
    return tuple(found.values())


ALTERNATING_INTERVALS = 5  # in a row in which a velocity or a control goes up and down
ALTERNATING_SHARE = 0.05  # of its greatest value by which it does


@frozen(eq=False, repr=False)
class Solution(Shown, Curves, Solved):
    """What `Problem.solve` found: a solution if `success`, otherwise the last iterate, with the reason in `status`.

    time                [s] (t,) of the nodes
    q, u                (t, nq) and (t, nu) at the nodes
    states              (t, nw) at the nodes, such as activations and fiber lengths
    control_time        [s] (k,) where the transcription has controls: at nodes and inside intervals, for the midpoint
                        rule in the middle of each
    controls            (k, nc) at these times
    objective           the sum of `goals`, each with its weight
    kkt_error           the greatest entry of the gradient of the Lagrangian, unscaled
    violation           the greatest violation of a constraint, unscaled
    norm_error          the greatest | |Q| - 1 | at all sites
    seconds             time of the solver
    evaluation_seconds  time of the compiled formulas within that of the solver
    meshes              those of a refinement, with their measured errors

    >>> from myoquat.analysis.control import Duration, Equations, Problem
    >>> cart = Equations(("x", "v"), ("force",), lambda point: (point["v"], point["force"]))
    >>> rest = {"x": 0.0, "v": 0.0}, {"x": 1.0, "v": 0.0}
    >>> problem = Problem(
    ...     cart, (0.1, 10.0), (Duration(),), 20, initial=rest[0], final=rest[1], bounds={"force": (-1.0, 1.0)}
    ... )
    >>> solution = problem.solve()
    >>> solution.status.name, round(solution.duration, 4)  # full thrust, then full brakes: 2 s
    ('SOLVED', 2.0)
    """

    statement: Statement
    sites: Sites
    status: SolutionStatus
    objective: float
    goals: dict[str, float]
    explanation: Explanation
    iterates: Iterates
    meshes: tuple[MeasuredMesh, ...] = ()

    def __repr__(self) -> str:
        what = "converged" if self.success else f"NOT SOLVED: {self.status.sentence}"
        if self.success and self.alternating:
            what += f", but these go up and down in every interval: {', '.join(self.alternating)}"
        return f"<Solution objective {self.objective:.6g}, {self.iterations} iterations, {self.seconds:.3g} s, {what}>"

    @property
    def success(self) -> bool:
        """Whether it is a solution."""
        return self.status.success

    @property
    def duration(self) -> float:
        """[s] of the motion."""
        return self.sites.duration

    @property
    def iterations(self) -> int:
        """Iterations of the solver."""
        return self.iterates.iterations

    @property
    def seconds(self) -> float:
        """Time of the solver."""
        return self.iterates.seconds

    @property
    def evaluation_seconds(self) -> float:
        """Time of the formulas and their derivatives, within that of the solver."""
        return self.iterates.evaluation_seconds

    @property
    def kkt_error(self) -> float:
        """Greatest entry of the gradient of the Lagrangian."""
        return self.explanation.kkt_error

    @property
    def violation(self) -> float:
        """Greatest violation of a constraint."""
        return self.explanation.violation

    # ---- the motion ------------------------------------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """Where the unknowns lie in time."""
        return self.statement.layout

    def _times(self, sites: Array) -> Array:
        return self.statement.times(self.duration, sites)

    @cached_property
    def time(self) -> Array:
        """(t,) [s] of the nodes."""
        return self._times(self.layout.nodes)

    @property
    def q(self) -> Array:
        """(t, nq) poses at the nodes."""
        return self.sites.q[self.layout.nodes]

    @property
    def u(self) -> Array:
        """(t, nu) velocities at the nodes."""
        return self.sites.fields["u"][self.layout.nodes]

    @property
    def states(self) -> Array:
        """(t, nw) further states at the nodes, in the order of `state_names`."""
        return self.sites.fields["w"][self.layout.nodes]

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the further states."""
        return self.statement.plant.state_names

    @cached_property
    def control_time(self) -> Array:
        """(k,) [s] at which controls are unknowns."""
        return self._times(self.layout.having("controls"))

    @property
    def controls(self) -> Array:
        """(k, nc) controls, in the order of `control_names`."""
        return self.sites.fields["controls"][self.layout.having("controls")]

    @property
    def control_names(self) -> tuple[str, ...]:
        """Names of the controls."""
        return self.statement.plant.control_names

    @property
    def parameters(self) -> dict[str, float]:
        """The values of the unknown parameters by name."""
        values = np.zeros(0) if self.sites.parameters is None else self.sites.parameters
        return dict(zip(self.statement.plant.parameter_names, map(float, values), strict=True))

    @property
    def model(self) -> Model | ArticulatedSystem:
        """The model of the problem with these parameters; ValueError for equations of one's own."""
        plant = self._bound.plant
        if not isinstance(plant, MuscledPlant):
            raise ValueError("a problem of equations of one's own has no model")
        return known(plant.model)

    @cached_property
    def _bound(self) -> Statement:
        """The statement with the parameters that were found."""
        return self.statement.bound(np.array(list(self.parameters.values())))

    @property
    def multiplier_time(self) -> Array:
        """(k,) [s] of the multipliers: the points at which the equations of motion hold."""
        return self._times(self.layout.having("multipliers"))

    @property
    def multipliers(self) -> Array:
        """(k, nk) of the model's constraints at `multiplier_time`, in the order of `multiplier_names`.

        A^T multipliers are their generalized forces."""
        return self.sites.fields["multipliers"][self.layout.having("multipliers")]

    @property
    def multiplier_names(self) -> tuple[str, ...]:
        """The constraint of each multiplier."""
        held = self.statement.plant.constraints
        return held.multiplier_names if held else ()

    @property
    def motion(self) -> Motion:
        """q and u at the nodes, of a prescribed motion udot too; ValueError for equations of one's own."""
        return self.statement.motion(self.sites)

    # with `model`, `time`, `q` and `u` the members of `MotionLike`

    def to_motion(self, run: int | tuple[int, ...] = ()) -> Motion:
        """`motion`; `run` as in `Motion.to_motion`."""
        return self.motion.to_motion(run)

    @property
    def system(self) -> ArticulatedSystem:
        """The articulated system that moves."""
        return self.motion.system

    @property
    def udot(self) -> Array | None:
        """(t, nu) accelerations of a prescribed motion, otherwise None."""
        return self.motion.udot

    @property
    def activation(self) -> Array | None:
        """(t, m) activations at the nodes; None without muscles."""
        plant = self.statement.plant
        if not isinstance(plant, MuscledPlant) or not plant.muscle_names:
            return None
        found = np.array(self.controls_at(self.time)[:, : len(plant.muscle_names)])
        for k, muscle in enumerate(plant.muscle_names):
            if f"{muscle}.activation" in plant.state_names:
                found[:, k] = self[f"{muscle}.activation"]
        return found

    @property
    def force(self) -> Array | None:
        """None: tensions are no unknowns of a problem."""
        return None

    @property
    def loads(self) -> Array | None:
        """None: external loads are those of the problem."""
        return None

    @property
    def norm_errors(self) -> dict[str, float]:
        """Of every quaternion, by its body, the greatest | |Q| - 1 | at all sites."""
        system = self.statement.plant.system
        if system is None:
            return {}
        there = self.sites.q[self.layout.having("z")]
        bodies = [body.name for body in system.bodies if body.joint.facts.quaternion is not None]
        return {
            name: float(np.abs(np.linalg.norm(there[:, s], axis=1) - 1).max(initial=0.0))
            for name, s in zip(bodies, system.quaternion_slices(), strict=True)
        }

    @property
    def norm_error(self) -> float:
        """Greatest | |Q| - 1 | of all quaternions at all sites; 0 without any."""
        return max(self.norm_errors.values(), default=0.0)

    def __getitem__(self, name: str) -> Array:
        """The values of a name: (t,) at the nodes, (k,) of a control at `control_time`, or () of a parameter.

        Of a name that is both a coordinate and a control, 'coordinates.NAME' or 'controls.NAME' says which is meant. At
        the nodes there are coordinates, angles that a quaternion has replaced, velocities and states. KeyError for a
        name that is none of these.
        """
        values = np.zeros(0) if self.sites.parameters is None else self.sites.parameters
        point = Point(self.statement.plant, self.time, self.q, self.u, states=self.states, controls=self.controls)
        return np.asarray(replace(point, parameters=values)[name])

    def controls_at(self, time: Array) -> Array:
        """(t, nc) controls at any times [s]: the polynomials of the transcription, constant for the midpoint rule."""
        layout = self.layout
        at = (np.asarray(time, dtype=float) - self.statement.start) / self.duration
        nodes = layout.fractions[layout.nodes]
        own = self._control_sites[np.clip(np.searchsorted(nodes, at, side="right") - 1, 0, len(nodes) - 2)]  # (t, p)
        x, same = layout.fractions[own], np.eye(own.shape[1], dtype=bool)
        ratios = (at[:, None, None] - x[:, None]) / (x[:, :, None] - x[:, None] + same)
        weights = np.where(same, 1.0, ratios).prod(axis=-1)  # Lagrange's polynomials
        return np.asarray((weights[..., None] * self.sites.fields["controls"][own]).sum(axis=1))

    @cached_property
    def _control_sites(self) -> Array:
        """(n, p) the sites of the controls of every interval, without a node that is another interval's own."""
        nodes, driven = self.layout.nodes, self.layout.having("controls")
        points = getattr(self.statement.transcription, "points", (0.5,))
        first, last = points[0] == 0, points[-1] == 1
        return np.array([driven[(driven > a - first) & (driven < b + last)] for a, b in pairwise(nodes)])

    @property
    def _at_nodes(self) -> dict[str, tuple[str, Sequence[str], Array, Sequence[str] | None]]:
        """By axis the name of a curve, and the names, the values (t, n) and the units of its columns."""
        plant, system = self.statement.plant, self.statement.plant.system
        units, posed = None, dict[str, Any]()
        if system is not None:
            units, names = [*system.velocity_units.values()], system.coordinate_names
            posed = {"coordinate": ("q", names, self.q, [system.coordinate_units[name] for name in names])}
        return posed | {
            "velocity": ("u", plant.velocity_names, self.u, units),
            "state": ("states", plant.state_names, self.states, None),
            "control": ("controls", plant.control_names, self.controls_at(self.time), None),
        }

    def to_dataframe(self) -> "pd.DataFrame":
        """Coordinates, velocities, states and controls by their names at the nodes, over the index time [s]."""
        _, names, values, _ = zip(*self._at_nodes.values(), strict=True)
        return time_table(self.time, np.concatenate(values, axis=1), [name for own in names for name in own])

    def plot(self) -> "Figure":
        """A matplotlib Figure over the time of the nodes: coordinates, angles in degrees, velocities, activations and
        tensions, and the states and controls that are no activations."""
        figures = importlib.import_module("myoquat.data.motions.figures")
        plant, panels = self.statement.plant, []
        if plant.system is not None:
            panels = figures.motion_panels(self.model, self.q, self.u, self.activation, self.force)
        active = plant.muscle_names if isinstance(plant, MuscledPlant) else ()
        shown = {*active, *(f"{name}.activation" for name in active)}
        for title, names, values in (
            ("states", plant.state_names, self.states),
            ("controls", plant.control_names, self.controls_at(self.time)),
        ):
            columns = [k for k, name in enumerate(names) if name not in shown]
            if columns:
                panels.append(figures.Panel(title, "", tuple(names[k] for k in columns), values[:, columns]))
        return figures.draw_panels(self.time, panels)

    def curves(self) -> dict[str, Curve]:
        """q, u, states and controls at the nodes over (time, coordinate), (time, velocity) and so on."""
        return {name: Curve(("time", axis), x, units) for axis, (name, _, x, units) in self._at_nodes.items()}

    def labels(self) -> dict[str, Any]:
        """Times of the nodes, and names of coordinates, velocities, states and controls."""
        return {"time": self.time} | {axis: list(names) for axis, (_, names, *_) in self._at_nodes.items()}

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write states and controls at the nodes as a .sto file in radians and metres. FileExistsError for an existing
        file unless `overwrite`, ValueError for another ending."""
        path, frame = check_ending("a solution is", path, ".sto", ".mot"), self.to_dataframe()
        frame.attrs = {"in_degrees": False, "name": "solution", "header": {}}
        write_motion(frame, path, overwrite=overwrite)

    # ---- how good it is --------------------------------------------------------------------------------------

    def explain(self) -> str:
        """How the solver ended in words; goals, errors, and where constraints, bounds and multipliers are worst."""
        lines = [f"{self.status.name}: {self.status.sentence}."]
        lines.append(
            f"{self.iterations} iterations, {self.seconds:.3g} s, {self.evaluation_seconds:.3g} s in formulas."
        )
        lines.append(f"Objective {self.objective:.8g}:")
        lines += [f"  {name}: {value:.8g}" for name, value in self.goals.items()]
        lines += [] if self.success else self._obstacles()
        if self.alternating:
            lines.append(
                f"{', '.join(map(repr, self.alternating))}: up and down in every interval, which is no motion of the "
                "model. The midpoint rule has velocities at the nodes and goals in the middle, where they cancel. Does "
                "a goal count these velocities, and the controls that act on them? Hermite-Simpson has goals at nodes. "
                "Controls alternate on singular arcs, and where their mean does more than a constant control, as that "
                "of an excitation does whose muscle tenses faster than it relaxes. Does a goal count their rates?"
            )
        each = ", ".join(f"{name} {error:.2g}" for name, error in self.norm_errors.items())
        lines += [*self.explanation.lines(), f"Greatest error of |Q|: {each or '0'}."]
        for m in self.meshes:
            k = int(np.argmax(m.errors))
            lines.append(
                f"Mesh of {len(m.errors)} intervals: greatest error of an interval {m.largest:.2g}, from "
                f"{m.mesh[k]:.3g} to {m.mesh[k + 1]:.3g} of the duration"
            )
        return "\n".join(lines)

    def _obstacles(self) -> list[str]:
        """Controls that are at a bound at most of their points, so that what is asked for may be beyond them, and what
        is known to keep solvers with exact derivatives from a solution."""
        plant, count, active, found = self.statement.plant, len(self.control_time), self.explanation.active, list[str]()
        for name in self.control_names:
            at = sum(active.get(f"{name}, {side}", 0) for side in ("lower", "upper"))
            if at > count / 2:
                found.append(f"{name!r} is at a bound at {at} of {count} points: it may be too weak for what is asked.")
        if isinstance(plant, MuscledPlant) and plant.jumping:
            found.append(
                f"The derivative of activation dynamics jumps where excitation and activation are equal "
                f"({len(plant.jumping)} muscles, such as {plant.jumping[0]!r}); see Model.with_smooth_activation()."
            )
        if isinstance(plant, MuscledPlant) and plant.kinked:
            found.append(
                f"The slope of the force over the fiber's speed jumps where fibers are at rest "
                f"({len(plant.kinked)} muscles, such as {plant.kinked[0]!r}); see Model.with_degroote_fregly_muscles()."
            )
        return found

    @cached_property
    def alternating(self) -> tuple[str, ...]:
        """The velocities and controls that go up and down in every one of several intervals, by more than 5 % of their
        greatest value: an artefact of the transcription, also where the solver converged."""
        points = max(1, len(self.control_time) // (len(self.time) - 1))
        names = self.statement.plant.velocity_names
        found = [name for name, u in zip(names, self.u.T, strict=True) if _alternates(self.time, u, 1)]
        for name, values in zip(self.control_names, self.controls.T, strict=True):
            found += [name] if _alternates(self.control_time, values, points) else []
        return tuple(found)

    def simulate(self, rtol: float = 1e-9) -> Forward:
        """A forward simulation of the controls from the first state. Its difference from this motion is the error of
        the transcription, amplified by the instability of the motion."""
        return run_forward(self._bound, self.time, (self.q, self.u, self.states), self.controls_at, rtol)

    def interval_errors(self, rtol: float = 1e-9) -> Array:
        """(n,) the measured error of every interval: its controls are simulated from the state at its start, and
        compared with the state at its end.

        It is the greatest difference of pose, velocities and states, each over 1 plus its greatest value along the
        motion. NaN where a simulation fails. ValueError for a prescribed motion.
        """
        q, plant = self.q, self._bound.plant
        found = run_forward(self._bound, self.time, (q, self.u, self.states), self.controls_at, rtol, anew=True)
        moved = plant.displacement(np.broadcast_to(q[0], q.shape), q)
        scale = 1.0 + np.abs(np.concatenate([moved, self.u, self.states], axis=1)).max(axis=0)
        return np.max(np.abs(found.error[1:]) / scale, axis=1)

    def at_sites(self, statement: Statement) -> Sites:
        """The motion at the sites of another mesh or transcription of the same problem. Unknown parameters count by
        their names; those that this solution does not have are at their starts."""
        at, own, system = statement.layout.fractions, self.layout, statement.plant.system
        fields = {}
        for name, values in self.sites.fields.items():  # straight lines, constant beyond the first and the last site
            known, fields[name] = own.having(name), np.zeros((len(at), values.shape[1]))
            for k, column in enumerate(values[known].T if len(known) else ()):
                fields[name][:, k] = np.interp(at, own.fractions[known], column)
        q = np.zeros((len(at), statement.plant.nq))
        if system is not None:
            known = own.having("z")
            q = interpolated_pose(Motion(system, own.fractions[known], self.sites.q[known]), at)
        unknown, by_name = statement.plant.unknown, self.parameters
        starts = zip(unknown.names, unknown.start, strict=True)
        return Sites(self.duration, q, fields, np.array([by_name.get(name, start) for name, start in starts]))


def _alternates(time: Array, values: Array, points: int) -> bool:
    """Whether values (t,) go up and down in each of several intervals of `points` points. Beside the straight line
    through its neighbors, by 2 a for an alternation of +-a, no more than so many in a row are on one side."""
    share = (time[1:-1] - time[:-2]) / (time[2:] - time[:-2])
    bends = values[1:-1] - (1.0 - share) * values[:-2] - share * values[2:]
    count = ALTERNATING_INTERVALS * points
    if len(bends) < count:
        return False
    rows = np.lib.stride_tricks.sliding_window_view(bends, count)
    sides = np.lib.stride_tricks.sliding_window_view(np.sign(rows), points + 1, axis=1)
    in_turn = (np.abs(sides.sum(axis=-1)) < points + 1).all(axis=1) & (rows != 0.0).all(axis=1)
    size = np.abs(rows).mean(axis=1) / 2
    return bool((in_turn & (size > ALTERNATING_SHARE * np.abs(values).max())).any())


def goals_at(program: Program, x: Array) -> dict[str, float]:
    """The cost of every goal at the variables x, with its weight."""
    goals = dict[str, float]()
    for block, values in zip(program.blocks, program.values(x), strict=True):
        sums = np.sum(values["terms"] * block.weights, axis=0)
        goals |= zip(block.term_names, map(float, sums), strict=True)
    return goals


def solution_of(discretization: Discretization, found: Iterates, explanation: Explanation) -> Solution:
    """The solution from what the solver found."""
    objective = discretization.program.objective(found.x)
    return Solution(
        discretization.statement,
        discretization.sites(found.x),
        status_of(found.status, objective),
        objective,
        goals_at(discretization.program, found.x),
        explanation,
        found,
    )
