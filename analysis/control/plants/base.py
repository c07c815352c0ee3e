"""The interface of controlled systems for transcriptions: state, equations, bounds.

The state is (q, u, w):

- the pose q with its chart z (nu,)
- the velocities u (nu,)
- further states w (nw,), such as activations and fiber lengths

Equations are implicit: residual(point) = 0 with udot and wdot as unknowns. For a model this is inverse dynamics, the
cheapest form of its equations of motion.

Constraints and couplers of a model in collocation: multipliers as unknowns, and projections of every node.

At every point the equations of motion hold with the forces A^T lambda of the constraints. The constraints' second
derivatives hold too, A udot = b. A Runge-Kutta step leaves the constraints by its own error. At the end of every
interval the state is therefore moved back onto them, by unknown multiples g of their gradients,

    theta_1 = h sum_j A_1j thetadot_j + P^T g_pose,   u_1 = u_0 + h sum_j A_1j udot_j + A^T g_velocity,

with phi(q_1) = 0 and phidot(q_1, u_1) = 0. The g are of the size of the local error, and the order of the method stays.
Sources: M. Posa, S. Kuindersma, R. Tedrake, Optimization and stabilization of trajectories for constrained dynamical
systems, ICRA 2016; R. Bordalba, T. Schoels, L. Ros, J. M. Porta, M. Diehl, Direct collocation methods for trajectory
optimization in constrained robotic systems, IEEE Trans. Robot. 39, 2023.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from myoquat.analysis.control.points import Point, StateSpace
from myoquat.core import Array, ArrayLike, check_unmasked, frozen, real_array
from myoquat.dynamics.constraints import Constraint, Constraints, constraints_of
from myoquat.dynamics.factor import solve_small
from myoquat.joints.constraints.coordinates import Locked
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.multibody.state import integrate
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.vectors import joined, matvec, transpose, vecmat, vector
from myoquat.kernels.tracing.trace import trace
from myoquat.muscle import Model, Parameters


class Bound(NamedTuple):
    """Lower and upper bound."""

    lower: float
    upper: float


def interval(name: str, value: Any) -> Bound:
    """The bounds that a number (fixed) or a pair (lower, upper) means; ValueError for others and contradicting ones."""
    check_unmasked(name, value)
    pair = (value, value) if np.ndim(value) == 0 else tuple(value)
    if len(pair) != 2 or not all(isinstance(x, (int, float, np.number)) for x in pair):
        raise ValueError(f"{name!r}: a number or a pair (lower, upper) is needed, not {value!r}")
    low, high = interval_of(repr(name), *pair)[0].tolist()
    if low == high and np.isinf(low):
        raise ValueError(f"{name!r} is fixed at {low:g}; a finite number or a pair (lower, upper) is needed")
    return Bound(low, high)


def interval_of(name: str, lower: ArrayLike, upper: ArrayLike) -> Array:
    """(k, 2) lower and upper bounds; ValueError where one is NaN or lower is above upper."""
    low, high = np.broadcast_arrays(*(np.atleast_1d(real_array(name, x)) for x in (lower, upper)))
    if np.isnan(low).any() or np.isnan(high).any() or low.ndim != 1:
        raise ValueError(f"{name}: bounds must be numbers or (k,) arrays of numbers, not {lower!r} and {upper!r}")
    if np.any(low > high):
        k = int(np.argmax(low > high))
        raise ValueError(f"{name}: the bounds contradict each other: lower {low[k]:g} is above upper {high[k]:g}")
    return np.stack([low, high], axis=-1)


@frozen(eq=False)
class UnknownParameters:
    """Unknown parameters (np,) of a problem.

    names    of the parameters
    bounds   (np, 2)
    start    (np,) values with which the search starts
    binding  puts values into a model
    """

    names: tuple[str, ...] = ()
    bounds: Array = field(default_factory=lambda: np.zeros((0, 2)))
    start: Array = field(default_factory=lambda: np.zeros(0))
    binding: Parameters | None = None

    @property
    def scales(self) -> Array:
        """(np,) positive: the model's own values, the same for all problems of a model, or 1 where they are zero."""
        own = self.start if self.binding is None else np.array(self.binding.defaults)
        size = np.abs(np.where(np.isnan(own), self.start, own))
        return np.where(size > 0, size, 1.0)


