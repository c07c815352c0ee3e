"""Figures of muscles, activations, moment arms and joint loads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from myoquat.core import (
    MIN_RANGE,
    Array,
    ArrayLike,
    Panel,
    Picture,
    check_types,
    curve_styles,
    draw_panels,
    figure_label,
    indices_of,
    legend_above,
    legend_beside,
    plain_axis,
    real_array,
    real_array_with_gaps,
    small_axes,
    with_unit,
)
from myoquat.data.motions import Emg, Motion
from myoquat.joints.errors import ModelError
from myoquat.muscle import ActivationDynamics, Model, Muscle, path_lengths
from myoquat.muscle.evaluate import tensions_at_rest
from myoquat.muscle.laws import ForceLaw, HillLaw

from .emg.driven import followed
from .moment_arms import moment_arms, starting_at
from .stability import StabilityRule

LAW_POINTS = 401
LEVELS = (0.0, 0.5, 1.0)  # activations


def plot_curves(muscle: Muscle | ForceLaw) -> Figure:
    """A matplotlib Figure of the curves of a force law, or of a Muscle with its activation dynamics.

    The panels of a Hill-type law are the fiber's force over its length and its speed, and the tendon's over its length.
    They are normalized, with metres, metres per second and newtons on the opposite axes. That of any other law is the
    force over the path's length at rest. That of activation dynamics is the activation over time when the excitation
    steps up and down. Raises ModelError for a muscle without law or with numbers left open, TypeError for anything
    else.

    >>> from myoquat.analysis import plot_curves
    >>> from myoquat.muscle.laws import Thelen2003
    >>> figure = plot_curves(Thelen2003(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2))
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['fiber length over the optimal one', 'lengthening speed over the greatest one', 'tendon length over the slack one']
    """
    law, dynamics = (muscle.law, muscle.activation_dynamics) if isinstance(muscle, Muscle) else (muscle, None)
    if law is None or (isinstance(law, ForceLaw) and law.open_parameters()):
        lacking = "force law" if law is None else ", ".join(law.open_parameters())
        raise ModelError(f"no {lacking} is given", element=f"muscle {getattr(muscle, 'name', '')!r}")
    if not isinstance(law, ForceLaw):
        raise TypeError(f"a force law or a muscle is wanted, not {type(law).__name__}")
    panels = [*(_fiber_and_tendon(law) if isinstance(law, HillLaw) else [_at_rest(law)])]
    panels += [] if dynamics is None else [_steps(dynamics)]
    figure, axes = small_axes(len(panels), len(panels), 4.2 * len(panels), 4.0)
    for ax, panel in zip(axes, panels, strict=True):
        for (name, y), style in zip(panel.curves.items(), curve_styles(len(panel.curves)), strict=True):
            ax.plot(panel.x, y, linewidth=1.3, label=name, **style)
        if panel.opposite is not None and isinstance(law, HillLaw):
            _opposite(ax, *panel.opposite, law.max_isometric_force)
        plain_axis(ax, panel.x_label, panel.y_label)
        ax.legend(fontsize=7, frameon=False, handlelength=2.8)
    if isinstance(law, HillLaw):
        axes[0].set_ylim(-0.05, 2.0)
    title = law.kind if not isinstance(muscle, Muscle) else f"{figure_label(muscle.name)}: {law.kind}"
    figure.suptitle(title, fontsize=10)
    return figure


class _LawCurves(NamedTuple):
    """Curves (k,) by name over x (k,). `opposite`: what 1 on the x axis is in the unit of the axis with this label."""

    x: Array
    curves: dict[str, Array]
    x_label: str
    y_label: str
    opposite: tuple[float, str] | None = None


def _opposite(ax: Any, scale: float, label: str, force: float) -> None:
    """The same axes in SI units, opposite."""
    top = ax.secondary_xaxis("top", functions=(lambda x: x * scale, lambda x: x / scale))
    top.set_xlabel(label, fontsize=9)
    top.xaxis.set_major_locator(MaxNLocator(4))
    right = ax.secondary_yaxis("right", functions=(lambda y: y * force, lambda y: y / force))
    right.set_ylabel("force [N]", fontsize=9)
    for side in (top, right):
        side.tick_params(labelsize=8)


def _fiber_and_tendon(law: HillLaw) -> list[_LawCurves]:
    l, v = np.linspace(0.4, 1.8, LAW_POINTS), np.linspace(-1.1, 1.1, LAW_POINTS)
    active, passive, one = law.active_force(l), law.passive_force(l), np.ones(LAW_POINTS)

    def at_speeds(law: HillLaw, a: float) -> Array:
        return law.fiber_force(one, v, a * one) - law.passive_force(one)  # at the optimal length

    moving = {f"a = {a:g}": at_speeds(law, a) for a in LEVELS[:0:-1]}
    if law.is_damped:
        bare: Any = replace(law, damping=0.0)  # type: ignore[call-arg]
        moving["a = 1, without damping"] = at_speeds(bare, 1.0)
    x = 1 + law.tendon_strain * np.linspace(-0.3, 1.3, LAW_POINTS)
    speed = law.max_contraction_velocity * law.optimal_fiber_length
    return [
        _LawCurves(l, {"active, a = 1": active, "passive": passive, "together": active + passive},
                   "fiber length over the optimal one", "isometric fiber force over F0",
                   (law.optimal_fiber_length, "fiber length [m]")),
        _LawCurves(v, moving, "lengthening speed over the greatest one", "active fiber force over F0",
                   (speed, "lengthening speed [m/s]")),
        _LawCurves(x, {"tendon": law.tendon_force(x)}, "tendon length over the slack one", "tendon force over F0",
                   (law.tendon_slack_length, "tendon length [m]")),
    ]  # fmt: skip


def _at_rest(law: ForceLaw) -> _LawCurves:
    names = ("optimal_length", "resting_length", "optimal_fiber_length")
    rest = next((getattr(law, name) for name in names if hasattr(law, name)), 1.0)
    l = getattr(law, "tendon_slack_length", 0.0) + rest * np.linspace(0.4, 1.6, LAW_POINTS)
    curves = {f"a = {a:g}": law.force(l, 0 * l, 0 * l + a) for a in LEVELS}
    return _LawCurves(l, curves, "path length [m]", "tension at rest [N]")


def _steps(dynamics: ActivationDynamics) -> _LawCurves:
    up, down = dynamics.activation_time, dynamics.deactivation_time
    t = np.linspace(0, 8 * (up + down), 10 * LAW_POINTS)
    e = np.where(t < t[-1] / 2, 1.0, dynamics.minimum_activation)
    a = followed(t, e[:, None], dynamics.minimum_activation, dynamics)[:, 0]
    return _LawCurves(t, {"activation": a, "excitation": e}, "time [s]", "activation, excitation")


def plot_surface(surface: Any, variable: str = "moment_arm") -> Figure:
    """A Figure of `moment_arm_surface`: curves over one coordinate, or a map per muscle over two.

    variable: "moment_arm" or "length". Angles are drawn in degrees.
    """
    coordinates = [name for name in surface[variable].dims if name != "muscle"]
    title = f"moment arm, {surface.attrs['arm']}" if variable == "moment_arm" else "length"
    unit = surface[variable].attrs["units"]
    if len(coordinates) == 1:
        names = tuple(str(muscle) for muscle in surface.muscle.values)
        values = surface[variable].transpose(coordinates[0], "muscle").values
        panel = Panel(title, unit, names, values, shared=True)
        return draw_panels(_shown_values(surface, coordinates[0]), [panel], _axis_label(surface, coordinates[0]))
    return _maps(surface, variable, coordinates, with_unit(figure_label(title), unit))


def _axis_label(surface: Any, name: str) -> str:
    return with_unit(figure_label(name), surface[name].attrs["units"].replace("rad", "deg"))


def _shown_values(surface: Any, name: str) -> Array:
    """(k,) the values of a coordinate, angles in degrees."""
    values = np.asarray(surface[name].values, dtype=float)
    return np.degrees(values) if surface[name].attrs["units"] == "rad" else values


def _maps(surface: Any, variable: str, names: list[str], label: str) -> Figure:
    count = len(surface.muscle)
    columns = min(count, 3)
    figure, axes = small_axes(count, columns, 4.2 * columns, 3.6, shared=True)
    x, y = (_shown_values(surface, name) for name in names)
    x_label, y_label = (_axis_label(surface, name) for name in names)
    for axis, muscle in zip(axes, surface.muscle.values, strict=True):
        plain_axis(axis, x_label, y_label, figure_label(str(muscle)))
        values = surface[variable].sel(muscle=muscle).transpose(names[1], names[0])
        drawn = axis.contourf(x, y, values, levels=12, cmap="cividis")
        lines = axis.contour(x, y, values, levels=12, colors="white", linewidths=0.4)
        axis.clabel(lines, lines.levels[::3], fontsize=7)
        figure.colorbar(drawn, ax=axis, label=label)
    return figure


CURVE_POINTS = 181  # of every curve
INNER_POINTS = 8  # between two neighbours, to distinguish a jump from a steep slope
STEEP_CHANGE = 0.04  # of a curve's range: smaller changes between neighbours are no jumps
JUMP_SHARE = 0.6  # of a change between neighbours: a jump has this between two inner points
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
    column = over if arm is None else arm

    def arms(poses: Array) -> Array:
        return np.asarray(1e3 * moment_arms(model, poses, [column])[column].to_numpy().reshape(len(poses), -1))

    return _over_coordinate(model, muscles, (over, values, q), arms, f"moment arms, {column}", "mm")


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
    return _over_coordinate(model, muscles, (over, values, q), lambda x: path_lengths(model, x), "path lengths", "m")


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

    def tensions(poses: Array) -> Array:
        return tensions_at_rest(model, poses, np.full((len(poses), len(model.muscles)), float(activation)))

    return _over_coordinate(model, muscles, (over, values, q), tensions, f"tensions at activation {activation:g}", "N")


def _over_coordinate(
    model: Model, muscles: Sequence[str] | None, along: tuple[str, ArrayLike | None, ArrayLike | None], curves: Curves,
    title: str, unit: str,
) -> Figure:  # fmt: skip
    """Curves of muscles along a coordinate, its values and the other coordinates, where they are given."""
    over, values, q = along
    check_types(model=(model, Model), over=(over, str))
    indices_of("coordinate for over:", [over], (*model.system.coordinate_names, *model.system.angle_names))
    names = model.muscle_names if muscles is None else ([muscles] if isinstance(muscles, str) else muscles)
    chosen, base = indices_of("muscle", names, model.muscle_names), starting_at(model, q)
    turns = model.system.coordinate_units[over] == "rad"
    if values is None:
        half = np.pi if turns else 0.5
        low, high = next((c.range for c in model.coordinates if c.name == over and c.range is not None), (-half, half))
        x = np.linspace(max(low, -2 * half), min(high, 2 * half), CURVE_POINTS)
    else:
        x = np.atleast_1d(real_array("values", values))
    drawn, y = _with_gaps(x, lambda x: curves(base.pose({over: x}))[:, chosen])
    label = with_unit(figure_label(over), "deg" if turns else model.system.coordinate_units[over])
    panel = Panel(title, unit, tuple(model.muscle_names[k] for k in chosen), y, shared=True)
    return draw_panels(np.degrees(drawn) if turns else drawn, [panel], label)


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


COLUMNS = 5


@runtime_checkable
class Activated(Protocol):
    """What has activations (t, m) of a model's muscles over a motion."""

    @property
    def model(self) -> Model: ...

    @property
    def motion(self) -> Motion: ...

    @property
    def activation(self) -> Array: ...


