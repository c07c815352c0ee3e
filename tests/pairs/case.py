"""A case: the model and the setting that a row of levels describes, with two states of it."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from myoquat.dynamics import articulated, composite
from myoquat.dynamics.constraints import Constraints, constraints_of
from myoquat.dynamics.integrators import StateEquations
from myoquat.joints import ArticulatedSystem
from myoquat.joints.vectors import matvec
from myoquat.muscle import Model
from myoquat.muscle.actuators import delayed
from myoquat.muscle.inputs import InputsOverTime
from myoquat.muscle.segments.lengths import lengths

from .checks import NotHere
from .draft import Draft
from .features import BESIDE, BODIES, EXTRA_BODIES, PLAIN, SETTING

STATES = 4  # of every case: the others are near the first
STEP = 1e-4  # [s] of central differences
POINTS = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
WEIGHTS = np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60  # of the first derivative, sixth order
MAX_CONDITION = 1e-8 / np.finfo(float).eps  # of mass matrices: rounding alone moves accelerations by 1e-8 of their size
MAX_NEWTON_STEPS = 20  # from a pose to the constraints


def stream(*key: Any) -> np.random.Generator:
    """Random numbers that depend on the key alone."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


@dataclass
class Case:
    """A model, and `STATES` states with everything that acts there.

    q, u, torque  (STATES, nq) and (STATES, nu)
    t             (STATES,)
    f_ext         (STATES, bodies, 6)
    inputs        activation or excitation, and controls, (STATES, n) by name
    own           (STATES, k) the states of muscles and actuators
    options       of the setting
    """

    model: Model
    q: np.ndarray
    u: np.ndarray
    t: np.ndarray
    options: dict[str, Any]
    levels: Mapping[str, str]
    rng: np.random.Generator
    torque: np.ndarray = field(init=False)
    f_ext: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        system = self.system
        self.torque = self.rng.normal(size=(STATES, system.nu))
        self.f_ext = self.rng.normal(size=(STATES, len(system.bodies), 6))

    def of(self, **changes: Any) -> "Case":
        """The case with other fields, and the same torques and wrenches."""
        changed = Case(**{f.name: changes.get(f.name, getattr(self, f.name)) for f in fields(self) if f.init})
        changed.torque, changed.f_ext = self.torque, self.f_ext
        return changed

    @property
    def system(self) -> ArticulatedSystem:
        return self.model.system

    @cached_property
    def constraints(self) -> tuple[Any, ...]:
        """The model's own constraints and couplers."""
        return tuple(constraints_of(self.model, ()))

    @cached_property
    def held(self) -> Constraints:
        return Constraints(self.system, self.constraints, True)

    @cached_property
    def equations(self) -> StateEquations:
        return StateEquations(self.model, True, constraints=self.constraints, redundant=bool(self.constraints))

    @cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """By name: what the model's own functions say, or random values."""
        model, rng, found = self.model, stream("inputs"), {}
        for name, n in self.equations.inputs.items():
            if name == "torque":
                continue
            names = model.control_names if name == "controls" else model.muscle_names
            own = self.prescribes("control_names" if name == "controls" else "muscle_names")
            found[name] = InputsOverTime(model.inputs, names)(self.t) if own else rng.uniform(0.1, 0.9, (STATES, n))
        return found

    def prescribes(self, names: str) -> bool:
        """Whether the model's own functions give some inputs, of its "muscle_names" or its "control_names"."""
        return any(given.name in getattr(self.model, names) for given in self.model.inputs)

    @cached_property
    def own(self) -> np.ndarray:
        """Activations, and fiber lengths with which the tendon is strained by 1 to 4 percent."""
        rng, columns = stream("own"), []
        for name in self.equations.own:
            x = rng.uniform(0.2, 0.8, STATES)
            started = [a.activation for a in delayed(self.model).values() if name == f"{a.name}.activation"]
            if started:
                x = np.full(STATES, started[0])
            if name.endswith("fiber_length"):
                (muscle,) = self.model.muscles
                law: Any = muscle.law
                pulled = lengths(self.system, (muscle.path,), self.q)[..., 0] - law.tendon_slack_length * (1 + 0.05 * x)
                x = np.hypot(np.maximum(pulled, 0.0), law.optimal_fiber_length * np.sin(law.pennation))
            columns.append(x)
        return np.stack(columns, axis=-1) if columns else np.zeros((STATES, 0))

    def given(self) -> dict[str, np.ndarray]:
        """What the equations of motion take beside q and u."""
        own = {"own": self.own} if self.own.shape[-1] else {}
        return {**self.inputs, "torque": self.torque, **own}

    @cached_property
    def udot(self) -> np.ndarray:
        """(STATES, nu) the acceleration of the whole model: the free one, and the least change by the constraints."""
        free = articulated.forward(self.system, self.q, self.u, self.force)
        if not self.constraints:
            return free
        return free + matvec(self._least, self.bias - matvec(self.A, free))

    @cached_property
    def force(self) -> np.ndarray:
        """(STATES, nu) all generalized forces but those of constraints and joints."""
        return self.equations.force(self.t, self.q, self.u, self.given())

    @cached_property
    def A(self) -> np.ndarray:
        """(STATES, k, nu) of the constraints, A udot = b."""
        return rate_jacobian(self.held, self.q, self.t)

    @cached_property
    def bias(self) -> np.ndarray:
        """(STATES, k) b, by differences of the rate at constant u."""
        s = STEP * POINTS[:, None]
        rates = self.held.rate(self.system.integrate(self.q, s[..., None] * self.u), self.u, self.t + s)
        return -np.tensordot(WEIGHTS, rates, 1) / STEP

    @cached_property
    def _least(self) -> np.ndarray:
        """(STATES, nu, k) M^-1 A^T (A M^-1 A^T)^+."""
        return least(composite.mass(self.system, self.q), self.A)

    def flow(self, s: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, u) at the times s (k, 1) after the states, to second order: (k, STATES, n)."""
        s = np.asarray(s)[..., None]
        return self.system.integrate(self.q, s * self.u + s * s / 2 * self.udot), self.u + s * self.udot


def rate_jacobian(held: Constraints, q: np.ndarray, t: np.ndarray) -> np.ndarray:
    """(..., k, nu) A: the rates of the constraints are linear in u."""
    units = np.eye(held.system.nu).reshape(-1, *[1] * (q.ndim - 1), held.system.nu)
    rates = held.rate(np.broadcast_to(q, (len(units), *q.shape)), units, t) - held.rate(q, 0.0 * units[0], t)
    return np.moveaxis(rates, 0, -1)


def least(M: np.ndarray, A: np.ndarray) -> np.ndarray:
    """(STATES, nu, k) M^-1 A^T (A M^-1 A^T)^+, which also solves redundant rows."""
    M_A = np.linalg.solve(M, np.swapaxes(A, -1, -2))
    return M_A @ np.linalg.pinv(A @ M_A, rcond=1e-9, hermitian=True)


def made(levels: Mapping[str, str], key: Any) -> Case:
    """The case of a row; `key` is what its random numbers depend on. NotHere for states that are near singular."""
    d = Draft()

    def apply(name: str, table: Mapping[str, Any]) -> None:
        d.rng = stream(key, name)
        table[levels[name]](d)

    for name, table in BODIES.items():
        apply(name, table)
    for name, level in EXTRA_BODIES.items():
        d.rng = stream(key, name, "bodies")
        if levels[name] != PLAIN[name]:
            level(d)
    if d.order is not None:
        d.order = [b.name for b in d.bodies if b.name not in d.order] + d.order
    d.rng = stream(key, "state")
    d.complete()
    for name, table in (BESIDE | SETTING).items():
        apply(name, table)
    model = Model(d.system, **{part: tuple(records) for part, records in d.parts.items()})
    return _with_states(model, d, levels, stream(key, "states"))


def _with_states(model: Model, d: Draft, levels: Mapping[str, str], rng: np.random.Generator) -> Case:
    """The states: the draft's, and one nearby, both moved onto the constraints."""
    system = model.system
    steps = rng.normal(size=(STATES, system.nu)) * np.linspace(0.0, 0.1, STATES)[:, None]
    q, u = system.integrate(d.q, steps), rng.normal(size=(STATES, system.nu)) * 0.7
    t = np.full(STATES, d.options["start"])
    held = Constraints(system, tuple(constraints_of(model, ())), True)
    if held.parts:
        q, u = nearest(held, q, u, t)
        if not (off := np.abs(held.position(q, t)).max(initial=0.0)) < 1e-9:
            raise NotHere(f"no pose near the random one satisfies the constraints: they are off by {off:.1e}")
    condition = float(np.linalg.cond(composite.mass(system, q)).max())
    if not condition < MAX_CONDITION:
        raise NotHere(f"the mass matrix has condition {condition:.1e}: a joint is near a singular pose")
    start = {"start_q": tuple(map(float, q[0])), "start_u": tuple(map(float, u[0]))}
    return Case(replace(model, **start), q, u, t, d.options, levels, rng)


def nearest(held: Constraints, q: np.ndarray, u: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The states on the constraints: Newton's method for q, then u."""
    system = held.system
    holonomic = Constraints(system, [c for c in held.parts if c.position(system, q, t).shape[-1]], True)
    M = composite.mass(system, q)
    for _ in range(MAX_NEWTON_STEPS if holonomic.parts else 0):
        phi = holonomic.position(q, t)
        if np.abs(phi).max() < 1e-12:
            break
        units = np.eye(system.nu).reshape(-1, *[1] * (q.ndim - 1), system.nu)
        moved = [system.integrate(q, step * units) for step in (1e-6, -1e-6)]
        A = np.moveaxis((holonomic.position(moved[0], t) - holonomic.position(moved[1], t)) / 2e-6, 0, -1)
        q = system.integrate(q, -matvec(least(M, A), phi))
    return q, u - matvec(least(M, rate_jacobian(held, q, t)), held.rate(q, u, t))