def parameters_of_model(model: SystemLike, given: Mapping[str, Any]) -> UnknownParameters:
    """Those of a model by name or pattern; the search starts at the model's own values, or at the one number that
    bounds allow. ValueError for unknown names, contradicting bounds, and values of the model out of the bounds."""
    if not given:
        return UnknownParameters()
    names: list[str] = []
    bounds = []
    for pattern, value in given.items():
        fitting = Parameters.of(model, pattern).acting("bounds", markers=True).names
        names += fitting
        bounds += [interval(f"parameters: {name}", value) for name in fitting]
    binding, limits = Parameters.of(model, names), np.array(bounds).reshape(-1, 2)
    own, fixed = np.array(binding.defaults), limits[:, 0] == limits[:, 1]
    start = np.where(np.isnan(own) | fixed, _middle(limits), own)
    for name, value, (low, high) in zip(binding.names, start, limits, strict=True):
        if not low <= value <= high:
            raise ValueError(
                f"parameters: the model's {name!r} is {value:g}, outside its bounds {low:g} to {high:g}; "
                "Parameters.of(model, names).bind(values) gives it another value"
            )
    return UnknownParameters(binding.names, limits, start, binding)


def parameters_of_equations(given: Mapping[str, Any]) -> UnknownParameters:
    """Those of equations of one's own; the search starts in the middle of the bounds."""
    bounds = np.array([interval(f"parameters: {name}", value) for name, value in given.items()]).reshape(-1, 2)
    return UnknownParameters(tuple(given), bounds, _middle(bounds))


def _middle(bounds: Array) -> Array:
    """(np,) the middle of finite bounds, else the number nearest to zero within them."""
    low, high = bounds[:, 0], bounds[:, 1]
    finite = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        return np.where(finite, (low + high) / 2, np.clip(0.0, low, high))


SAMPLED_POSES = 4  # on the constraints, at which rows are compared
SAMPLED_MOTION = 0.2  # [rad, m] from the start to these poses
IMPLIED_PART = 1e-8  # of a row: where less is left of it across the rows before, these imply it
CLOSED_GAP = 1e-9  # [rad, m] off the constraints, for a pose that is on them
MAX_CLOSING_STEPS = 30


