"""Laws of functions that are compiled: simulation, parameters and derivatives. Each kernel takes about a second."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from myoquat.analysis.recruitment import joint_loads, redundancy
from myoquat.data import Forces, Motion
from myoquat.dynamics import (
    articulated,
    composite,
    forward_dynamics,
    forward_dynamics_derivatives,
    forward_dynamics_hvp,
    inverse,
    inverse_dynamics_derivatives,
    inverse_dynamics_hvp,
    linearize,
    simulate,
    step_derivatives,
)
from myoquat.dynamics.constraints import ConstraintArrays
from myoquat.dynamics.integrators import FIXED_STEP
from myoquat.dynamics.simulation import Inputs
from myoquat.joints import ModelError
from myoquat.joints.vectors import matvec
from myoquat.muscle import Parameters, acting, parameter_names
from myoquat.muscle.acting import Instant
from myoquat.muscle.segments.lengths import velocity_jacobian

from .case import POINTS, STATES, WEIGHTS, Case, least, nearest, rate_jacobian, stream
from .checks import Broken, NotHere, close, close_by_steps, close_to_slope, from_one_start
from .interpreted import interpreted

UNITS = ("orientation", "axis", "axes", "normal", "center", "sequence", "range")  # which cannot change alone


def given(case: Case) -> dict[str, Any]:
    """What a simulation is given at the states: values that are constant, or nothing where the model has functions."""
    equations, own = case.equations, case.own
    found: dict[str, Any] = {}
    if equations.muscles:
        found = {} if case.prescribes("muscle_names") else dict(case.inputs)
        found.pop("controls", None)
        if equations.excited:
            found["activation"] = own[:, : len(equations.excited)]
    if equations.actuated and not case.prescribes("control_names"):
        found["controls"] = case.inputs["controls"]
    first, end = len(equations.excited), len(equations.of_muscles)
    if end > first:
        found["muscle_states"] = own[:, first:end]
    return found


def at(values: dict[str, Any], i: Any) -> dict[str, Any]:
    return {name: x[i] for name, x in values.items()}


def batches(case: Case) -> None:
    """A batch of runs, of any shape, equals its members to the bit; its first row has the acceleration of the formula
    in NumPy, and the power is the rate of energy there. So does forward dynamics with external wrenches."""
    shape = case.options["batch"]
    members = np.arange(int(np.prod(shape))).reshape(shape)
    options: dict[str, Any] = {"start_time": float(case.t[0]), "duration": 2e-3, "step": 1e-3, "output_step": 1e-3}
    options |= _method(case)
    values = given(case) | {"torque": case.torque}
    together = simulate(case.model, case.q[members], case.u[members], **options, **at(values, members))
    for where in {*np.ndindex(shape)} if shape else ():
        i = members[where]
        alone = simulate(case.model, case.q[i], case.u[i], **options, **at(values, i))
        for name in ("q", "u", "muscle_states"):
            one, every = getattr(alone, name), getattr(together, name)
            if one is not None and not np.array_equal(one, every[where]):
                raise Broken(f"{name} of run {where} is off by {np.abs(one - every[where]).max():.1e}")
    close("acceleration", together.acceleration[..., 0, :], case.udot[members], 1e-7)
    rate = (together.u[..., 2, :] - together.u[..., 0, :]) / 2e-3
    change = np.abs(together.acceleration[..., 2, :] - together.acceleration[..., 0, :]).max()
    if change < 0.05 * (1 + np.abs(rate).max()):
        close("change of u", rate, together.acceleration[..., 1, :], 2e-2)
    if case.options["load"]:
        states = [x[members] for x in (case.q, case.u, case.torque, case.f_ext)]
        expected = articulated.forward(case.system, case.q, case.u, case.torque, case.f_ext)[members]
        loaded = forward_dynamics(case.system, *states)
        close("acceleration under wrenches", loaded, expected, 1e-9)
        for where in np.ndindex(shape):
            if not np.array_equal(loaded[where], forward_dynamics(case.system, *(x[where] for x in states))):
                raise Broken(f"acceleration under wrenches of member {where} differs")


def _method(case: Case) -> dict[str, str]:
    """The integrator, with the stabilization of the case or, where it has no such one, projection."""
    method, wanted = case.options["integrator"], case.options["stabilization"]
    if method == "variational" and (case.constraints or case.equations.own):
        method = "lie_rk4"
    if method == "radau" and case.levels["constraint"] == "twice":  # it takes independent constraints only
        method = "lie_rk4"
    fixed = FIXED_STEP.get(method)
    known = ("projection", "baumgarte", "none") if fixed is None else fixed.stabilizations
    if case.constraints and method in ("dop853", "rk45", "radau"):
        known = ("projection",)
    return {"method": method, "stabilization": wanted if wanted in known else "projection"}


def parameters(case: Case) -> None:
    """Runs with numbers of their own equal runs of models that are built with these numbers."""
    numbers = varied(case, 3)
    if not numbers:
        raise NotHere("no numbers")
    factors = np.array([1.0, 1.003])
    run = {"start_time": float(case.t[0]), "duration": 2e-3, "step": 1e-3, "method": "rk4"}
    one = at(given(case) | {"torque": case.torque}, 0)
    built = Parameters.of(case.model, list(numbers)).bind([x * factors[1] for x in numbers.values()])
    with from_one_start():
        together = simulate(case.model, case.q[0], case.u[0], **run, **one,
                            parameters={n: x * factors for n, x in numbers.items()})  # fmt: skip
    for i, model in enumerate((case.model, built)):
        rebuilt = simulate(model, case.q[0], case.u[0], **run, **one)
        for name in ("u", "torques", "acceleration", "energy"):
            close(f"{name} of run {i} with {list(numbers)}", getattr(together, name)[i], getattr(rebuilt, name), 1e-9)


# ---- derivatives --------------------------------------------------------------------------------------------------

STEPS = 2e-4 * POINTS[:, None, None]  # of differences, over the states
LAST = {"tau": "torque", "muscle_states": "own"}  # the names that the equations of motion have for them


def _directions(case: Case, last: str) -> dict[str, np.ndarray]:
    """A direction for every sort of variable of forward ("tau") or inverse dynamics ("udot")."""
    rng = stream("directions", last)
    shapes = {"q": case.u, "u": case.u, last: case.u, **case.inputs}
    if case.options["load"]:
        shapes["f_ext"] = case.f_ext
    if case.own.shape[-1]:
        shapes["muscle_states"] = case.own
    return {name: rng.normal(size=x.shape) for name, x in shapes.items()}


def varied(case: Case, count: int) -> dict[str, float]:
    """Some numbers of the model that may vary, with their values."""
    excluded = (".activation", "start_q.", "start_u.", *UNITS)
    if case.levels["constraint"] == "twice":  # a change of one of them alone contradicts the other
        excluded += ("constraints.",)
    names = [n for n in parameter_names(case.model) if not any(word in n for word in excluded)]
    group = case.options["parameters"]
    names = [n for n in names if n.startswith(group)] or names
    values = dict(zip(names, Parameters.of(case.model, names).defaults, strict=True))
    usable = [n for n in names if values[n] and np.isfinite(values[n])]
    chosen = stream("parameters", *names).choice(usable, size=min(count, len(usable)), replace=False)
    return {str(n): values[n] for n in chosen}


def _along(case: Case, s: np.ndarray, directions: dict[str, np.ndarray], last: str) -> np.ndarray:
    """udot or tau of the whole model at steps s (k, 1, 1) along directions of all variables but parameters."""
    system, equations = case.system, case.equations
    values = {"q": case.q, "u": case.u, "udot": case.udot, "f_ext": 0.0 * case.f_ext, **case.given()}
    if case.options["load"]:
        values["f_ext"] = case.f_ext
    for name, d in directions.items():
        key = LAST.get(name, name)
        steps = s[..., None] if name == "f_ext" else s
        values[key] = system.integrate(case.q, s * d) if name == "q" else values[key] + steps * d
    q, u, udot, f_ext = (values.pop(name) for name in ("q", "u", "udot", "f_ext"))
    if last == "udot":
        values["torque"] = 0.0 * case.torque
    force = equations.force(case.t, q, u, values) + inverse.external(system, q, f_ext)
    if last == "tau":
        if not case.constraints:
            return articulated.forward(system, q, u, force)
        shape = np.broadcast_shapes(*(x.shape[:-1] for x in (q, u, force)))
        flat = [np.broadcast_to(x, (*shape, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, u, force)]
        return ConstraintArrays(case.held).motion(*flat, float(case.t[0])).acceleration.reshape(*shape, -1)
    return _free(case, q, inverse.inverse(system, q, u, udot) - force)


def _free(case: Case, q: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """(..., nu) what is left of generalized forces at q without what constraints, couplers and locks carry."""
    if not case.constraints:
        return torque
    A = rate_jacobian(case.held, q, case.t)
    carried = np.swapaxes(least(composite.mass(case.system, q), A) @ A, -1, -2)
    return torque - matvec(carried, torque)


def _slope(values: np.ndarray, share: float = 1.0) -> np.ndarray:
    """The derivative of values at a share of `STEPS`."""
    return np.tensordot(WEIGHTS, np.broadcast_to(values, (len(POINTS), *values.shape[-2:])), 1) / (share * 2e-4)


def derivatives(case: Case) -> None:
    """Derivatives of forward and inverse dynamics, by every sort of variable and by parameters, are differences of high
    order."""
    inputs, load, numbers = Inputs(**given(case)), case.f_ext if case.options["load"] else None, varied(case, 2)
    with interpreted():
        for function, last, x in (
            (forward_dynamics_derivatives, "tau", case.torque),
            (inverse_dynamics_derivatives, "udot", case.udot),
        ):
            found = function(case.model, case.q, case.u, x, load, inputs=inputs, parameters=list(numbers))
            directions = _directions(case, last)
            parts = {
                name: matvec(J.reshape(*J.shape[:2], -1), directions[name].reshape(STATES, -1))
                for name in directions
                for J in (found.inputs[name] if name in found.inputs else getattr(found, name),)
            }
            slope = _slope(_along(case, STEPS, directions, last))
            off = np.abs(slope - sum(parts.values())).max() > 2e-6 * max(1.0, np.abs(slope).max())
            for name, part in parts.items() if off else ():  # which one it is
                along = partial(_slope_along, case, {name: directions[name]}, last)
                close_to_slope(f"derivative of {function.__name__} by {name}", part, along, 2e-6)
            for name, value in numbers.items():
                part, by_number = found.parameters[name] * value, partial(_slope_by_number, case, name, value, last)
                close_to_slope(f"derivative of {function.__name__} by {name}", part, by_number, 2e-6)


def _slope_along(case: Case, directions: dict[str, np.ndarray], last: str, share: float) -> np.ndarray:
    """The derivative of udot or tau along directions."""
    return _slope(_along(case, share * STEPS, directions, last), share)


def _slope_by_number(case: Case, name: str, value: float, last: str, share: float) -> np.ndarray:
    """The derivative of udot or tau by the logarithm of a number of the model."""
    cases = [_with_numbers(case, {name: value * (1.0 + s)}) for s in share * STEPS[:, 0, 0]]
    return _slope(np.stack([_along(changed, STEPS[:1], {}, last) for changed in cases]), share)


def _with_numbers(case: Case, numbers: dict[str, float]) -> Case:
    """The case with other numbers of its model, and the same states of muscles."""
    if not numbers:
        return case
    changed = case.of(model=Parameters.of(case.model, list(numbers)).bind(list(numbers.values())))
    changed.own, changed.udot = case.own, case.udot  # type: ignore[misc]
    return changed


def linearization(case: Case) -> None:
    """The matrices of `linearize` are differences of its rates, which have the accelerations of the formula."""
    nu, values, options = case.system.nu, given(case) | {"torque": case.torque}, {"time": float(case.t[0])}
    with interpreted():
        here = linearize(case.model, case.q, case.u, inputs=Inputs(**values), **options)
        close("acceleration", here.rate[..., nu : 2 * nu], case.udot, 1e-7)

        def change(share: float) -> tuple[np.ndarray, np.ndarray]:
            curve = _curve(case, values, share)
            there = linearize(case.model, curve.q, curve.u, inputs=Inputs(**curve.inputs), **options)
            wanted = matvec(here.A, curve.change) + matvec(here.B, curve.by(here.input_names))
            return wanted[..., nu:], _slope(there.rate, share)[..., nu:]

        close_by_steps("change of rates", change, 1e-5)


class _Curve(NamedTuple):
    """States and inputs at `STEPS` along a curve on the constraints, and its direction at the first states."""

    q: np.ndarray
    u: np.ndarray
    inputs: dict[str, np.ndarray]
    change: np.ndarray
    torque: np.ndarray

    def by(self, names: Sequence[str]) -> np.ndarray:
        """(STATES, m) the change of inputs of these names: torques alone change."""
        found = np.zeros((STATES, len(names)))
        found[:, len(names) - self.torque.shape[-1] :] = self.torque
        return found


def _curve(case: Case, values: dict[str, Any], share: float) -> _Curve:
    rng, steps = stream("curve"), share * STEPS
    dq, du, dt = (rng.normal(size=case.u.shape) for _ in range(3))
    q, u = case.system.integrate(case.q, steps * dq), case.u + steps * du
    if case.constraints:
        q, u = nearest(case.held, q, u, case.t)
    moved = case.system.difference(np.broadcast_to(case.q, q.shape), q)
    stacked = {name: np.broadcast_to(x, (len(POINTS), *x.shape)) for name, x in values.items()}
    stacked["torque"] = case.torque + steps * dt
    change = np.concatenate([_slope(moved, share), _slope(u, share), np.zeros((STATES, case.own.shape[-1]))], axis=-1)
    return _Curve(q, u, stacked, change, dt)


def steps(case: Case) -> None:
    """The matrices of a step are differences of its result."""
    values, options = given(case) | {"torque": case.torque}, {**_method(case), "time": float(case.t[0])}
    with interpreted():
        here = step_derivatives(case.model, case.q, case.u, 1e-3, inputs=Inputs(**values), **options)

        def change(share: float) -> tuple[np.ndarray, np.ndarray]:
            curve = _curve(case, values, share)
            there = step_derivatives(case.model, curve.q, curve.u, 1e-3, inputs=Inputs(**curve.inputs), **options)
            moved = case.system.difference(np.broadcast_to(here.q, there.q.shape), there.q)
            result = np.concatenate([moved, there.u, there.muscle_states], axis=-1)
            return matvec(here.A, curve.change) + matvec(here.B, curve.by(here.input_names)), _slope(result, share)

        close_by_steps("change after a step", change, 1e-5)


def second_derivatives(case: Case) -> None:
    """Hessian products along directions of all variables are second differences, and the Hessian is symmetric."""
    rng, inputs, numbers = stream("hessian"), Inputs(**given(case)), varied(case, 1)
    weights, load = rng.normal(size=case.u.shape), case.f_ext if case.options["load"] else None
    for function, last, x in ((forward_dynamics_hvp, "tau", case.torque), (inverse_dynamics_hvp, "udot", case.udot)):
        directions, products = [], []
        for share in (0.3, 0.7):
            change = {name: rng.normal(size=case.u.shape) for name in ("q", "u", last)}
            by_number = np.array([share * value for value in numbers.values()])
            shares = (*change.values(), *([np.tile(by_number, (STATES, 1))] if numbers else []))
            with interpreted():
                found = function(case.model, case.q, case.u, x, weights, shares, load, inputs=inputs,
                                 parameters=list(numbers))  # fmt: skip
            products.append(np.concatenate([*found[:3], *(p[:, None] for p in found.parameters.values())], axis=-1))
            directions.append(np.concatenate(shares, axis=-1))
            if share == 0.3:
                along = np.sum(products[0] * directions[0], axis=-1)
                by_differences = partial(_second_slope, case, weights, (change, last), numbers, 0.3)
                close_to_slope(f"{function.__name__} along a direction", along, by_differences, 1e-4)
        mixed = (np.sum(directions[i] * products[1 - i], axis=-1) for i in (0, 1))
        close(f"{function.__name__} is symmetric", *mixed, 1e-8)


def _second_slope(
    case: Case, weights: np.ndarray, along: tuple[dict[str, np.ndarray], str], numbers: dict[str, float],
    rate: float, share: float,
) -> np.ndarray:  # fmt: skip
    """The second derivative of weights . udot (or tau) along directions and numbers that change by `rate`."""
    h = share * 5e-4
    values = []
    for s in h * np.arange(-3.0, 4.0):
        changed = _with_numbers(case, {n: v * (1.0 + rate * s) for n, v in numbers.items()})
        values.append(np.sum(weights * _along(changed, np.full((1, 1, 1), s), *along)[0], axis=-1))
    return np.tensordot(np.array([2.0, -27, 270, -490, 270, -27, 2]) / 180 / h**2, np.stack(values), 1)


# ---- motions ------------------------------------------------------------------------------------------------------


def _motion(case: Case) -> tuple[Motion, Instant, Forces | None]:
    """The states as frames of a motion that follow each other at once, what acts there, and its external wrenches, each
    at the origin of its body and in the world's axes."""
    times = case.t + 1e-10 * np.arange(len(case.t))
    motion = Motion(case.model, times, case.q, case.u, case.udot)
    loads, bodies = None, case.system.body_names
    if case.options["load"]:
        force, torque = case.f_ext[..., :3], case.f_ext[..., 3:]
        ground = (case.system.ground,) * len(bodies)
        loads = Forces(times, tuple(f"load {b}" for b in bodies), bodies, force, 0.0 * force, torque, ground, bodies)
    return motion, case.equations.instant(case.t, case.q, case.u, case.given()), loads


