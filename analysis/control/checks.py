"""Checks before a solver starts: arguments, ends, periodicity, and the guess."""

import math
from collections.abc import Mapping

import numpy as np

from myoquat.core import Array
from myoquat.data.motions import Motion
from myoquat.muscle import Model
from myoquat.muscle.constraints.path_length import solved_surface

from .conditions import Periodic, periodic_pairs
from .discretization import Discretization, Sites, Statement
from .plants import ModelPlant, Plant
from .plants.base import Bound
from .quantities import Ends, Quantities

MAX_INTERVALS = 100_000  # of a problem; its program has some hundred numbers for each
GUESS_TOLERANCE = 1e-6  # by which a guess may violate its bounds


def check_scales(torques: Mapping[str, float]) -> None:
    """ValueError for a scale of a torque that is zero or not finite."""
    for name, scale in torques.items():
        if not math.isfinite(scale) or scale == 0:
            raise ValueError(f"torques: the scale of {name!r} must be finite and not 0, not {scale}")


def check_inside(where: str, name: str, bound: Bound, path: Bound | None) -> None:
    """ValueError for bounds at an end that lie outside those of the whole motion."""
    if path is not None and (bound.lower > path.upper or bound.upper < path.lower):
        raise ValueError(
            f"{where}: {name!r} is {bound.lower:g} to {bound.upper:g}, outside its bounds {path.lower:g} to "
            f"{path.upper:g}"
        )


def check_periodic_ends(periodic: Periodic, quantities: Quantities, first: Ends, last: Ends) -> None:
    """ValueError for a quantity whose bounds at the start and at the end exclude a periodic motion."""
    unknowns = quantities.unknowns
    for end, start in periodic_pairs(periodic, quantities).items():
        a, b = (ends.bounds.get(unknowns[name]) if name in unknowns else None
                for ends, name in ((first, start), (last, end)))  # fmt: skip
        if a is not None and b is not None and (a.lower > b.upper or b.lower > a.upper):
            raise ValueError(
                f"periodic: {end!r} ends at {b.lower:g} to {b.upper:g}, but {start!r} starts at "
                f"{a.lower:g} to {a.upper:g}; name it in Periodic(free=...), or leave one end open"
            )


def check_guessed_motion(plant: Plant, motion: Motion) -> None:
    """ValueError for a guess that is a motion of another system, or of bodies where the problem has none."""
    if plant.system is None:
        raise ValueError("guess: equations of one's own have no bodies, so that a Motion is no guess; give names")
    motion.check_system(plant.system)


def check_same_unknowns(plant: Plant, other: Plant) -> None:
    """ValueError, with the first name that differs, for a guess that is the solution of a problem of other unknowns."""
    for what in ("velocity", "state", "control"):
        own, theirs = (getattr(p, f"{what}_names") for p in (plant, other))
        different = [name for name in (*own, *theirs) if (name in own) != (name in theirs)]
        if own != theirs:
            named = f", such as {different[0]!r}" if different else " in another order"
            raise ValueError(f"guess: the solution has other {what} names than the problem{named}")


def check_guessed_duration(statement: Statement, sites: Sites) -> None:
    """ValueError for a guess of a duration that is given otherwise."""
    given = statement.duration[0]
    if statement.fixed and not abs(sites.duration - given) <= GUESS_TOLERANCE * given:
        raise ValueError(f"guess: the duration is {sites.duration:g} s, but the problem fixes it at {given:g} s")


def check_guess(discretization: Discretization, x: Array, bounds: Array) -> None:
    """ValueError for a guess that is not finite or out of its bounds, with name, time and numbers."""
    wrong = ~np.isfinite(x) | (x < bounds[:, 0] - GUESS_TOLERANCE) | (x > bounds[:, 1] + GUESS_TOLERANCE)
    inner = wrong & (bounds[:, 0] < bounds[:, 1])
    if inner.any():
        place = int(np.argmax(inner))
        names, fractions = discretization.labels
        at = f" at {fractions[place]:.3g} of the duration" if np.isfinite(fractions[place]) else ""
        low, high = bounds[place]
        raise ValueError(f"guess: {names[place]} is {x[place]:g}{at}; its bounds are {low:g} to {high:g}")


