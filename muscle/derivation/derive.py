"""Symbolic derivation of a model's lengths, Jacobians and torques."""

import shlex
from dataclasses import replace
from typing import Any

import numpy as np
import sympy

from myoquat.core import frozen, identifiers, printable
from myoquat.joints import ModelError, constrained_to_spatial, quaternion_to_spatial, rotation_matrix
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.model import Model
from myoquat.muscle.segments.lengths import coordinate_jacobian, lengths

JACOBIANS = ("sequence", "quaternion", "constrained")
SYMBOLS = {"sequence": "J_phi", "quaternion": "J_Q", "constrained": "J_star"}


@frozen
class Derivation:
    """What was derived: inputs and outputs by name, and the common subexpressions that the outputs share.

    inputs       q (nq,); with forces activation (m,), and max_isometric_force (m,) if the model leaves strengths open
    outputs      l (m,) [m], the Jacobian (m, n), F (m,) [N], tau [N m]
    expressions  the outputs as they are, in the inputs alone

    For "sequence" tau are generalized forces on the Euler angles, else child-frame torques, three per ball joint.
    """

    model: Model
    jacobian: str
    eliminated: int
    inputs: dict[str, tuple[sympy.Symbol, ...]]
    common: tuple[tuple[sympy.Symbol, sympy.Expr], ...]
    outputs: dict[str, np.ndarray]
    expressions: dict[str, np.ndarray]


def derive(model: Model, jacobian: str, eliminated: int = 0, forces: bool = True) -> Derivation:
    """Derive the model's muscle functions with SymPy.

    jacobian    "sequence" (J_phi), "quaternion" (J_Q) or "constrained" (J*_Q). The model's ball joints are converted to
                the description that this needs
    eliminated  the component of every quaternion that "constrained" drops; its sign is that of the input
    forces      if False, only l and the Jacobian are derived, from q alone, and muscles need no force law

    Raises ValueError for another word or component. Raises ModelError with the muscle's name for paths around surfaces,
    and for muscles whose force is no formula of q and activation. These have no force law, or states such as the fiber
    length of an elastic tendon.

    >>> import myoquat as mq
    >>> from myoquat.muscle.derivation import derive
    >>> upper = mq.Body("upper", "ground", mq.joints.SphericalJoint())
    >>> path = (mq.muscle.PathPoint("ground", (0, 0, 4)), mq.muscle.PathPoint("upper", (0, 0, 3)))
    >>> arm = mq.Model(mq.ArticulatedSystem((upper,)), (mq.Muscle("deltoid", path),))
    >>> d = derive(arm, "quaternion", forces=False)
    >>> sorted(map(str, d.expressions["l"][0].free_symbols))
    ['q_upper_Q0', 'q_upper_Q1', 'q_upper_Q2', 'q_upper_Q3']
    """
    if jacobian not in JACOBIANS:
        raise ValueError(f"jacobian is one of {', '.join(JACOBIANS)}, not {jacobian!r}")
    if eliminated not in (0, 1, 2, 3):
        raise ValueError(f"eliminated is 0, 1, 2 or 3, not {eliminated!r}")
    _check(model, forces)
    model = model.with_rotations("sequence" if jacobian == "sequence" else "quaternion")
    # the symbols are named after the coordinates and muscles as far as identifiers can be
    names = {"q": ("q", model.system.coordinate_names)}
    if forces:
        names["activation"] = ("a", model.muscle_names)
    if forces and any(muscle.law is not None and muscle.law.open_parameters() for muscle in model.muscles):
        names["max_isometric_force"] = ("Fmax", model.muscle_names)
    taken = {"activation", "max_isometric_force", "l", "F", "tau", *names, *SYMBOLS.values()}
    inputs = {}
    for key, (prefix, of) in names.items():
        words = identifiers(of, prefix, taken)
        taken.update(words)
        inputs[key] = tuple(sympy.Symbol(word, real=True) for word in words)
    q = as_array(inputs["q"])
    l = lengths(model.system, model.paths, q)
    balls = len(model.system.quaternion_slices())
    dropped = np.full(balls, float(eliminated)) if jacobian == "constrained" else None
    J = coordinate_jacobian(model.system, model.paths, q, dropped)
    outputs = {"l": l, SYMBOLS[jacobian]: J}
    if forces:
        columns, a = [], as_array(inputs["activation"])
        for i, muscle in enumerate(model.muscles):
            law: Any = muscle.law
            if law.open_parameters():
                law = replace(law, max_isometric_force=as_array(inputs["max_isometric_force"][i]))
            columns.append(law.force(l[i], 0.0, a[i]))
        F = np.stack(columns)
        outputs |= {"F": F, "tau": -(F @ _torque_rows(model, jacobian, J, q, eliminated))}
    flat = [sympy.sympify(e) for a in outputs.values() for e in np.asarray(a).flat]
    common, reduced = sympy.cse(flat, symbols=sympy.numbered_symbols("t", real=True), order="none")
    short, whole = _reshaped(outputs, reduced), _reshaped(outputs, flat)
    return Derivation(model, jacobian, eliminated, inputs, tuple(common), short, whole)