def loads_in_joints(case: Case) -> None:
    """Joint loads are those of the Newton-Euler recursion under all that acts on bodies, constraints and external loads
    included. External torques, and what holds couplers and locks, are left."""
    m, (motion, at, loads) = case.model, _motion(case)
    try:
        on_bodies = acting.wrenches(m, at)
        found = joint_loads(m, motion, acting.tensions(m, at), loads, controls=at.controls)
    except ModelError as error:
        raise NotHere(str(error)) from error
    applied = np.zeros(case.u.shape)
    if loads is not None:
        on_bodies, applied = on_bodies + case.f_ext, inverse.external(case.system, case.q, case.f_ext)
    held = found.constraints
    if held is not None:
        lacking = inverse.inverse(case.system, case.q, case.u, case.udot) - case.force + case.torque - applied
        within = held.motion.wrenches(held.motion.multipliers(lacking))
        if case.levels["coupler"] != "several":  # which is a constraint that acts on no body
            close("wrenches of constraints", inverse.external(case.system, case.q, within), held.force, 1e-7)
        on_bodies = on_bodies + within
    expected = inverse.joint_wrenches(case.system, case.q, case.u, case.udot, on_bodies)
    known = ~np.isnan(found.wrench)
    close("joint loads", np.where(known, found.wrench, 0.0), np.where(known, expected, 0.0), 1e-7)
    close("residual", *(_free(case, case.q, x) for x in (found.residual.to_numpy(), case.torque - applied)), 1e-7)


def recruitment(case: Case) -> None:
    """Muscles and reserves of redundancy, with all else that acts, give the torques that the motion needs."""
    m, (motion, at, loads) = case.model, _motion(case)
    found = redundancy(m, motion, loads=loads, reserves=1000.0, backend="numpy")
    rigid = found.model
    controls = at.controls if case.prescribes("control_names") else None
    passive = acting.torques(rigid, replace(at, activation=None, states=None, torque=None, controls=controls))
    J = velocity_jacobian(case.system, rigid.paths, case.q)
    pull = -matvec(np.swapaxes(J, -1, -2), found.force)
    reserve = matvec(found.columns, found.reserve / np.array([r.strength for r in found.reserves]))
    f_ext = case.f_ext if loads is not None else None
    needed = inverse.inverse(case.system, case.q, case.u, case.udot, f_ext)
    close("torques", _free(case, case.q, passive + pull + reserve), _free(case, case.q, needed), 1e-6)