class PathEquations:
    """The formulas of a model's constraints that collocation needs.

    sizes  of every constraint its numbers of rows of phi and of phidot
    kept   (h,), (k,) the rows of phi and of phidot that enter: those that no others imply, or `every` one. Others would
           leave their multipliers undetermined, and the solver without a regular system.
    locks  j for a row of phidot that is u_j alone, by its number: the velocity of a locked coordinate
    """

    def __init__(self, model: SystemLike, constraints: Sequence[Constraint], every: bool = False) -> None:
        system = system_of(model)
        self.system, self.constraints = system, Constraints(system, constraints, redundant=True)
        self.sizes = [_rows_of(system, part) for part in constraints]
        self.kept = tuple(list(range(sum(sizes))) for sizes in zip(*self.sizes, strict=True))
        driven = [c.driven for c in constraints]  # constraints that determine a coordinate each are independent
        if not every and (None in driven or len({*driven}) < len(driven)):
            self.kept = self._independent(model.start if isinstance(model, Model) else system.neutral())
        alone = [h == 0 for h, k in self.sizes for _ in range(k)]  # constraints on velocities alone
        self._on_velocities = [row for row in self.kept[1] if alone[row]]
        self.locks, first, names = dict[int, int](), 0, system.coordinate_names
        for part, (_, k) in zip(constraints, self.sizes, strict=True):
            if isinstance(part, Locked) and part.coordinate in names and first in self.kept[1]:
                columns = system.indices.velocities_of_coordinate(part.coordinate)
                self.locks |= {first: int(columns[0])} if len(columns) == 1 else {}
            first += k

    def of(self, model: SystemLike) -> "PathEquations":
        """The same of a model with other numbers, floats or symbols."""
        found = copy(self)
        found.system, weightless = system_of(model), self.constraints.weightless
        found.constraints = Constraints(found.system, constraints_of(model), True, weightless)
        return found

    def _independent(self, start: Array) -> tuple[list[int], ...]:
        """The rows of phi and of phidot that do not depend on those before them at all of several random poses on the
        constraints, at t = 0."""
        system, held, at = self.system, self.constraints, np.zeros(())
        placed = np.concatenate([np.full(k, h > 0) for h, k in self.sizes])  # rows of phidot that are rates of phi
        rng, samples, units = np.random.default_rng(0), list[Array](), np.eye(system.nu)
        for _ in range(2 * SAMPLED_POSES):
            q = integrate(system, start, rng.normal(size=system.nu) * SAMPLED_MOTION)
            for _ in range(MAX_CLOSING_STEPS):
                phi, same = held.position(q, at), np.tile(q, (system.nu, 1))
                A = (held.rate(same, units, at) - held.rate(same, 0.0 * units, at)).T  # phidot is linear in u
                if not np.abs(phi).max(initial=0.0) > CLOSED_GAP:
                    samples.append(A)
                    break
                q = integrate(system, q, -np.linalg.pinv(A[placed], IMPLIED_PART) @ phi)
            if len(samples) == SAMPLED_POSES:
                return independent([A[placed] for A in samples]), independent(samples)
        return self.kept

    @property
    def key(self) -> Hashable:
        """What the formulas compute with."""
        return (self.constraints.key, *map(tuple, self.kept))

    @property
    def moved(self) -> list[int]:
        """The rows of phidot onto which nodes are moved: not u_j = 0, which every transcription keeps from the start,
        because its rate enters."""
        return [row for row in self.kept[1] if row not in self.locks]

    @property
    def positions(self) -> int:
        """Number of rows of phi that enter."""
        return len(self.kept[0])

    def names(self, what: str, rows: list[int] | None = None) -> tuple[str, ...]:
        """A name for every row of "position", "velocity" or "acceleration" that enters, or for some of these rows."""
        parts = zip(self.constraints.parts, self.sizes, strict=True)
        counts = [(c.label, h if what == "position" else k) for c, (h, k) in parts]
        names = [f"{what} of {label}" + (f", row {i + 1}" if n > 1 else "") for label, n in counts for i in range(n)]
        return tuple(names[i] for i in (self.kept[what != "position"] if rows is None else rows))

    @property
    def multiplier_names(self) -> tuple[str, ...]:
        """A name for every multiplier."""
        return tuple(name.replace("velocity of ", "multiplier of ", 1) for name in self.names("velocity"))

    # ---- formulas --------------------------------------------------------------------------------------------

    def force(self, q: Array, t: Array, multipliers: Array) -> Array:
        """(..., nu) generalized forces A^T lambda."""
        return vecmat(multipliers, self.constraints.jacobian(q, t)[..., self.kept[1], :])

    def all_multipliers(self, multipliers: Array) -> Array:
        """(..., k) multipliers of all rows, zero for those that do not enter."""
        count = sum(k for _, k in self.sizes)
        columns = [0.0 * multipliers[..., 0]] * count
        for place, row in enumerate(self.kept[1]):
            columns[row] = multipliers[..., place]
        return vector(columns)

    def acceleration(self, q: Array, u: Array, udot: Array, t: Array) -> Array:
        """(..., k) A udot - b."""
        result: Array = matvec(self.constraints.jacobian(q, t), udot) - self.constraints.bias(q, u, t)
        return result[..., self.kept[1]]

    def state(self, q: Array, u: Array, t: Array, rows: list[int] | None = None) -> Array:
        """(..., h + k) phi and some rows of phidot, those of `moved` if none are named."""
        phi, rate = self.constraints.position(q, t), self.constraints.rate(q, u, t)
        return joined([phi[..., self.kept[0]], rate[..., self.moved if rows is None else rows]])

    def moves(self, q: Array, t: Array, g: Array) -> tuple[Array, Array]:
        """(..., nu) each: the moves of pose and velocities by multiples g (..., h + k) of the gradients at q. Those of
        poses are across constraints on velocities alone, both across locks: what is locked stays."""
        P = self.constraints.position_jacobian(q, t)[..., self.kept[0], :]
        A = self.constraints.jacobian(q, t)
        if self._on_velocities and self.positions:
            S = A[..., self._on_velocities, :]
            P = P - transpose(solve_small(S @ transpose(S), S @ transpose(P))) @ S
        free = 1.0 - np.eye(self.system.nu)[list(self.locks.values())].sum(axis=0)
        return vecmat(g[..., : self.positions], P), vecmat(g[..., self.positions :], A[..., self.moved, :]) * free


def independent(samples: Sequence[Array]) -> list[int]:
    """The rows that depend on those before them in not all of the samples (k, n), by orthogonal bases of these."""
    bases, kept = [rows[:0] for rows in samples], dict[int, None]()
    for i in range(len(samples[0])):
        for s, rows in enumerate(samples):
            left = rows[i]
            for _ in range(2):  # again, for what rounding leaves
                left = left - bases[s].T @ (bases[s] @ left)
            size = np.linalg.norm(left)
            if size > IMPLIED_PART * max(np.linalg.norm(rows[i]), np.abs(rows).max(initial=0.0)):
                bases[s], kept[i] = np.vstack([bases[s], left / size]), None
    return list(kept)


def _rows_of(system: ArticulatedSystem, constraint: Constraint) -> tuple[int, int]:
    """Numbers of rows of phi and phidot of a constraint, from its traced formulas."""

    def formula(q: Array, u: Array, t: Array) -> tuple[Array, Array]:
        return constraint.position(system, q, t), constraint.rate(system, q, u, t)

    signature = trace(formula, {"q": system.nq, "u": system.nu, "t": ()}, ["phi", "rate"]).signature
    h, k = signature.output_sizes
    return h, k