def plot_activations(
    found: Activated,
    emg: Emg | None = None,
    *,
    muscles: Sequence[str] | None = None,
    others: Mapping[str, Activated] | None = None,
    label: str = "found",
) -> Figure:
    """A Figure of activations over time, an axis per muscle, the activity that was recorded in grey.

    found   with `model`, `motion` and `activation`, such as results of `redundancy` or `emg_driven`
    emg     channels called as muscles, each drawn over its greatest value unless it is normalized
    others  further results by name, drawn beside the first
    label   name of the first result

    ValueError for muscles that do not exist.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import plot_activations
    >>> from myoquat.analysis.recruitment import emg_driven
    >>> from myoquat.data import Emg, Motion
    >>> model = mq.load_model("two_link")
    >>> still = Motion(model, [0.0, 0.1], [model.start] * 2, [[0.0] * 6] * 2, [[0.0] * 6] * 2)
    >>> recorded = Emg([0.0, 0.1], ("m1",), [[0.3], [0.4]], "1")
    >>> len(plot_activations(emg_driven(model, still, recorded, others=0.1), recorded).axes)
    6
    """
    check_types(found=(found, Activated))
    names = found.model.muscle_names if muscles is None else tuple(muscles)
    indices_of("muscle", names, found.model.muscle_names)
    recorded = None if emg is None else emg if emg.units == "1" else emg.normalized()
    shown = {label: found, **(others or {})}
    rows = -(-len(names) // COLUMNS)
    columns = -(-len(names) // rows)
    figure, axes = small_axes(len(names), columns, 2.4 * columns, 1.7, 0.5, shared=True)
    for axis, name in zip(axes, names, strict=True):
        if recorded is not None and name in recorded.names:
            signal = recorded.signal[:, recorded.names.index(name)]
            axis.fill_between(recorded.time, signal, color="0.8", label="EMG")
        for style, (label, one) in zip(curve_styles(len(shown)), shown.items(), strict=True):
            column = one.model.muscle_names.index(name)
            axis.plot(one.motion.time, one.activation[:, column], label=label, **style)
        plain_axis(axis, title=figure_label(name))
    for axis in axes[-columns:]:  # the lowest of each column
        axis.tick_params(labelbottom=True)
    most = max([float(one.activation.max(initial=0.0)) for one in shown.values()])
    if recorded is not None and recorded.signal.size:
        most = max(most, float(np.nanmax(recorded.signal)))
    axes[0].set_ylim(0, min(1.0, 1.1 * most) or 1.0)
    figure.supxlabel("time [s]", fontsize=9)
    figure.supylabel("activation", fontsize=9)
    if len(shown) > 1 or recorded is not None:
        legend_above(figure)
    return figure


def plot_loads(
    over: ArrayLike, forces: Mapping[str, ArrayLike], *, label: str = "time [s]", weight: float | None = None
) -> Figure:
    """A Figure of the sizes of forces (t, 3) [N] in a joint, by name, over the time or an angle (t,).

    label: of the time or the angle. weight: of the body [N]; the forces are drawn in percent of it. ValueError for
    forces of another shape.

    >>> import numpy as np
    >>> from myoquat.analysis import plot_loads
    >>> figure = plot_loads([0.0, 45.0, 90.0], {"shoulder": np.ones((3, 3)) * [[100], [300], [500]]}, weight=700.0)
    >>> figure.axes[0].get_ylabel()
    'force [% of body weight]'
    """
    check_types(forces=(forces, Mapping))
    x = real_array_with_gaps("over", over)
    figure = Picture(figsize=(5.6, 3.0), layout="constrained")
    axis = figure.subplots()
    for style, (name, given) in zip(curve_styles(len(forces)), forces.items(), strict=True):
        force = real_array_with_gaps("forces", given)
        if x.ndim != 1 or force.shape != (len(x), 3):
            raise ValueError(f"forces {name!r} must have the shape ({x.size}, 3), not {force.shape}")
        size = np.linalg.norm(force, axis=-1)
        axis.plot(x, size if weight is None else 100 * size / weight, label=figure_label(name), linewidth=1.3, **style)
    plain_axis(axis, label, "force [N]" if weight is None else "force [% of body weight]")
    axis.set_ylim(bottom=0)
    legend_beside(axis)
    return figure


def plot_socket(cone: StabilityRule, forces: Mapping[str, ArrayLike]) -> Figure:
    """A Figure of a socket seen from its joint, with the directions of forces (t, 3) on it.

    The forces are in the axes of the stability rule, such as a `JointCone`. The distance from the middle is the angle
    between a force and the cone's direction, in degrees. The thick line is the edge of the rule. A dot marks the first
    force of each curve.

    >>> import numpy as np
    >>> from myoquat.analysis import plot_socket
    >>> from myoquat.analysis.recruitment import JointCone
    >>> course = np.array([[0.0, 0.1, 1.0], [0.3, 0.2, 1.0]])
    >>> figure = plot_socket(JointCone("shoulder", (0.0, 0.0, 1.0), 0.5), {"found": course})
    >>> [line.get_label() for line in figure.axes[0].lines][:2]
    ['edge of the socket', 'found']
    """
    check_types(cone=(cone, StabilityRule), forces=(forces, Mapping))
    figure = Picture(figsize=(5.8, 4.4), layout="constrained")
    axis = figure.subplots()
    turn = np.linspace(0, 2 * np.pi, 200)
    edge = np.degrees(cone.edge(turn))
    farthest = float(edge.max())
    axis.plot(edge * np.cos(turn), edge * np.sin(turn), color="0.8", linewidth=4, label="edge of the socket")
    for style, (name, given) in zip(curve_styles(len(forces)), forces.items(), strict=True):
        force = real_array_with_gaps("forces", given)
        if force.ndim != 2 or force.shape[1] != 3:
            raise ValueError(f"forces {name!r} must have the shape (t, 3), not {force.shape}")
        along, *across = (force @ cone.frame.T).T
        angle, azimuth = np.degrees(np.arctan2(np.hypot(*across), along)), np.arctan2(*across[::-1])
        x, y = angle * np.cos(azimuth), angle * np.sin(azimuth)
        axis.plot(x, y, label=figure_label(name), linewidth=1.3, **style)
        axis.plot(x[:1], y[:1], "o", color=style["color"], markersize=5)
        farthest = max(farthest, float(angle.max(initial=0.0)))
    axis.set_aspect("equal")
    axis.set_xlim(-1.1 * farthest, 1.1 * farthest)
    axis.set_ylim(-1.1 * farthest, 1.1 * farthest)
    plain_axis(axis, "angle to the middle of the socket [deg]", title=figure_label(cone.joint))
    legend_beside(axis)
    return figure
