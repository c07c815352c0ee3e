"""Derivations as LaTeX."""

from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import sympy

from myoquat.joints import rotation_matrix
from myoquat.kernels.symbolic.arrays import as_array
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.points import ConditionalPoint, DrivenPoint

from .derive import Derivation, description

# ---- Text as LaTeX sets it ------------------------------------------------------------------------------------------
# Text as LaTeX sets it: nothing in a name is a command, mathematics or a comment.


_SPECIAL = {
    **{c: "\\" + c for c in "_%&#${}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def escaped(text: str) -> str:
    """The text as LaTeX sets it literally."""
    return "".join(_SPECIAL.get(c, c) for c in text)


def subscript(text: str) -> str:
    """A name as an upright subscript in mathematics."""
    return rf"\mathrm{{{escaped(text)}}}"


def document(title: str, lines: list[str]) -> str:
    """A whole document of these lines."""
    head = r"\documentclass{article}" + "\n" + r"\usepackage{amsmath}" + "\n"
    return f"{head}\\title{{{escaped(title)}}}\n\\begin{{document}}\n" + "\n".join(lines) + "\n\\end{document}\n"


# ---- LaTeX documents of every entry, with the common subexpressions that the entries share --------------------------


_LETTERS = {"l": r"\ell", "J_phi": r"J_{\varphi}", "J_Q": "J_{Q}", "J_star": "J^{*}_{Q}", "F": "F", "tau": r"\tau"}


def latex_entries_source(d: Derivation, name: str) -> str:
    """A document with the common subexpressions and every entry of l, J, F and tau, one equation each."""
    lines = [rf"\noindent {escaped(line)}\\" for line in description(d)]
    lines.append(r"\section*{Common subexpressions}")
    lines += [_entry(sympy.latex(symbol), expression) for symbol, expression in d.common]
    for key, array in d.outputs.items():
        lines.append(rf"\section*{{${_LETTERS[key]}$}}")
        for i, expression in enumerate(array.flat):
            place = str(i + 1) if array.ndim == 1 else f"{i // array.shape[1] + 1},{i % array.shape[1] + 1}"
            lines.append(_entry(f"({_LETTERS[key]})_{{{place}}}", expression))
    return document(name, lines)


def _entry(left: str, expression: sympy.Expr) -> str:
    return rf"\[ {left} = {sympy.latex(expression)} \]"


# ---- LaTeX documents ------------------------------------------------------------------------------------------------
# LaTeX documents: a derivation as a person writes it, with names for points, frames and rotations.


Q = sympy.symbols("Q_0:4", real=True)
S = sympy.symbols("s_1:4", real=True)
SIGNIFICANT_DIGITS = 6  # of numbers that stand in a formula
IDENTITY = (1.0, 0.0, 0.0, 0.0)
POINTS = (
    r"x_{m,i} = p_b + R_b\, r_{m,i} \quad \text{for point } i \text{ of muscle } m \text{ on body } b",
    r"e_{m,i} = \frac{x_{m,i+1} - x_{m,i}}{|x_{m,i+1} - x_{m,i}|}",
)
TORQUES = {
    "sequence": r"\tau = -J_\varphi^T F",
    "quaternion": r"\tau_b = -\tfrac12\, G(Q_b)\, J_{Q_b}^T F",
    "constrained": r"\tau_b = -E(Q_b)^{-T} (J^*_{Q_b})^T F",
}


def latex_source(d: Derivation, name: str) -> str:
    """The LaTeX document of a derivation.

    It has R(Q), a line of every joint, and the length, force and row of the Jacobian of every muscle. A table has the
    numbers that the names stand for.
    """
    lines = [rf"\noindent {escaped(line)}\\" for line in description(d)]
    lines += [r"\section*{Rotations}", *_rotations(d), r"\section*{Frames}"]
    lines += [_equation(line) for body in _moved(d) for line in _frame(d, body)]
    lines += [r"\section*{Points and directions}", *map(_equation, POINTS)]
    lines.append(r"\section*{Lengths}")
    for muscle in d.model.muscles:
        m = subscript(muscle.name)
        pieces = (f"|x_{{{m},{i + 1}}} - x_{{{m},{i}}}|" for i in range(1, len(muscle.path.points)))
        lines.append(_equation(rf"\ell_{{{m}}} = {' + '.join(pieces)}"))
    lines += [r"\section*{Jacobian}", *(_equation(_row(d, muscle)) for muscle in d.model.muscles)]
    if "F" in d.outputs:
        lines += [r"\section*{Forces and torques}", *(_equation(_force(d, i)) for i in range(len(d.model.muscles)))]
        lines.append(_equation(TORQUES[d.jacobian]))
    return document(name, [*lines, r"\section*{Numbers}", *_numbers(d)])


def _equation(text: str) -> str:
    return rf"\[ {text} \]"


def _moved(d: Derivation) -> list[Any]:
    """The bodies that muscles hang on and all that carry these, in their order."""
    system = d.model.system
    ends = {point.body for muscle in d.model.muscles for point in muscle.path.points}
    names = {name for end in ends for name in system.chain_to_ground(end)}
    return [body for body in system.bodies if body.name in names]


# ---- rotations and frames ----------------------------------------------------------------------------------


def _rotations(d: Derivation) -> list[str]:
    """R(Q) and its derivative, or the rotations of an Euler sequence."""
    if d.jacobian == "sequence":
        axes = r"R_X, R_Y, R_Z \text{ turn about the axes of their frame}"
        turned = r"D(\varphi, s) = \frac{\partial}{\partial \varphi} R(\varphi) s"
        return [_equation(axes), _equation(turned)]
    R = sympy.Matrix(rotation_matrix(as_array(Q)).tolist()).applyfunc(sympy.factor)
    D = (R * sympy.Matrix(S)).jacobian(sympy.Matrix(Q)).applyfunc(sympy.expand)
    lines = [f"R(Q) = {sympy.latex(R)}", rf"D(Q, s) = \frac{{\partial}}{{\partial Q}} R(Q) s = {sympy.latex(D)}"]
    if d.jacobian == "constrained":
        k = d.eliminated
        lines.append(rf"Q_{k} = \pm\sqrt{{1 - \textstyle\sum_{{i \neq {k}}} Q_i^2}}")
        lines.append(rf"D^*(Q, s)_i = D(Q, s)_i - \frac{{Q_i}}{{Q_{k}}} D(Q, s)_{k}, \quad i \neq {k}")
    return [_equation(line) for line in lines]


def _frame(d: Derivation, body: Any) -> list[str]:
    """R_b and p_b from those of the parent; the ground is the frame of everything."""
    b = subscript(body.name)
    ground = body.parent == d.model.system.ground
    parent = "" if ground else rf"R_{{{subscript(body.parent)}}} "
    mounted = parent + ("" if body.orientation == IDENTITY else rf"R(Q^0_{{{b}}}) ")
    turn, slide = _turn(d, body)
    position = ("" if ground else rf"p_{{{subscript(body.parent)}}} + {parent}") + rf"d_{{{b}}}"
    position += f" + {mounted}{slide}" if slide else ""
    return [rf"R_{{{b}}} = {(mounted + turn).strip() or 'I'}, \quad p_{{{b}}} = {position}"]


def _turn(d: Derivation, body: Any) -> tuple[str, str]:
    """The joint's own rotation and translation."""
    b, joint, system = subscript(body.name), body.joint, d.model.system
    if joint.is_weld:
        return "", ""
    if joint.facts.quaternion is not None:
        return rf"R(Q_{{{b}}})", rf"x_{{{b}}}" if joint.nq == 7 else ""
    if joint.by_sequence:
        turns = [rf"R_{axis}(\varphi_{{{b},{k + 1}}})" for k, axis in enumerate(joint.sequence)]
        return r"\, ".join(turns), ""
    s = system.q_slices[system.body_names.index(body.name)]
    q = [sympy.Symbol(rf"q_{{{subscript(name)}}}", real=True) for name in body.names_of_coordinates[: s.stop - s.start]]
    R, p = joint.transform(as_array(q))
    R, p = (sympy.Matrix(np.asarray(x, dtype=object).tolist()).applyfunc(sympy.nsimplify) for x in (R, p))
    return "" if sympy.eye(3) == R else sympy.latex(R), "" if p == sympy.zeros(3, 1) else sympy.latex(p)


# ---- muscles -----------------------------------------------------------------------------------------------


def _row(d: Derivation, muscle: Any) -> str:
    """The row of a muscle, joint by joint: the segments whose ends move with the joint differently."""
    m, parts = subscript(muscle.name), []
    chains = [d.model.system.chain_to_ground(point.body) for point in muscle.path.points]
    for body in _moved(d):
        on = [body.name in chain for chain in chains]
        if body.joint.nq and any(a != b for a, b in pairwise(on)):
            # x_i moves by R_f D(q, s), s = R_b^T (x_i - p_b) in the body's frame, f the joint frame
            b, D = subscript(body.name), "D"
            ball, by_sequence = body.joint.facts.quaternion is not None, body.joint.by_sequence
            shown = symbol = rf"Q_{{{b}}}" if ball else rf"\varphi_{{{b}}}" if by_sequence else rf"q_{{{b}}}"
            if ball and d.jacobian == "constrained":
                D, shown = "D^*", rf"Q^*_{{{b}}}"
            moved = rf"\frac{{\partial x_{{{m},%d}}}}{{\partial {symbol}}}"
            if ball or by_sequence:
                moved = rf"R_{{f,{b}}} {D}({symbol}, R_{{{b}}}^T (x_{{{m},%d}} - p_{{{b}}}))"
            parts.append((shown, _sum(m, on, moved)))
            if body.joint.nq == 7:
                # the translation x of a floating joint, along the axes of its frame
                parts.append((rf"x_{{{b}}}", _sum(m, on, rf"R_{{f,{b}}}")))
    gradient = r"\frac{\partial \ell_{%s}}{\partial %s}"
    return r", \quad ".join(gradient % (m, q) + f" = {sum_}" for q, sum_ in parts) or rf"(J)_{{{m}}} = 0"


def _sum(m: str, on: list[bool], moved: str) -> str:
    """Of the segments with one end on the body; `moved` is how that end, its number in place of %d, moves."""
    terms = []
    for i, (first, second) in enumerate(pairwise(on), start=1):
        if first != second:
            end = moved.replace("%d", str(i + 1 if second else i))
            terms.append(rf"{'' if second else '-'}e_{{{m},{i}}}^T {end}")
    return " + ".join(terms).replace("+ -", "- ")


def _force(d: Derivation, i: int) -> str:
    """The force of a muscle; a law with named numbers keeps their names."""
    muscle = d.model.muscles[i]
    m, law = subscript(muscle.name), _with_symbols(muscle.law, subscript(muscle.name))
    l, a = (sympy.Symbol(rf"{letter}_{{{m}}}", real=True) for letter in (r"\ell", "a"))
    F = law.force(as_array(l), 0.0, as_array(a))
    return rf"F_{{{m}}} = {sympy.latex(sympy.sympify(np.asarray(F, dtype=object).item()).evalf(SIGNIFICANT_DIGITS))}"


def _with_symbols(law: Any, m: str) -> Any:
    """The law with a symbol for each of its numbers; Hill's curves stand with theirs."""
    if isinstance(law, HillLaw):
        return law
    letters = {"max_isometric_force": "F^{max}", "optimal_length": r"\ell^0", "resting_length": r"\ell^0"}
    numbers = [f.name for f in fields(law) if getattr(law, f.name) is None or isinstance(getattr(law, f.name), float)]
    symbols = {n: as_array(sympy.Symbol(rf"{letters.get(n, subscript(n))}_{{{m}}}", positive=True)) for n in numbers}
    return replace(law, **symbols)


# ---- numbers -----------------------------------------------------------------------------------------------


def _numbers(d: Derivation) -> list[str]:
    lines = [r"Points $r_{m,i}$ [m] in the frames of their bodies:\\"]
    for muscle in d.model.muscles:
        for i, point in enumerate(muscle.path.points, start=1):
            note = ""
            if isinstance(point, ConditionalPoint):
                low, high = point.range
                note = f", on the path while {point.coordinate} lies in [{low:.6g}, {high:.6g}]"
            elif isinstance(point, DrivenPoint):
                names = ", ".join(dict.fromkeys(point.driving(d.model.system)))
                note = f", moving with {names}, whose derivatives gain its own motion's part"
            place = rf"$r_{{{subscript(muscle.name)},{i}}} = {_tuple(point.position)}$"
            lines.append(rf"{place} on {escaped(point.body)}{escaped(note)}\\")
    lines.append(r"Joints [m]:\\")
    for body in _moved(d):
        b = subscript(body.name)
        turned = "" if body.orientation == IDENTITY else rf",\ Q^0_{{{b}}} = {_tuple(body.orientation)}"
        frame = "" if body.parent == d.model.system.ground else rf"R_{{{subscript(body.parent)}}} "
        mounted = (frame + ("" if body.orientation == IDENTITY else rf"R(Q^0_{{{b}}})")).strip() or "I"
        lines.append(rf"$d_{{{b}}} = {_tuple(body.position)}{turned},\ R_{{f,{b}}} = {mounted}$\\")
    for muscle in d.model.muscles:
        if "F" in d.outputs and muscle.law is not None and not isinstance(muscle.law, HillLaw):
            law: Any = muscle.law
            values = ((f.name, getattr(law, f.name)) for f in fields(law))
            given = ", ".join(f"{n} = {x:.6g}" for n, x in values if isinstance(x, float))
            lines.append(rf"{escaped(muscle.name)}: {escaped(given)}\\")
    return lines


def _tuple(values: Any) -> str:
    return "(" + ", ".join(f"{x:.6g}" for x in values) + ")"