def check_finite(discretization: Discretization, x: Array) -> None:
    """ValueError where a goal, an equation or a constraint is not finite at the guess."""
    program, statement = discretization.program, discretization.statement
    with np.errstate(all="ignore"):
        values = program.values(x)
    for block, found in zip(program.blocks, values, strict=True):
        for output, names in (("terms", statement.term_names(block.formula.name)), ("rows", block.row_names)):
            wrong = ~np.isfinite(found[output]) if output in found else np.zeros((0, 0), dtype=bool)
            if wrong.any():
                k, i = map(int, np.argwhere(wrong)[0])
                fraction, at = float(block.times[k, i if output == "rows" else 0]), ""
                if np.isfinite(fraction):
                    node, interval = (
                        np.abs(statement.mesh - fraction) < 1e-12,
                        np.searchsorted(statement.mesh, fraction),
                    )
                    place = f"node {int(np.argmax(node))}" if node.any() else f"interval {int(interval)}"
                    at = f" at {fraction:.3g} of the duration ({place})"
                what = f"the goal {names[i]!r}" if output == "terms" else names[i]
                raise ValueError(f"at the guess, {what} is {found[output][k, i]}{at}; give a guess within its domain")


def check_third_derivatives(plant: Plant) -> None:
    """ValueError for a muscle of a moving model whose moment arms have no second derivatives, which the exact Hessian
    needs."""
    for muscle in plant.model.muscles if isinstance(plant, ModelPlant) and isinstance(plant.model, Model) else ():
        if (surface := solved_surface(muscle.path)) is not None:
            raise ValueError(
                f"muscle {muscle.name!r}: a solver finds its path around {surface}. Its moment arms have first "
                'derivatives, which Ipopt(hessian="limited-memory") takes. Exact Hessians need second ones, which '
                "fitted paths have: model.with_fitted_paths(fit_paths(model, poses)) replaces the path"
            )


START_TOLERANCE = 1e-6  # [m, rad, m/s, rad/s] by which a fixed start may miss the constraints
INDEPENDENT_PART = 1e-8  # of a row, relative to its norm, that no row before it has


def independent_limits(discretization: Discretization, x: Array, bounds: Array, limits: Array) -> Array:
    """The limits (m, 2) of the constraints, with rows of the start relaxed where they repeat others.

    A fixed start satisfies the constraints by itself. A start that equals the end of the motion satisfies them by the
    rows of the end. Rows that repeat others would make the multipliers undetermined. Raises ValueError, with the name
    of the constraint, where the start is fixed off it by more than 1e-6.
    """
    rows, free = discretization.start_rows, bounds[:, 0] < bounds[:, 1]
    if not len(rows):
        return limits
    plant, index = discretization.statement.plant, discretization.index
    assert plant.constraints is not None
    # rows that may imply those of the start: constraints of the model at the end, and of the boundary
    fractions = np.array(discretization.rows.fractions)
    of_end = np.isin(discretization.rows.names, plant.state_row_names)
    of_end[rows] = False
    last = of_end & (fractions == np.max(fractions[of_end], initial=0.0))
    others = np.flatnonzero(last | np.isnan(fractions))
    J = discretization.program.jacobian_matrix(x)[np.concatenate([others, rows])].toarray()
    locked = list(plant.constraints.locks.values())
    for first, end in (index[f][[0, -1]][:, locked] for f in ("z", "u")):  # constant along the motion
        J[:, first] += J[:, end]
        J[:, end] = 0.0
    # the free unknowns of pose and velocity at both ends
    ends = np.unique(np.concatenate([index[f][[0, -1]].ravel() for f in ("z", "u")]))
    ends = ends[free[ends]]
    own = J[len(others) :]
    _, size, directions = np.linalg.svd(J[: len(others), ends], full_matrices=False)
    known = directions[size > INDEPENDENT_PART * max(1.0, float(size.max(initial=0.0)))]
    repeated = np.zeros(len(own), dtype=bool)
    for k, row in enumerate(own[:, ends]):
        left = row - known.T @ (known @ row)
        left -= known.T @ (known @ left)
        repeated[k] = np.linalg.norm(left) <= INDEPENDENT_PART * max(float(np.linalg.norm(row)), 1.0)
        if not repeated[k]:
            known = np.vstack([known, left / np.linalg.norm(left)])
    fixed = rows[repeated & np.all(own[:, free] == 0, axis=1)]
    missed = np.abs(discretization.program.constraints(x)[fixed])
    if len(missed) and not missed.max() <= START_TOLERANCE:
        k = int(np.argmax(missed))
        raise ValueError(
            f"initial: the start misses the {discretization.rows.names[fixed[k]]} by {missed[k]:.3g}; "
            "dynamics.constraints.assemble moves a pose onto the constraints"
        )
    relaxed = limits.copy()
    relaxed[rows[repeated]] = -np.inf, np.inf
    return relaxed
