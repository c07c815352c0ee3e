"""A model scaled to a person: measurements between markers, factors by hand, mass; and its markers put where they were.

As OpenSim's ScaleTool does (ModelScaler and MarkerPlacer of OpenSim 4.6). A measurement is the mean over pairs of
markers of (distance recorded, averaged over the frames) / (distance on the model at its start).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType, NoneType

import numpy as np

from myoquat.core import Array, ArrayLike, check_types, frozen, indices_of, pandas as pd, real_array
from myoquat.data.motions import Markers
from myoquat.joints.vectors import vecmat
from myoquat.muscle.coordinates import Marker
from myoquat.muscle.loads import world_point
from myoquat.muscle.model import Model
from myoquat.muscle.scaling import scaled

from .fitted import FittedMotion
from .inverse_kinematics import inverse_kinematics

ORDERS = ("measurements", "factors")
NOTHING: Mapping[str, ArrayLike] = MappingProxyType({})


@frozen
class Measurement:
    """A factor found between `pairs` of markers, for the axes, such as "XYZ" or "Y", of each body in `bodies`.

    >>> from myoquat.analysis.motion import Measurement
    >>> Measurement("thigh", (("hip", "knee"),), {"thigh": "Y"}).bodies
    {'thigh': 'Y'}
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    bodies: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.pairs:
            raise ValueError(f"the measurement {self.name!r} has no pair of markers")
        check_axes(f"the measurement {self.name!r}", self.bodies)


def check_axes(owner: str, bodies: Mapping[str, str]) -> None:
    """ValueError for axes, by body, that are not made of X, Y and Z."""
    for body, axes in bodies.items():
        if not axes or set(axes.upper()) - set("XYZ"):
            raise ValueError(f"{owner}: axes of {body!r} are of X, Y, Z, not {axes!r}")


def scale_model(
    model: Model,
    static_trial: Markers | None = None,
    measurements: Sequence[Measurement] = (),
    *,
    factors: Mapping[str, ArrayLike] = NOTHING,
    mass: float | None = None,
    keep_masses: bool = False,
    order: Sequence[str] = ORDERS,
) -> Model:
    """The model in the size of a person, as OpenSim's ScaleTool scales it; `place_markers` is the tool's last step.

    static_trial  the recorded markers, in metres and in the model's axes; `between` picks the frames.
    measurements  pairs of markers, and the bodies that are scaled by their ratio.
    factors       by body, a number or three along its axes; "ground" among them.
    mass          [kg] of the whole person; None leaves the masses that the sizes give.
    keep_masses   the proportions of the masses stay those of the model, whatever the sizes.
    order         which of "measurements" and "factors" are applied, the later one replacing the earlier.

    Bodies, joints, points of muscles, wrapping surfaces and markers are scaled with the body that they are on. So are
    the attachments of constraints, springs, bushings and contacts. Inertias follow `myoquat.joints.multibody.scaling`.
    Optimal fibers, slack tendons and resting ligaments grow as the paths do in the start pose. So does the rest of
    springs and rods between points. Muscle strengths, stiffnesses and coordinates stay. Unlike in OpenSim, which scales
    along the axes of the frame of a point, the body's axes always count. Every law with lengths is scaled, OpenSim's
    RigidTendonMuscle included.

    Raises ValueError for markers and bodies that do not exist (with the nearest ones). It is raised for a pair that is
    never seen at the same time or lies at one point of the model. It is raised too for factors or a mass that are not
    positive, and for measurements without a trial.

    >>> import myoquat as mq
    >>> from myoquat.analysis.motion import scale_model
    >>> taller = scale_model(mq.load_model("two_link"), factors={"A": 1.1}, mass=12.0)
    >>> sum(body.mass for body in taller.system.bodies)
    12.0
    """
    check_types(model=(model, Model), static_trial=(static_trial, (Markers, NoneType)))
    if mass is not None and not (np.isfinite(mass) and mass > 0):
        raise ValueError(f"mass must be positive, not {mass}")
    found = scale_factors(model, static_trial, measurements, factors=factors, order=order)
    return scaled(model, found, mass, keep_masses)


def scale_factors(
    model: Model,
    static_trial: Markers | None = None,
    measurements: Sequence[Measurement] = (),
    *,
    factors: Mapping[str, ArrayLike] = NOTHING,
    order: Sequence[str] = ORDERS,
) -> dict[str, Array]:
    """The factors (3,) along the axes of every body, and of the ground, that `scale_model` applies, by name.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> hinge = mq.joints.RevoluteJoint()
    >>> leg = (mq.Body("thigh", "ground", hinge), mq.Body("shank", "thigh", hinge, (0.0, -0.4, 0.0)))
    >>> points = {"hip": ("thigh", (0.0, 0.0, 0.0)), "knee": ("thigh", (0.0, -0.4, 0.0))}
    >>> markers = tuple(mq.muscle.coordinates.Marker(name, *point) for name, point in points.items())
    >>> model = mq.Model(mq.ArticulatedSystem(leg), markers=markers)
    >>> trial = mo.Markers([0.0], ("hip", "knee"), [[[0.0, 0.0, 0.0], [0.0, -0.44, 0.0]]])
    >>> length = mo.Measurement("thigh", (("hip", "knee"),), {"thigh": "Y"})
    >>> mo.scale_factors(model, trial, [length])["thigh"].round(6)
    array([1. , 1.1, 1. ])
    """
    check_types(model=(model, Model), static_trial=(static_trial, (Markers, NoneType)))
    if not set(order) <= set(ORDERS):
        raise ValueError(f"order is made of {' and '.join(map(repr, ORDERS))}, not {list(order)}")
    known = (model.system.ground, *model.system.body_names)
    result = {name: np.ones(3) for name in known}
    for step in order:
        if step == "factors":
            indices_of("body", factors, known)
            result |= {name: _factors(name, values) for name, values in factors.items()}
            continue
        for measurement in measurements:
            indices_of("body", measurement.bodies, known)
            ratio = _ratio(model, static_trial, measurement)
            for body, axes in measurement.bodies.items():
                for axis in axes.upper():
                    result[body]["XYZ".index(axis)] = ratio
    return result


