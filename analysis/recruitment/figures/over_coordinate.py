"""Moment arms, lengths and forces of muscles over a coordinate, as OpenSim's application plots them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from myoquat.analysis.recruitment.moment_arms import moment_arms
from myoquat.core.arguments import check_types, real_array
from myoquat.core.typing import Array, ArrayLike
from myoquat.joints.labels import figure_label
from myoquat.joints.panels import MIN_RANGE, Panel, draw_panels
from myoquat.muscle import Model, path_lengths
from myoquat.muscle.tensions_at_rest import tensions_at_rest

__all__ = ["plot_lengths", "plot_moment_arms", "plot_tensions"]

CURVE_POINTS = 181  # of every curve
INNER_POINTS = 8  # between two neighbours, to distinguish a jump from a steep slope
STEEP_CHANGE = 0.04  # of a curve's range: smaller changes between neighbours are no jumps
JUMP_SHARE = 0.6  # of a change between neighbours: a jump has this between two inner points
DEGREE = np.pi / 180
Curves = Callable[[Array], Array]  # from poses (k, nq) to (k, m)


def plot_moment_arms(
    model: Model,
    muscles: Sequence[str] | None = None,
    *,
    over: str,
    arm: str | None = None,
    values: ArrayLike | None = None,
    q: ArrayLike | None = None,
) -> Figure:
    """A Figure of the moment arms of muscles over a coordinate; several lines for more than eight of them.

    muscles   names, all if nothing is said.
    over      the coordinate, or an angle of the file that a quaternion has replaced; couplers follow it.
    arm       the column of `moment_arms` that is drawn, `over` itself if nothing is said.
    values    (k,) of the coordinate [rad, m]; its range in the model if nothing is said, else half a turn or 0.5 m to
              either side.
    q         (nq,) the other coordinates, the model's start if nothing is said.

    Angles are drawn in degrees, arms in millimetres. A curve has a gap at a jump, for example where a path slips off a
    surface or an angle is at a gimbal lock. Steep changes between neighbours are evaluated at eight more points; a
    change is a jump if more than 0.6 of it is between two of them. Raises ValueError for unknown names.

    >>> import myoquat as mq
    >>> from myoquat.analysis import plot_moment_arms
    >>> arm = mq.load_model("two_link", rotations="sequence")
    >>> figure = plot_moment_arms(arm, ["m1", "m2"], over="A.p2", values=[0.2, 0.5, 0.8])
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('A.p2 [deg]', '[mm]')
    """
    chosen, base = _checked(model, muscles, over, q)
    column = over if arm is None else arm

    def arms(poses: Array) -> Array:
        found: Array = moment_arms(model, poses, [column])[column].to_numpy()
        return np.asarray(1e3 * found.reshape(len(poses), -1)[:, chosen])

    return _figure(base, chosen, (over, values), arms, (f"moment arms, {column}", "mm"))


def plot_lengths(
    model: Model, muscles: Sequence[str] | None = None, *, over: str, values: ArrayLike | None = None,
    q: ArrayLike | None = None,
) -> Figure:  # fmt: skip
    """A Figure of path lengths [m] over a coordinate; arguments as for `plot_moment_arms`.

    >>> import myoquat as mq
    >>> from myoquat.analysis import plot_lengths
    >>> arm = mq.load_model("two_link", rotations="sequence")
    >>> len(plot_lengths(arm, over="A.p2", values=[0.2, 0.5, 0.8]).axes[0].lines)
    6
    """
    chosen, base = _checked(model, muscles, over, q)
    return _figure(base, chosen, (over, values), lambda x: path_lengths(model, x)[:, chosen], ("path lengths", "m"))


def plot_tensions(
    model: Model, muscles: Sequence[str] | None = None, *, over: str, activation: float = 1.0,
    values: ArrayLike | None = None, q: ArrayLike | None = None,
) -> Figure:  # fmt: skip
    """A Figure of tensions [N] at rest over a coordinate, all muscles at one activation, elastic tendons in
    equilibrium; arguments as for `plot_moment_arms`.

    >>> import myoquat as mq
    >>> from myoquat.analysis import plot_tensions
    >>> arm = mq.load_model("two_link", rotations="sequence")
    >>> plot_tensions(arm, ["m1"], over="A.p2", values=[0.2, 0.5, 0.8]).axes[0].get_ylabel()
    '[N]'
    """
    chosen, base = _checked(model, muscles, over, q)
    level = np.full(len(model.muscles), float(activation))

    def tensions(poses: Array) -> Array:
        return tensions_at_rest(model, poses, np.broadcast_to(level, (len(poses), len(level))))[:, chosen]

    return _figure(base, chosen, (over, values), tensions, (f"tensions at activation {activation:g}", "N"))


def _checked(model: Model, muscles: Sequence[str] | None, over: str, q: ArrayLike | None) -> tuple[list[int], Model]:
    """The numbers of the muscles, and the model at the pose of the other coordinates."""
    check_types(model=(model, Model), over=(over, str))
    known = (*model.system.coordinate_names, *model.system.angle_names)
    if over not in known:
        raise ValueError(f"over: coordinate {over!r} does not exist; known: {', '.join(known)}")
    names = model.muscle_names if muscles is None else ([muscles] if isinstance(muscles, str) else muscles)
    for name in names:
        if name not in model.muscle_names:
            raise ValueError(f"muscles: {name!r} does not exist; known: {', '.join(model.muscle_names)}")
    chosen = [model.muscle_names.index(name) for name in names]
    return chosen, model if q is None else replace(model, start_q=tuple(map(float, real_array("q", q))))


def _figure(
    model: Model, chosen: Sequence[int], along: tuple[str, ArrayLike | None], curves: Curves, what: tuple[str, str]
) -> Figure:
    """Curves over a coordinate, with its values where they are given."""
    over, values = along
    unit = model.system.coordinate_units[over]
    x = _range(model, over, unit) if values is None else np.atleast_1d(real_array("values", values))
    drawn, y = _with_gaps(x, lambda x: curves(model.pose({over: x})))
    names = tuple(model.muscle_names[k] for k in chosen)
    shown, label = (drawn / DEGREE, "deg") if unit == "rad" else (drawn, unit)
    return draw_panels(shown, [Panel(what[0], what[1], names, y, shared=True)], f"{figure_label(over)} [{label}]")


def _range(model: Model, over: str, unit: str) -> Array:
    half = np.pi if unit == "rad" else 0.5
    low, high = next((c.range for c in model.coordinates if c.name == over and c.range is not None), (-half, half))
    return np.linspace(max(low, -2 * half), min(high, 2 * half), CURVE_POINTS)


def _with_gaps(x: Array, curves: Curves) -> tuple[Array, Array]:
    """x (k,) and curves (k, m), with NaN between two neighbours where a curve jumps; round-off is no jump."""
    y = curves(x)
    change = np.abs(np.diff(y, axis=0))
    least = MIN_RANGE * np.nanmax(np.abs(y), initial=0.0)
    reach = np.maximum(np.ptp(y, axis=0), least) if len(y) else np.zeros(y.shape[1:])
    steep = np.flatnonzero((change > STEEP_CHANGE * reach).any(axis=1))
    if not len(steep):
        return x, y
    inner = np.linspace(x[steep], x[steep + 1], INNER_POINTS + 2, axis=1)  # (p, INNER_POINTS + 2)
    steps = np.abs(np.diff(curves(inner.ravel()).reshape(*inner.shape, -1), axis=1)).max(axis=1)  # (p, m)
    jumps = (steps > JUMP_SHARE * change[steep]) & (change[steep] > STEEP_CHANGE * reach)
    where = steep[jumps.any(axis=1)] + 1
    gaps = np.where(jumps[jumps.any(axis=1)], np.nan, (y[where - 1] + y[where]) / 2)
    return np.insert(x, where, (x[where - 1] + x[where]) / 2), np.insert(y, where, gaps, axis=0)