def _check(model: Model, forces: bool) -> None:
    """ModelError for what has no closed form."""
    for muscle in model.muscles:
        problem = None
        if muscle.path.wraps:
            problem = "its path runs around a surface, so its length is no closed form that SymPy could derive"
        elif forces and muscle.law is None:
            problem = "no force law is given; forces=False (--no-forces) derives lengths and the Jacobian alone"
        elif forces and muscle.law is not None and muscle.law.states:
            problem = (
                f"its force depends on its {muscle.law.states[0].replace('_', ' ')}, which a solver finds; take a "
                "rigid tendon, or forces=False (--no-forces) for lengths and the Jacobian alone"
            )
        elif forces and muscle.law is not None and not muscle.law.closed_form:
            problem = (
                f"the curves of its law {muscle.law.kind!r} are found by an iteration, which SymPy cannot write; "
                "forces=False (--no-forces) derives lengths and the Jacobian alone"
            )
        if problem is not None:
            raise ModelError(problem, element=f"muscle {muscle.name!r}", file=model.file)


def _torque_rows(model: Model, jacobian: str, J: Any, q: Any, eliminated: int) -> Any:
    """(m, nu) rows whose product with -F is the torque: J_phi itself, or each joint's row mapped to J."""
    blocks, column = [], 0
    for body, s in zip(model.system.bodies, model.system.q_slices, strict=True):
        turns = body.joint.facts.quaternion is not None
        width = body.joint.nq - (turns and jacobian == "constrained")
        block = J[:, column : column + width]
        column += width
        if turns:  # rows on the child-frame velocity, from those on the coordinates
            slides, turned, Q = block[:, : body.joint.nq - 4], block[:, body.joint.nq - 4 :], q[s][-4:]
            constrained = jacobian == "constrained"
            block = constrained_to_spatial(turned, Q, eliminated) if constrained else quaternion_to_spatial(turned, Q)
            if body.joint.nq > 4:
                block = np.concatenate([slides @ rotation_matrix(Q), block], axis=-1)
        blocks.append(block)
    return np.concatenate(blocks, axis=-1)


def _reshaped(outputs: dict[str, Any], flat: list[sympy.Expr]) -> dict[str, np.ndarray]:
    ends = np.cumsum([array.size for array in outputs.values()])
    parts = np.split(np.array(flat, dtype=object), ends[:-1])
    return {name: part.reshape(array.shape) for (name, array), part in zip(outputs.items(), parts, strict=True)}


# ---- The words that every function file begins with -----------------------------------------------------------------


_JACOBIAN = {
    "sequence": "J_phi = dl/dphi, {m} x {n}, phi = the Euler angles q [m]",
    "quaternion": "J_Q = dl/dQ, {m} x {n}, Q scalar first, R(Q) the polynomial form [m]",
    "constrained": "J_star = dl/dQ*, {m} x {n}, component Q{k} of every quaternion eliminated [m]",
}
_TORQUE = {
    "sequence": "tau = -J_phi^T F: generalized forces on the Euler angles [N m]",
    "quaternion": "tau = -G J_Q^T F / 2: torques in child frames, three per ball joint [N m]",
    "constrained": "tau = -E^-T J_star^T F: torques in child frames, three per ball joint [N m]",
}


def description(d: Derivation) -> list[str]:
    """What the function takes and gives, line by line; names break no line, and each language escapes the rest."""
    m = len(d.model.muscles)
    n = next(a.shape[1] for a in d.outputs.values() if a.ndim == 2)
    what = "lengths, Jacobian, forces and torques" if "F" in d.outputs else "lengths and Jacobian"
    lines = [
        f"Muscle {what} of the model {d.model.name}.",
        f"Generated by: myoquat derive {shlex.quote(d.model.name)} --jacobian {d.jacobian}",
        f"q: {', '.join(d.model.system.coordinate_names)}",
        f"muscles: {', '.join(d.model.muscle_names)}",
    ]
    if "activation" in d.inputs:
        lines.append("activation: one per muscle, in [0, 1]")
    if "max_isometric_force" in d.inputs:
        lines.append("max_isometric_force: one per muscle [N]")
    lines += [
        f"l: path lengths, {m} [m]",
        _JACOBIAN[d.jacobian].format(m=m, n=n, k=d.eliminated),
    ]
    if "F" in d.outputs:
        lines += [f"F: tensions, {m}, positive when they pull [N]", _TORQUE[d.jacobian]]
    return [printable(line) for line in lines]
