"""The forces of a model's constraints along a motion, on each of the bodies that they hold."""

from typing import NamedTuple, Self

import numpy as np

from myoquat.core.arguments import indices_of
from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.dynamics.constraints import ConstrainedMotion
from myoquat.dynamics.constraints.multipliers import carried_wrenches
from myoquat.joints.constraints import Constraint
from myoquat.joints.vectors import cross, matvec, vecmat

__all__ = ["ConstraintForces", "Load", "load_columns"]

AXES = ("x", "y", "z")
ORIGIN = (0.0, 0.0, 0.0)


class Load(NamedTuple):
    """A force, and a moment about a point, in the axes of one frame.

    force   (t, 3) [N]
    moment  (t, 3) [N m] about the point
    point   (t, 3) [m] from the frame's origin

    >>> import numpy as np
    >>> from myoquat.analysis.recruitment import Load
    >>> load = Load(force=np.array([0.0, 0, 20.0]), moment=np.zeros(3), point=np.zeros(3))
    >>> load.force
    array([ 0.,  0., 20.])
    """

    force: Array
    moment: Array
    point: Array


def load_columns(root: str, load: Load) -> dict[str, Array]:
    """Columns '<root>_fx' ... '_mx' ... '_px' ..., as OpenSim's JointReaction names them."""
    return {f"{root}_{letter}{axis}": values[:, k]
            for letter, values in zip("fmp", load, strict=True) for k, axis in enumerate(AXES)}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ConstraintForces:
    """multipliers (t, k) of the rows of `motion`: constraints between bodies, then those on coordinates, couplers and
    locks among them. They are NaN where redundant constraints leave them open. force (t, nu) [N m, N] are the
    generalized forces of `Model.constraints`, without couplers and locks.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import joint_loads
    >>> from myoquat.data import Motion
    >>> from myoquat.dynamics.constraints import PointLoop
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> hook = PointLoop("rod", "ground", (1.0, 0, 0), (1.0, 0, 0), axes="z", name="hook")
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), constraints=(hook,))
    >>> still = Motion(model, [0.0], [[0.0]], [[0.0]], [[0.0]])
    >>> joint_loads(model, still).constraints.of("hook", on="rod").force.round(2) + 0.0  # half of the weight
    array([[0.  , 0.  , 9.81]])
    """

    motion: ConstrainedMotion
    multipliers: Array
    force: Array

    @classmethod
    def of_multipliers(cls, motion: ConstrainedMotion, multipliers: Array) -> Self:
        """Of multipliers of which some may not be determined."""
        count = len(motion.model.constraints)
        force = motion.force(multipliers, slice(0, motion.row_slices[count - 1].stop if count else 0))
        return cls(motion, np.where(motion.undetermined_rows, np.nan, multipliers), force)

    def __repr__(self) -> str:
        return (
            f"<ConstraintForces {', '.join(c.label for c in self.motion.constraints)}; {len(self.multipliers)} frames>"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The constraints between bodies: by name, or what they are where they have none."""
        return tuple(c.name or c.label for c in self.motion.on_bodies)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Those whose force redundant constraints leave open in some frame."""
        lost: Array = np.asarray(np.isnan(self.multipliers).any(axis=0))
        return tuple(name for name, rows in zip(self.names, self.motion.row_slices, strict=False) if lost[rows].any())

    def of(self, name: str, on: str, *, frame: str = "ground", point: ArrayLike | None = None) -> Load:
        """The force and moment of a constraint between bodies on a body that it holds, or the ground.

        frame  in whose axes: a body, or "ground", whatever it is called.
        point  (3,) [m] in the axes of the body `on`, about which the moment is. None for the constraint's own point
               there, or the body's origin where it has none.

        ValueError for a constraint, a body or a frame that does not exist.
        """
        system, names = self.motion.model.system, self.names
        place = indices_of("constraint between bodies", [name], names)[0]
        on, frame = (system.ground if body == "ground" else body for body in (on, frame))
        indices_of("body", [on, frame], (system.ground, *system.body_names))
        wrench, origin = self._wrench(place, on), np.zeros(3)
        poses = system.poses(self.motion.q)
        if on != system.ground:
            origin = poses[on][1]
        R, p = poses[on]
        at = p + matvec(R, np.asarray(_own_point(self.motion.on_bodies[place], on) if point is None else point, float))
        moment = wrench[:, 3:] + cross(origin - at, wrench[:, :3])
        R, p = poses[frame]
        still = np.zeros(moment.shape)
        return Load(vecmat(wrench[:, :3], R) + still, vecmat(moment, R) + still, vecmat(at - p, R) + still)

    def to_dataframe(self, *, frame: str = "ground") -> "pd.DataFrame":
        """Loads of every constraint between bodies on every body on which it acts, over the index time [s].

        The columns are '<constraint>_on_<body>_in_<frame>_fx' ... '_mx' ... '_px' ...
        """
        columns: dict[str, Array] = {}
        system = self.motion.model.system
        for place, name in enumerate(self.names):
            acts = (
                np.abs(self.motion.unit_wrenches[:, self.motion.row_slices[place]]).max(axis=(0, 1, 3), initial=0.0) > 0
            )
            for body in [body for body, own in zip(system.body_names, acts, strict=True) if own]:
                columns |= load_columns(f"{name}_on_{body}_in_{frame}", self.of(name, body, frame=frame))
        return pd.DataFrame(columns, index=pd.Index(self.motion.time, name="time"))

    def _wrench(self, place: int, on: str) -> Array:
        """(t, 6) of one constraint on a body at its origin, or on the ground at the world's."""
        system, rows = self.motion.model.system, self.motion.row_slices[place]
        wrenches = np.einsum("tkbi,tk->tbi", self.motion.unit_wrenches[:, rows], self.multipliers[:, rows])
        if on != system.ground:
            own: Array = wrenches[:, system.body_names.index(on)]
            return own
        poses = system.poses(self.motion.q)
        roots = [i for i, body in enumerate(system.bodies) if body.parent == system.ground]
        carried = carried_wrenches(system, self.motion.q, wrenches)[:, roots]
        arms = np.stack([poses[system.body_names[i]][1] + np.zeros((len(self.motion.q), 3)) for i in roots], axis=1)
        moment = carried[..., 3:] + cross(arms, carried[..., :3])
        result: Array = -np.concatenate([carried[..., :3], moment], axis=-1).sum(axis=1)
        return result


def _own_point(constraint: Constraint, on: str) -> tuple[float, float, float]:
    for side in ("first", "second"):
        if getattr(constraint, side, None) == on:
            found: tuple[float, float, float] = getattr(constraint, f"{side}_point", ORIGIN)
            return found
    return ORIGIN
