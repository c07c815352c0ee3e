"""Pictures of what muscles and joints bear: activations against EMG, loads over elevation, forces in a socket."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.figure import Figure

from myoquat.analysis.recruitment.stability import StabilityRule
from myoquat.core.arguments import check_types, indices_of, real_array_with_gaps
from myoquat.core.typing import Array, ArrayLike
from myoquat.data.motions import Emg, Motion
from myoquat.joints.labels import figure_label
from myoquat.joints.panels import legend_beside, plain_axis
from myoquat.joints.picture import Picture, curve_styles
from myoquat.muscle.model import Model

__all__ = ["plot_activations", "plot_loads", "plot_socket"]

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

    found   with `model`, `motion` and `activation`, such as results of `redundancy`, `emg_driven` or `track`
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
    figure = Picture(figsize=(2.4 * columns, 1.7 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axis in axes.ravel()[len(names) :]:
        axis.remove()
    for axis, name in zip(axes.ravel(), names, strict=False):
        if recorded is not None and name in recorded.names:
            signal = recorded.signal[:, recorded.names.index(name)]
            axis.fill_between(recorded.time, signal, color="0.8", label="EMG")
        for style, (label, one) in zip(curve_styles(len(shown)), shown.items(), strict=True):
            column = one.model.muscle_names.index(name)
            axis.plot(one.motion.time, one.activation[:, column], label=label, **style)
        plain_axis(axis)
        axis.set_title(figure_label(name), fontsize=9, loc="left")
    for axis in axes.ravel()[max(len(names) - columns, 0) : len(names)]:  # the lowest of each column
        axis.tick_params(labelbottom=True)
    most = max([float(one.activation.max(initial=0.0)) for one in shown.values()])
    if recorded is not None and recorded.signal.size:
        most = max(most, float(np.nanmax(recorded.signal)))
    axes[0, 0].set_ylim(0, min(1.0, 1.1 * most) or 1.0)
    figure.supxlabel("time [s]", fontsize=9)
    figure.supylabel("activation", fontsize=9)
    if len(shown) > 1 or recorded is not None:
        _legend_above(figure)
    return figure


def _legend_above(figure: Figure) -> None:
    """One legend for all axes, above them."""
    handles = {label: h for a in figure.axes for h, label in zip(*a.get_legend_handles_labels(), strict=True)}
    options: dict[str, Any] = {"ncols": len(handles), "fontsize": 7, "frameon": False}
    figure.legend(list(handles.values()), list(handles), loc="outside upper right", **options)


def plot_loads(
    over: ArrayLike, forces: Mapping[str, ArrayLike], *, label: str = "elevation [degrees]", weight: float | None = None
) -> Figure:
    """A Figure of the sizes of forces (t, 3) [N] in a joint, by name, over an angle or the time (t,).

    weight: of the body [N]; the forces are drawn in percent of it. ValueError for forces of another shape.

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
    plain_axis(axis)
    axis.set_xlabel(label, fontsize=9)
    axis.set_ylabel("force [N]" if weight is None else "force [% of body weight]", fontsize=9)
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
        along, *across = np.moveaxis(force @ cone.frame.T, -1, 0)
        angle, side = np.degrees(np.arctan2(np.hypot(*across), along)), np.stack(across, axis=-1)
        size = np.linalg.norm(side, axis=-1, keepdims=True)
        place = angle[:, None] * np.divide(side, size, out=np.zeros_like(side), where=size > 0)
        axis.plot(*place.T, label=figure_label(name), linewidth=1.3, **style)
        axis.plot(*place[:1].T, "o", color=style["color"], markersize=5)
        farthest = max(farthest, float(angle.max(initial=0.0)))
    axis.set_aspect("equal")
    axis.set_xlim(-1.1 * farthest, 1.1 * farthest)
    axis.set_ylim(-1.1 * farthest, 1.1 * farthest)
    plain_axis(axis)
    axis.set_xlabel("angle to the middle of the socket [deg]", fontsize=9)
    axis.set_title(figure_label(cone.joint), fontsize=9, loc="left")
    legend_beside(axis)
    return figure
