"""Argument validation of public functions of muscles: `myoquat.joints.evaluation.Call` with activations and states."""

from collections.abc import Callable
from typing import Any

import numpy as np

from myoquat.core import Array, ArrayLike, casadi, check_type, check_unmasked, is_imported
from myoquat.joints import ArticulatedSystem
from myoquat.joints.evaluation import Call
from myoquat.joints.ranges import check_array, check_state
from myoquat.kernels.symbolic.arrays import is_symbolic

from .acting import Instant, is_timed
from .model import Model
from .path import Muscle
from .states import state_names


class MuscleCall(Call):
    """A `Call` of a Model. It adds activations and states of muscles, and looks kernels up by the model's content."""

    def __init__(self, model: Model) -> None:
        check_type("model", model, Model)
        super().__init__(model)
        self.model = model

    def activation(self, name: str, activation: ArrayLike) -> "MuscleCall":
        """Activations or excitations (..., m) in [0, 1]."""
        return self.put(name, activation, self.model.check_activation(activation, name))

    def time(self, time: ArrayLike | None) -> "MuscleCall":
        """The time (...) as an input t (..., 1), if it is given and a force of the model depends on it."""
        given = None if time is None else check_array("time", time)[..., None]
        if given is None or not is_timed(self.model):
            return self
        return self.put("t", given, check_state("time", given, ("t",)))

    def controls(self, controls: ArrayLike) -> "MuscleCall":
        """Controls (..., k) of the actuators within their bounds, or the activations of delayed actuators."""
        return self.put("controls", controls, self.model.check_controls(controls, acting=True))

    def states(self, name: str, values: ArrayLike | None) -> "MuscleCall":
        """The muscles' own states or their rates (..., ns); None for a model without."""
        own = state_names(self.model)
        if values is None and own:
            raise ValueError(
                f"{name} (..., {len(own)}) is needed: {own[0]!r} and others; equilibrium_states(model, q, activation) "
                "gives one"
            )
        return self if values is None else self.vector(name, values, own)

    def at_instant(self, function: Callable[[Model, Instant], Array]) -> Callable[..., Array]:
        """The formula of the inputs, in their order, that a function of the model and what acts on it is."""

        def formula(*arrays: Array) -> Array:
            given: dict[str, Any] = dict(zip(self.inputs, arrays, strict=True))
            if "t" in given:
                given["t"] = given["t"][..., 0]
            return function(self.model, Instant(**given))

        return formula

    def run_muscles(
        self, quantity: str, formula: Callable[..., Any], axes: int, out: np.ndarray | None, backend: str
    ) -> Array:
        """`run` for a formula that depends on the muscles too. TypeError for symbols and a path without expression."""
        q = self.inputs["q"].array if "q" in self.inputs else None
        if is_symbolic(q):
            in_casadi = is_imported("casadi") and any(isinstance(x, (casadi.SX, casadi.MX)) for x in np.asarray(q).flat)
            for muscle in self.model.muscles:
                _check_closed_form(muscle, in_casadi)
                if "activation" in self.inputs and not in_casadi and muscle.law and not muscle.law.closed_form:
                    raise TypeError(
                        f"muscle {muscle.name!r}: the curves of its law {muscle.law.kind!r} are found by an iteration, "
                        "which takes numbers and CasADi symbols, not SymPy's"
                    )
        return self.run(quantity, formula, axes, variant=self.model.content_key, out=out, backend=backend)


def _check_closed_form(muscle: Muscle, in_casadi: bool) -> None:
    """TypeError where the length of a path has no closed form, or, for SymPy, one with too many nested cases."""
    for acting in muscle.path.acting:
        solved = next((wrap.kind for wrap in acting if wrap.solved), None)
        if solved is not None or len(acting) > 1:
            what = "several surfaces" if solved is None else f"a surface of type {solved!r}"
            raise TypeError(
                f"muscle {muscle.name!r}: an iterative solver finds its path around {what}. It takes numbers only, "
                "not SymPy or CasADi symbols or those of kernels.compile. On numbers, path_lengths and path_jacobian "
                "run in kernels of their own"
            )
        if acting and not in_casadi:
            raise TypeError(
                f"muscle {muscle.name!r}: whether its path touches a {acting[0].kind} depends on the pose, in cases "
                "that nest too deep for SymPy. Numbers and CasADi symbols are accepted"
            )


# ---- Which component of each quaternion is eliminated in constrained Jacobians --------------------------------------


def eliminated_components(system: ArticulatedSystem, q: Array, eliminated: ArrayLike | str) -> Array:
    """(..., balls) index of the eliminated component of each quaternion; ValueError if it is zero at a pose."""
    if isinstance(eliminated, str) and eliminated != "largest":
        raise ValueError(f"eliminated is 0, 1, 2, 3, 'largest' or an array of these, not {eliminated!r}")
    Q = quaternions(system, q)
    if isinstance(eliminated, str):
        if is_symbolic(q):
            raise TypeError("eliminated='largest' depends on the values of q: with symbols give 0, 1, 2 or 3")
        return np.argmax(np.abs(Q), axis=-1)
    check_unmasked("eliminated", eliminated)
    index = np.asarray(eliminated)
    if index.dtype.kind not in "iu" or np.any((index < 0) | (index > 3)):
        raise ValueError(f"eliminated is 0, 1, 2, 3, 'largest' or an array of these, not {eliminated!r}")
    index = np.broadcast_to(index, Q.shape[:-1])
    if is_symbolic(q):
        return index
    vanishing = np.take_along_axis(Q, index[..., None], axis=-1)[..., 0] == 0
    if np.any(vanishing):
        where = [int(i) for i in np.argwhere(vanishing)[0]]
        raise ValueError(
            f"eliminated component Q{index[tuple(where)]} of ball joint {where[-1]} is zero at pose {where[:-1]}: "
            "the constrained chart does not exist there; use eliminated='largest'"
        )
    return index


def quaternions(system: ArticulatedSystem, q: Array) -> Array:
    """(..., balls, 4) the quaternions in q (..., nq)."""
    slices = system.quaternion_slices()
    return np.stack([q[..., s] for s in slices], axis=-2) if slices else np.zeros((*q.shape[:-1], 0, 4))
