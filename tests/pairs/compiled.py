"""Laws of functions that are compiled: simulation, parameters and derivatives. Each kernel takes about a second."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.analysis.recruitment import joint_loads, redundancy
from myoquat.data import Motion
from myoquat.dynamics import (
    articulated,
    forward_dynamics_derivatives,
    forward_dynamics_hvp,
    inverse,
    inverse_dynamics_derivatives,
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

from .case import POINTS, WEIGHTS, Case, stream
from .checks import NotHere, close

__all__ = [
    "batches",
    "derivatives",
    "loads_in_joints",
    "parameters",
    "recruitment",
    "second_derivatives",
    "steps",
]


UNITS = ("orientation", "axis", "axes", "normal", "center", "sequence", "range")  # numbers that cannot change alone


def given(case: Case) -> dict[str, Any]:
    """What a simulation is given at the states: values that are constant, or nothing where the model has functions."""
    equations, own = case.equations, case.own
    found: dict[str, Any] = {}
    functions = bool(case.model.inputs)
    if equations.muscles:
        found = {} if functions else dict(case.inputs)
        found.pop("controls", None)
        if equations.excited:
            found["activation"] = own[:, : len(equations.excited)]
    if equations.actuated and not functions:
        found["controls"] = case.inputs["controls"]
    first, end = len(equations.excited), len(equations.of_muscles)
    if end > first:
        found["muscle_states"] = own[:, first:end]
    return found


def at(values: dict[str, Any], i: int) -> dict[str, Any]:
    return {name: x[i] for name, x in values.items()}


def batches(case: Case) -> None:
    """A batch of runs equals its members to the bit; its first row has the acceleration of the formula in NumPy, and
    the power is the rate of energy there."""
    options: dict[str, Any] = {"start_time": float(case.t[0]), "duration": 2e-3, "step": 1e-3, "output_step": 1e-3}
    options |= _method(case)
    values = given(case) | {"torque": case.torque}
    together = simulate(case.model, case.q, case.u, **options, **values)
    for i in (1, 3):
        alone = simulate(case.model, case.q[i], case.u[i], **options, **at(values, i))
        for name in ("q", "u", "muscle_states"):
            one, every = getattr(alone, name), getattr(together, name)
            if one is not None and not np.array_equal(one, every[i]):
                raise AssertionError(f"{name} of run {i} is off by {np.abs(one - every[i]).max():.1e}")
    close("acceleration", together.acceleration[:, 0], case.udot, 1e-7)
    rate = (together.u[:, 2] - together.u[:, 0]) / 2e-3
    smooth = np.abs(together.acceleration[:, 2] - together.acceleration[:, 0]).max() < 0.05 * (1 + np.abs(rate).max())
    if smooth:
        close("change of u", rate, together.acceleration[:, 1], 2e-2)


def _method(case: Case) -> dict[str, str]:
    """The integrator, with the stabilization of the case or, where it has no such one, projection."""
    method, wanted = case.options["integrator"], case.options["stabilization"]
    if method == "variational" and (case.constraints or case.equations.own):
        method = "lie_rk4"
    if method == "radau" and case.levels["constraint"] == "twice":  # it takes independent constraints only
        method = "dop853"
    fixed = FIXED_STEP.get(method)
    known = ("projection", "baumgarte", "none") if fixed is None else fixed.stabilizations
    if case.constraints and method in ("dop853", "rk45", "radau"):
        known = ("projection",)
    return {"method": method, "stabilization": wanted if wanted in known else "projection"}


def parameters(case: Case) -> None:
    """Runs with numbers of their own equal runs of models that are built with these numbers."""
    rng, group = case.rng, case.options["parameters"]
    excluded = (".activation", "start_q.", "start_u.")
    names = [n for n in parameter_names(case.model) if not any(word in n for word in excluded)]
    names = [n for n in names if group == "any" or n.startswith(group)]
    values = dict(zip(names, Parameters.of(case.model, names).defaults, strict=True))
    usable = [n for n in names if values[n] and np.isfinite(values[n]) and not any(w in n for w in UNITS)]
    if not usable:
        raise NotHere("no numbers")
    chosen = [str(n) for n in rng.choice(usable, size=min(3, len(usable)), replace=False)]
    factors = np.array([1.0, 1.003])
    run = {"start_time": float(case.t[0]), "duration": 2e-3, "step": 1e-3, "method": "rk4"}
    one = at(given(case) | {"torque": case.torque}, 0)
    try:
        built = Parameters.of(case.model, chosen).bind([values[n] * factors[1] for n in chosen])
        varied = simulate(case.model, case.q[0], case.u[0], **run, **one,
                          parameters={n: values[n] * factors for n in chosen})  # fmt: skip
    except ValueError as error:
        raise NotHere(str(error)) from error
    for i, model in enumerate((case.model, built)):
        rebuilt = simulate(model, case.q[0], case.u[0], **run, **one)
        for name in ("u", "torques", "acceleration", "energy"):
            close(f"{name} of run {i} with {chosen}", getattr(varied, name)[i], getattr(rebuilt, name), 1e-9)


# ---- derivatives --------------------------------------------------------------------------------------------------


def _variables(case: Case) -> dict[str, np.ndarray]:
    """A direction for every sort of variable of forward dynamics."""
    rng = stream("directions")
    shapes = {"q": case.u, "u": case.u, "tau": case.torque, "f_ext": case.f_ext, **case.inputs}
    if case.own.shape[-1]:
        shapes["muscle_states"] = case.own
    return {name: rng.normal(size=x.shape) for name, x in shapes.items()}


def _moved(case: Case, name: str, direction: np.ndarray, s: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """(what the equations take, wrenches) at steps s (k, 1, 1) along a direction of one variable."""
    values = {"q": case.q, "u": case.u, **case.given()}
    f_ext = case.f_ext
    key = {"tau": "torque", "muscle_states": "own"}.get(name, name)
    if name == "q":
        values["q"] = case.system.integrate(case.q, s * direction)
    elif name == "f_ext":
        f_ext = f_ext + s[..., None] * direction
    else:
        values[key] = values[key] + s * direction
    return values, f_ext


def _acceleration(case: Case, values: dict[str, np.ndarray], f_ext: np.ndarray) -> np.ndarray:
    """(..., nu) of the whole model under wrenches, constraints by their kernels."""
    q, u = values["q"], values["u"]
    rest = {name: x for name, x in values.items() if name not in ("q", "u")}
    tau = case.equations.force(case.t, q, u, rest)
    if not case.constraints:
        return articulated.forward(case.system, q, u, tau, f_ext)
    arrays = ConstraintArrays(case.held)
    tau = tau + inverse.external(case.system, q, f_ext)
    shape = np.broadcast_shapes(q.shape[:-1], u.shape[:-1], tau.shape[:-1])
    flat = [np.broadcast_to(x, (*shape, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, u, tau)]
    return arrays.motion(*flat, float(case.t[0])).acceleration.reshape(*shape, -1)


def _slope(function: Callable[[np.ndarray], np.ndarray], h: float = 2e-4) -> np.ndarray:
    values = function(h * POINTS[:, None, None])
    return np.tensordot(WEIGHTS, np.broadcast_to(values, (len(POINTS), *values.shape[-2:])), 1) / h


def derivatives(case: Case) -> None:
    """Derivatives of forward and inverse dynamics, by every sort of variable, are differences of high order."""
    directions = _variables(case)
    inputs = Inputs(**given(case))
    forward = forward_dynamics_derivatives(case.model, case.q, case.u, case.torque, case.f_ext, inputs=inputs)
    for name, direction in directions.items():
        found = getattr(forward, name, None)
        found = forward.inputs.get(name) if found is None else found
        if found is None:
            continue
        moved = matvec(found.reshape(*found.shape[:2], -1), direction.reshape(len(direction), -1))
        slope = _slope(lambda s, n=name, d=direction: _acceleration(case, *_moved(case, n, d, s)))
        close(f"derivative of udot by {name}", moved, slope, 2e-6)
    if case.constraints:
        return
    backward = inverse_dynamics_derivatives(case.model, case.q, case.u, case.udot, case.f_ext, inputs=inputs)

    def torque(name: str, direction: np.ndarray, s: np.ndarray) -> np.ndarray:
        values, f_ext = _moved(case, name, direction, s)
        q, u = values["q"], values["u"]
        rest = {k: x for k, x in values.items() if k not in ("q", "u")} | {"torque": 0 * case.torque}
        return inverse.inverse(case.system, q, u, case.udot, f_ext) - case.equations.force(case.t, q, u, rest)

    for name in ("q", "u"):
        moved = matvec(getattr(backward, name), directions[name])
        slope = _slope(lambda s, n=name: torque(n, directions[n], s))
        close(f"derivative of tau by {name}", moved, slope, 2e-6)


def steps(case: Case) -> None:
    """The matrices of a step are differences of its result."""
    rng, values = stream("steps"), given(case) | {"torque": case.torque}
    options = {**_method(case), "time": float(case.t[0])}

    def step(q: np.ndarray, u: np.ndarray, v: dict[str, Any]) -> Any:
        return step_derivatives(case.model, q, u, 1e-3, inputs=Inputs(**v), **options)

    here = step(case.q, case.u, values)
    nu = case.system.nu
    du, dq, dt = (rng.normal(size=case.u.shape) for _ in range(3))
    s = 3e-4 * POINTS[:, None, None]
    change = np.zeros((*case.u.shape[:-1], len(here.state_names)))
    change[..., :nu], change[..., nu : 2 * nu] = dq, du
    by_input = np.zeros((*case.u.shape[:-1], len(here.input_names)))
    by_input[..., [n.startswith("torque.") for n in here.input_names]] = dt
    wanted = matvec(here.A, change) + matvec(here.B, by_input)
    stacked = {name: np.broadcast_to(x, (len(POINTS), *x.shape)) for name, x in values.items()}
    stacked["torque"] = case.torque + s * dt
    there = step(case.system.integrate(case.q, s * dq), case.u + s * du, stacked)
    moved = case.system.difference(np.broadcast_to(here.q, there.q.shape), there.q)
    result = np.concatenate([moved, there.u, there.muscle_states], axis=-1)
    close("change after a step", wanted, np.tensordot(WEIGHTS, result, 1) / 3e-4, 1e-5)


def second_derivatives(case: Case) -> None:
    """The Hessian product along a direction is the second difference, and the Hessian is symmetric."""
    rng = stream("hessian")
    weights = rng.normal(size=case.u.shape)
    d, e = ([rng.normal(size=case.u.shape) for _ in range(3)] for _ in range(2))
    inputs = Inputs(**given(case))
    by_d, by_e = (
        forward_dynamics_hvp(case.model, case.q, case.u, case.torque, weights, tuple(x), inputs=inputs) for x in (d, e)
    )
    products = [
        sum(np.sum(x * y, axis=-1) for x, y in zip(v, h[:3], strict=True)) for v, h in ((e, by_d), (d, by_e), (d, by_d))
    ]
    close("Hessian is symmetric", products[0], products[1], 1e-8)
    h = 5e-4
    s = h * np.array([-3.0, -2, -1, 0, 1, 2, 3])[:, None, None]
    values = {**case.given(), "torque": case.torque + s * d[2]}
    q, u = case.system.integrate(case.q, s * d[0]), case.u + s * d[1]
    udot = _acceleration(case, {"q": q, "u": u, **values}, np.zeros(case.f_ext.shape))
    second = np.array([2.0, -27, 270, -490, 270, -27, 2]) / 180 / h**2
    close("second derivative", products[2], np.tensordot(second, np.sum(weights * udot, axis=-1), 1), 1e-4)


# ---- motions ------------------------------------------------------------------------------------------------------


def _motion(case: Case) -> tuple[Motion, Instant]:
    """The states as frames of a motion that follow each other at once, and what acts there."""
    times = case.t + 1e-10 * np.arange(len(case.t))
    motion = Motion(case.model, times, case.q, case.u, case.udot)
    return motion, case.equations.instant(case.t, case.q, case.u, case.given())


def loads_in_joints(case: Case) -> None:
    """Joint loads are those of the Newton-Euler recursion under all that acts on bodies; external torques are left."""
    m, (motion, at) = case.model, _motion(case)
    try:
        on_bodies = acting.wrenches(m, at)
    except ModelError as error:
        raise NotHere(str(error)) from error
    found = joint_loads(m, motion, acting.tensions(m, at), controls=at.controls)
    expected = inverse.joint_wrenches(case.system, case.q, case.u, case.udot, on_bodies)
    close("joint loads", found.wrench, expected, 1e-7)
    close("residual", found.residual, case.torque, 1e-7)


def recruitment(case: Case) -> None:
    """Muscles and reserves of redundancy, with all else that acts, give the torques that the motion needs."""
    m, (motion, at) = case.model, _motion(case)
    found = redundancy(m, motion, reserves=1000.0, backend="numpy")
    rigid = found.model
    controls = at.controls if m.inputs else None
    passive = acting.torques(rigid, replace(at, activation=None, states=None, torque=None, controls=controls))
    J = velocity_jacobian(case.system, rigid.muscles, case.q)
    pull = -matvec(np.swapaxes(J, -1, -2), found.force)
    needed = inverse.inverse(case.system, case.q, case.u, case.udot)
    close("torques", passive + pull + found.reserve, needed, 1e-6)