OF_POINT = {"w": "states", "wdot": "rates"}  # the names of fields in a point


class Plant(StateSpace, ABC):
    """A model or equations, as transcriptions use them. Sizes and names, the chart of the pose, the residual."""

    constraints: PathEquations | None = None
    unknown: UnknownParameters = UnknownParameters()
    parameters: Array = np.zeros(0)
    """(np,) the values of the unknown parameters, where the plant is `bound` to some."""

    def bound(self, p: Array) -> "Plant":
        """The same with values (np,) of its unknown parameters, floats or symbols."""
        if not self.parameter_names:
            return self
        plant = copy(self)
        plant.parameters = p
        plant._bind(p)
        return plant

    def _bind(self, p: Array) -> None:
        """Put the values into a model."""

    @property
    @abstractmethod
    def content(self) -> Hashable:
        """What the residual computes with, for the key of its kernels."""

    @property
    def control_bounds(self) -> Array:
        """(nc, 2) least and greatest of each control; none by default."""
        return np.tile([-np.inf, np.inf], (self.nc, 1))

    @property
    def state_bounds(self) -> Array:
        """(nw, 2) least and greatest of each of the states w; none by default."""
        return np.tile([-np.inf, np.inf], (self.nw, 1))

    @abstractmethod
    def residual(self, point: Point) -> Array:
        """(..., nu + nw + nk) zero where the equations hold, constraints by their second derivatives: the formula."""

    def rates(self, point: Point) -> tuple[Array, Array]:
        """(..., nu) udot and (..., nw) wdot at a point by the explicit equations, where there are any: the formula."""
        raise NotImplementedError

    @property
    def residual_names(self) -> tuple[str, ...]:
        """The name of each entry of the residual, for messages."""
        forces = tuple(f"equation of motion of {name}" for name in self.velocity_names)
        names = self.constraints.names("acceleration") if self.constraints else ()
        return (*forces, *(f"equation of {name}" for name in self.state_names), *names)

    def acting_controls(self, t: Array, controls: Array) -> Array:
        """(..., nc) the controls at times t (...) [s], from values (..., nc): the formula. What the model prescribes by
        its own `inputs` has the value of its function, and is no unknown."""
        return controls

    def point(self, t: Array, values: Mapping[str, Array], **others: Array) -> Point:
        """The point at times t (...) [s] with the values of fields by name: the formula. Controls that the model
        prescribes have the values of its functions."""
        own = {OF_POINT.get(name, name): x for name, x in values.items() if name not in ("z", "moves")}
        if "controls" in own:
            own["controls"] = self.acting_controls(t, own["controls"])
        return Point(self, t, parameters=self.parameters, **own, **others)

    def held(self, end: Mapping[str, Array], t: Array) -> tuple[list[Array], Any, Any]:
        """At the end of an interval, with the values of its fields, the rows of the constraints, and the moves of pose
        and velocities onto them: nothing and zeros without constraints."""
        if self.constraints is None:
            return [], 0.0, 0.0
        q, u = end["q"], end["u"]
        return [self.constraints.state(q, u, t)], *self.constraints.moves(q, t, end["moves"])

    def samples(self, time: Array) -> Array:
        """(t, n) the data that its equations take at the times [s]; ValueError for times that they do not cover."""
        return np.zeros((len(time), 0))

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.system.nq if self.system is not None else 0

    @property
    def nu(self) -> int:
        """Number of velocities, and of chart coordinates."""
        return len(self.velocity_names)

    @property
    def nw(self) -> int:
        """Number of further states."""
        return len(self.state_names)

    @property
    def nc(self) -> int:
        """Number of controls."""
        return len(self.control_names)

    @property
    def state_row_names(self) -> tuple[str, ...]:
        """The name of each row of the state of constraints, for messages."""
        held = self.constraints
        return (*held.names("position"), *held.names("velocity", held.moved)) if held else ()

    @property
    def fields(self) -> dict[str, tuple[str, ...]]:
        """The unknowns of a site by their fields, with names for messages: chart coordinates of the pose, velocities,
        states, their rates, controls, multipliers of constraints, and multiples by which a node is moved onto these."""
        u, w = self.velocity_names, self.state_names
        return {
            "z": tuple(f"pose along {name}" for name in u),
            "u": u,
            "w": w,
            "udot": tuple(f"rate of {name}" for name in u),
            "wdot": tuple(f"rate of {name}" for name in w),
            "controls": self.control_names,
            "multipliers": self.constraints.multiplier_names if self.constraints else (),
            "moves": tuple(f"move onto {name}" for name in self.state_row_names),
        }
