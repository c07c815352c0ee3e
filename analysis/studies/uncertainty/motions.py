"""From markers to motions, and the motions that a trial has with other markers.

Of a recorded motion without markers, the model's own markers at its poses stand for those that were seen. The
differences of the poses that are fitted to them move the recorded ones.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Literal

import numpy as np

from myoquat.analysis.motion import FitOptions, FittedMotion, inverse_kinematics, smooth
from myoquat.analysis.recruitment import consistent_derivatives
from myoquat.analysis.studies.uncertainty.inputs import Samples
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.data.motions import Markers, Motion
from myoquat.joints.vectors import matvec
from myoquat.muscle import Model

__all__ = ["MotionSteps", "RecordedTrial"]

OF_MARKERS = ("marker_placement", "marker_noise")


@dataclass(frozen=True)
class MotionSteps:
    """The steps from markers to a motion with derivatives.

    weights      of `inverse_kinematics`
    coordinates  wanted ones, of `inverse_kinematics`
    options      of `inverse_kinematics`
    cutoff       [Hz] of `smooth`
    method       of `smooth`
    consistent   whether `consistent_derivatives` follows
    order        of `smooth`

    >>> from myoquat.analysis.studies import MotionSteps
    >>> MotionSteps(cutoff=3.0).method
    'rotations'
    """

    weights: Mapping[str, float] | None = None
    coordinates: Mapping[str, ArrayLike] | None = None
    options: FitOptions = field(default_factory=FitOptions)
    cutoff: float | None = 6.0
    method: Literal["rotations", "angles"] = "rotations"
    consistent: bool = False
    order: int = 4

    def fitted(self, model: Model, markers: Markers, start: Array | None = None) -> FittedMotion:
        """The motion that fits the markers, near poses start (t, nq)."""
        options = self.options if start is None else replace(self.options, start=start)
        return inverse_kinematics(model, markers, self.weights, coordinates=self.coordinates, options=options)

    def moving(self, model: Model, motion: Motion) -> Motion:
        """The motion with u and udot."""
        found = smooth(motion, self.cutoff, order=self.order, model=model, method=self.method)
        return consistent_derivatives(model, found) if self.consistent else found


class RecordedTrial:
    """Markers, or a motion, of a model, and the poses that belong to other markers."""

    def __init__(self, model: Model, recording: Markers | Motion, steps: MotionSteps) -> None:
        self.model, self.steps = model, steps
        if isinstance(recording, Markers):
            self.markers, self.fit = recording, steps.fitted(model, recording)
            self.poses: Motion = self.fit
        else:
            self.poses = Motion(model.system, recording.time, recording.q)
            self.markers = _own_markers(model, self.poses)
            self.steps = replace(steps, weights=None, coordinates=None)
            if self.markers.names:
                self.fit = self.steps.fitted(model, self.markers, self.poses.q)

    def usable(self, sources: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the sources that the trial has: without markers none of them."""
        return tuple(name for name in sources if self.markers.names or name not in OF_MARKERS)

    def poses_of(self, samples: Samples, keys: dict[str, int]) -> Motion:
        """The poses of a sample."""
        if not any(name in keys for name in OF_MARKERS):
            return self.poses
        positions = self.markers.positions.copy()
        if "marker_placement" in keys:
            shift = samples.generator("marker_placement", keys["marker_placement"]).standard_normal(positions.shape[1:])
            positions += self._carried(samples.inputs.marker_placement * shift)
        if "marker_noise" in keys:
            noise = samples.generator("marker_noise", keys["marker_noise"]).standard_normal(positions.shape)
            positions += samples.inputs.marker_noise * noise
        fit = self.steps.fitted(self.model, replace(self.markers, positions=positions), self.fit.q)
        system = self.model.system
        return Motion(system, self.poses.time, system.integrate(self.poses.q, system.difference(self.fit.q, fit.q)))

    def moving(self, samples: Samples, keys: dict[str, int]) -> Motion:
        """The motion of a sample, with u and udot."""
        return self.steps.moving(self.model, self.poses_of(samples, keys))

    def _carried(self, shift: Array) -> Array:
        """(t, n, 3) shifts (n, 3) along the axes of the markers' bodies, in the laboratory."""
        poses, of_body = self.model.system.poses(self.fit.q), {m.name: m.body for m in self.model.markers}
        found = np.zeros(self.markers.positions.shape)
        for k, name in enumerate(self.markers.names):
            if name in of_body:
                found[:, k] = matvec(poses[of_body[name]][0], shift[k])
        return found


def _own_markers(model: Model, motion: Motion) -> Markers:
    """The model's markers at the poses of a motion."""
    poses, count = model.system.poses(motion.q), len(motion.time)
    seen = [poses[m.body][1] + matvec(poses[m.body][0], np.array(m.position)) for m in model.markers]
    positions = np.stack([np.broadcast_to(x, (count, 3)) for x in seen], axis=1) if seen else np.zeros((count, 0, 3))
    return Markers(motion.time, tuple(m.name for m in model.markers), positions)