def place_markers(
    model: Model,
    static_trial: Markers,
    weights: Mapping[str, float] | None = None,
    *,
    coordinates: Mapping[str, float] | None = None,
    fixed: Collection[str] | None = None,
) -> tuple[Model, FittedMotion]:
    """The model with its markers where they were in a static trial, and the pose in which it stood.

    The mean positions of the markers are fitted as `inverse_kinematics` does, with weights and wanted coordinates. Then
    every marker that was seen goes to its mean position on its body, except those in `fixed`. By default these are the
    markers that the model says keep their place. Markers that the trial lacks stay. Errors as in `inverse_kinematics`.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis import motion as mo
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint(), mass=2.0, center_of_mass=(0.5, 0.0, 0.0))
    >>> hand = mq.muscle.coordinates.Marker("hand", "arm", (1.0, 0.0, 0.0))
    >>> model = mq.Model(mq.ArticulatedSystem((arm,)), markers=(hand,))
    >>> static = mo.Markers([0.0], ("hand",), [[[1.1, 0.0, 0.0]]])
    >>> placed, pose = mo.place_markers(model, static)
    >>> placed.markers[0].position
    (1.1, 0.0, 0.0)
    """
    check_types(model=(model, Model), static_trial=(static_trial, Markers))
    keep = {m.name for m in model.markers if m.fixed} if fixed is None else {*fixed}
    indices_of("marker", keep, [m.name for m in model.markers])
    pose = mean_pose(static_trial)
    fit = inverse_kinematics(model, pose, weights, coordinates=coordinates)
    return moved_markers(model, pose, fit.q[0], keep), fit


def moved_markers(model: Model, pose: Markers, q: Array, keep: Collection[str]) -> Model:
    """The model whose markers, but for those to keep, are where the only frame of `pose` shows them, at q (nq,)."""
    poses = model.system.poses(q)
    seen = {n: x for n, x in zip(pose.names, pose.positions[0], strict=True) if np.isfinite(x).all()}

    def placed(marker: Marker) -> Marker:
        if marker.name in keep or marker.name not in seen:
            return marker
        R, p = poses[marker.body]
        return replace(marker, position=tuple(vecmat(seen[marker.name] - p, R)))

    return replace(model, markers=tuple(map(placed, model.markers)), file=None)


def mean_pose(markers: Markers) -> Markers:
    """One frame at the first time: the mean position of each marker over the frames in which it was seen."""
    if not len(markers.time):
        raise ValueError("the static trial has no frames")
    mean = pd.DataFrame(markers.positions.reshape(len(markers.time), -1)).mean().to_numpy(dtype=float)
    return replace(markers, time=markers.time[:1], positions=mean.reshape(1, -1, 3))


def _factors(name: str, values: ArrayLike) -> Array:
    s = real_array(name, values)
    if s.shape not in ((), (3,)) or not (np.isfinite(s) & (s > 0)).all():
        raise ValueError(f"the factors of {name!r} must be one positive number or three, not {values!r}")
    return np.broadcast_to(s, 3).copy()


def _ratio(model: Model, trial: Markers | None, measurement: Measurement) -> float:
    if trial is None:
        raise ValueError(f"the measurement {measurement.name!r} needs a static trial")
    own = {marker.name: marker for marker in model.markers}
    poses = model.system.poses(model.start)
    ratios = []
    for pair in measurement.pairs:
        indices_of("marker", pair, list(own))
        columns = indices_of("recorded marker", pair, trial.names)
        x, y = (world_point(poses, own[name].body, own[name].position) for name in pair)
        length = float(np.linalg.norm(x - y))
        recorded = np.linalg.norm(trial.positions[:, columns[0]] - trial.positions[:, columns[1]], axis=-1)
        together = recorded[~np.isnan(recorded)]
        if not len(together):
            raise ValueError(f"the measurement {measurement.name!r}: {' and '.join(pair)} are never seen together")
        if not length:
            raise ValueError(
                f"the measurement {measurement.name!r}: {' and '.join(pair)} lie at one point of the model"
            )
        ratios.append(float(together.mean()) / length)
    return float(np.mean(ratios))
