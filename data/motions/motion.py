"""Motion: coordinates, velocities and accelerations of a system over time."""

import importlib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from myoquat.core import (
    Array,
    ArrayLike,
    Curve,
    Curves,
    assign,
    check_type,
    frozen,
    indices_of,
    pandas as pd,
    time_table,
    xarray as xr,
)
from myoquat.data.files import check_ending, existing
from myoquat.data.storage import read_motion, write_motion
from myoquat.data.tables import read_columns
from myoquat.joints import ArticulatedSystem, ModelError
from myoquat.joints.conversion.balls import continuous_branches, named_rotations, on_branches_of
from myoquat.joints.conversion.convert import same_pose, same_speeds
from myoquat.joints.errors import errors_in
from myoquat.joints.evaluation import SystemLike, system_of
from myoquat.joints.ranges import warn_far
from myoquat.muscle import Model

from .angles import angle_table
from .coordinates import bare_name, states_in_angles, warn_of_modes, with_own_speeds
from .formats import B3D
from .orientations import continuous_quaternions
from .series import TimeRecord, check_run, check_series, check_time, frames_in

# --------------------------------------------------------------------------------------------------------------
#
# `plot` and `animate` of everything that knows a motion. matplotlib, half a second, is imported when one is called.


if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure


class Shown:
    """Base of the records of a motion and of what belongs to it, as `MotionLike` has it."""

    def plot(self) -> "Figure":
        """A matplotlib Figure over time: coordinates, angles in degrees, velocities, activations and tensions, as far
        as they are known."""
        return importlib.import_module("myoquat.data.motions.figures").plot_motion(self)

    def animate(
        self,
        file: str | Path | None = None,
        speed: float = 1.0,
        *,
        model: Model | None = None,
        overwrite: bool = False,
    ) -> "FuncAnimation":
        """A film of bodies and muscles, as `Trajectory.animate` makes it; model: the Model whose muscles are shown
        where the motion itself knows none."""
        animate = importlib.import_module("myoquat.data.motions.figures").animate
        return animate(self, file, (), speed, overwrite, model)


SystemT = TypeVar("SystemT", bound=SystemLike)
QUANTITIES = ("q", "u", "udot")


@frozen(eq=False)
class Motion(TimeRecord, Shown):
    """q (t, nq), u and udot (t, nu) of a system at `time` (t,) [s], in its own coordinates, radians and metres.

    u and udot are None until they are computed. Quaternions have the sign that is nearer to the frame before, so that q
    is continuous. `system` is on the branches of the file's angles that are continuous along the motion
    (`myoquat.joints.with_branches`), and analyses of the motion take the model on these. `system` may be given as a
    Model: a CoordinateWarning then names coordinates that it locks or prescribes, but that q has elsewhere.

    Raises ValueError for times that do not increase, other shapes and numbers that are not finite. It is raised too for
    quaternions that are off the unit sphere by more than 1e-6.

    >>> import myoquat as mq
    >>> from myoquat.data import Motion
    >>> model = mq.load_model("two_link", rotations="sequence")
    >>> motion = Motion(model, [0.0, 0.1], [model.start, model.start])
    >>> motion
    <Motion q of 6 velocities, 2 frames, 0 to 0.1 s>
    >>> motion.angles(in_degrees=True).iloc[0, :3].round(1).to_list()
    [60.6, 12.7, -66.3]
    """

    system: ArticulatedSystem
    time: Array
    q: Array
    u: Array | None = None
    udot: Array | None = None

    def __post_init__(self) -> None:
        model = self.system
        assign(self, system=system_of(model), time=check_time(self.time))
        q = check_series("q", self.q, (len(self.time), self.system.nq))
        q = self.system.check_q(q).copy()
        indices = self.system.quaternion_indices
        q[:, indices] = continuous_quaternions(q[:, indices])
        assign(self, q=q, system=continuous_branches(self.system, q))
        warn_of_modes(model, self.time, q)
        for name in ("u", "udot"):
            values = getattr(self, name)
            if values is not None:
                assign(self, **{name: check_series(name, values, (len(self.time), self.system.nu))})

    def __repr__(self) -> str:
        return f"<Motion {', '.join(self._arrays)} of {self.system.nu} velocities, {frames_in(self.time)}>"

    @property
    def _arrays(self) -> dict[str, Array]:
        """Those of q, u and udot that are known."""
        return {quantity: x for quantity in QUANTITIES if (x := getattr(self, quantity)) is not None}

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names of the entries of q, u and udot."""
        velocities = self.system.velocity_names
        return {"q": self.system.coordinate_names, "u": velocities, "udot": tuple(f"{n}_rate" for n in velocities)}

    @property
    def units(self) -> dict[str, tuple[str, ...]]:
        """Units of the entries of q, u and udot: "rad", "m/s", "rad/s^2", "1" for quaternions, and so on."""
        system, speeds = self.system, tuple(self.system.velocity_units.values())
        accelerations = tuple(unit.replace("/s", "/s^2") for unit in speeds)
        positions = tuple(system.coordinate_units[name] for name in system.coordinate_names)
        return {"q": positions, "u": speeds, "udot": accelerations}

    @property
    def speeds(self) -> Array:
        """u; ValueError for a motion without it."""
        return self._computed("u")

    @property
    def accelerations(self) -> Array:
        """udot; ValueError for a motion without it."""
        return self._computed("udot")

    def _computed(self, name: str) -> Array:
        found: Array | None = getattr(self, name)
        if found is None:
            lacking = " and ".join(x for x in QUANTITIES if x not in self._arrays)
            raise ValueError(
                f"the motion has no {lacking}; smooth(motion) or differentiate(motion) finds what it lacks"
            )
        return found

    @property
    def model(self) -> SystemLike:
        """`system`: a recorded motion knows no muscles."""
        return self.system

    @property
    def activation(self) -> Array | None:
        """None, as `force` and `loads`: a recorded motion knows no muscles and no loads."""
        return None

    @property
    def force(self) -> Array | None:
        """None; see `activation`."""
        return None

    @property
    def loads(self) -> Array | None:
        """None; see `activation`."""
        return None

    def to_motion(self, run: int | tuple[int, ...] = ()) -> "Motion":
        """The motion itself, for functions that take any `MotionLike`; ValueError for a run: it is no batch."""
        check_run(run, ())
        return self

    def check_system(self, model: SystemT) -> SystemT:
        """`model` as it moves here: on the motion's branches of the file's angles (`myoquat.joints.with_branches`).

        ValueError where the motion is not one of `model`'s system, in the same description of its joints.
        """
        found = on_branches_of(model, self.system)
        if self.system.content_key != system_of(found).content_key:
            raise ValueError("the motion belongs to another system, or to another description of its joints")
        return found

    # ---- the file's own angles ------------------------------------------------------------------------------

    def angles(self, *, in_degrees: bool = False) -> "pd.DataFrame":
        """The motion in the coordinates of the file that the model came from, over the index time [s].

        There is a column per coordinate. If the system has a quaternion in place of three named angles, the table has
        the angles, unwrapped. Of the two triples of a rotation and all their full turns, each frame has the one that is
        nearest to the frame before. Velocities, if there are any, follow as '<coordinate>_u', or by their own names
        where a quaternion has no named angles. Near a gimbal lock, rates of angles grow without bound; at it they are
        NaN. `lock_distance` gives the distance of each frame from it.
        """
        return angle_table(self.system, self.time, self.q, self.u, in_degrees)

    def save(self, path: str | Path, *, in_degrees: bool = True, overwrite: bool = False) -> None:
        """Write the file's own angles (and speeds) as a .mot or .sto file, as OpenSim reads them, or the motion of the
        bodies as a .bvh file (`save_bvh`).

        FileExistsError for an existing file unless `overwrite`, ValueError for another ending.
        """
        if check_ending("a motion is", path, ".mot", ".sto", ".bvh").suffix.lower() == ".bvh":
            importlib.import_module("myoquat.data.motions.recordings").save_bvh(self, path, overwrite=overwrite)
            return
        write_motion(self.angles(in_degrees=in_degrees), path, overwrite=overwrite)

    # ---- other forms ----------------------------------------------------------------------------------------

    def to_dataframe(self) -> "pd.DataFrame":
        """Columns (quantity, name) over the index time [s], with "q", "u" and "udot" as quantities; `attrs["units"]` by
        column."""
        parts = self._arrays
        labels = [(quantity, name) for quantity in parts for name in self.names[quantity]]
        columns = pd.MultiIndex.from_tuples(labels, names=["kind", "name"])
        units = [unit for quantity in parts for unit in self.units[quantity]]
        values = np.concatenate(list(parts.values()), axis=1)
        return time_table(self.time, values, columns, units=dict(zip(labels, units, strict=True)))

    @classmethod
    def from_dataframe(cls, model: SystemLike, frame: "pd.DataFrame") -> "Motion":
        """From columns (quantity, name) as `to_dataframe` makes them, in any order; ValueError for a missing one."""
        system = system_of(model)
        time = frame.index.to_numpy(dtype=float)
        empty = cls(system, np.zeros(0), np.zeros((0, system.nq)))
        given: dict[str, Any] = {}
        for quantity in (quantity for quantity in QUANTITIES if quantity in frame.columns.get_level_values(0)):
            indices = indices_of(quantity, empty.names[quantity], [str(name) for name in frame[quantity].columns])
            given[quantity] = frame[quantity].to_numpy(dtype=float)[:, indices]
        if "q" not in given:
            raise ValueError("the columns hold no 'q'")
        return cls(system, time, **given)

    def to_xarray(self) -> "xr.Dataset":
        """q (time, coordinate), u and udot (time, velocity), with the units of each entry."""
        axes = {"q": "coordinate", "u": "velocity", "udot": "velocity"}
        parts = {quantity: (("time", axes[quantity]), x) for quantity, x in self._arrays.items()}
        coordinates = {
            "time": ("time", self.time, {"units": "s"}),
            "coordinate": list(self.names["q"]),
            "velocity": list(self.names["u"]),
            "coordinate_units": ("coordinate", list(self.units["q"])),
            "velocity_units": ("velocity", list(self.units["u"])),
        }
        return xr.Dataset(parts, coordinates)

    @classmethod
    def from_xarray(cls, model: SystemLike, data: "xr.Dataset") -> "Motion":
        """From a dataset as `to_xarray` makes it; ValueError for a coordinate or velocity that is missing."""
        system = system_of(model)
        axes = {"q": ("coordinate", system.coordinate_names), "u": ("velocity", system.velocity_names)}
        axes["udot"] = axes["u"]
        given = {}
        for quantity in (quantity for quantity in QUANTITIES if quantity in data):
            axis, names = axes[quantity]
            indices = indices_of(axis, names, [str(name) for name in data[axis].values])
            given[quantity] = data[quantity].transpose("time", axis).values[:, indices]
        return cls(system, data["time"].values, **given)


IK = "of markers, inverse kinematics makes one (myoquat ik, inverse_kinematics)"
OTHER_FILES = {
    ".trc": IK,
    ".c3d": IK,
    ".npz": "Trajectory.load reads a stored simulation",
    ".bvh": "load_bvh reads skeletons",
    ".mvnx": "load_suit reads recordings of a suit",
    ".b3d": B3D,
}


def load_motion(
    path: str | Path,
    model: SystemLike,
    *,
    in_degrees: bool | None = None,
    start: ArrayLike | None = None,
    ignore: Collection[str] = (),
    strict: bool = False,
) -> Motion:
    """The motion of a model in a .mot, .sto or .csv file, read by the names of its columns.

    Columns are coordinates of the model, angles of the model's own file in whose place it has a quaternion, and speeds,
    named as in `states_from_motion`. Angles become quaternions, and their rates angular velocities. in_degrees is
    needed where the file does not say it. Coordinates that the file lacks come from `start` (nq,), if it is given, and
    columns in `ignore` are passed over. A CoordinateWarning names radians of more than two turns, and coordinates that
    the model locks or prescribes, but that the file has elsewhere. A file whose nRows or
    nColumns is wrong is read with an ImplausibleWarning, or raises an error if `strict`. Raises ModelError with file
    and line for a broken file, and with the file's name for columns that the model does not know, or lacks. The speeds
    '.../speed' of a BallJoint, FreeJoint, EllipsoidJoint or ScapulothoracicJoint are an angular velocity to OpenSim,
    and to a Model that was read from its file, but not to a system.

    >>> import tempfile
    >>> import myoquat as mq
    >>> from myoquat.data import Motion, load_motion
    >>> model = mq.load_model("two_link", rotations="sequence")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Motion(model, [0.0, 0.1], [model.start] * 2).save(f"{folder}/still.mot")  # in degrees, as OpenSim writes
    ...     again = load_motion(f"{folder}/still.mot", model)  # in radians, as every formula here takes
    >>> bool(abs(again.q - model.start).max() < 1e-12)
    True
    """
    path = existing(path)
    if (hint := OTHER_FILES.get(path.suffix.lower())) is not None:
        raise ModelError(f"a motion is read from a .mot, .sto or .csv file; {hint}", file=path)
    system = system_of(model)
    frame = read_columns(path) if path.suffix.lower() == ".csv" else read_motion(path, strict)
    degrees = frame.attrs.get("in_degrees") if in_degrees is None else in_degrees
    with errors_in(path):
        turning = {name for name, unit in system.coordinate_units.items() if unit == "rad"}
        for label in frame if degrees is False else ():  # angles beyond two turns, if they are radians
            if (name := bare_name(str(label), turning)) in turning and len(frame):
                warn_far(frame[[label]].abs().max().to_numpy(dtype=float)[None], [(0, name)])
        moving, x, speeds, own = states_in_angles(model, frame, in_degrees, start, ignore)
        q = same_pose(moving, system, x)
        u = None if speeds is None else with_own_speeds(same_speeds(moving, system, x, speeds, q), own)
        angles = {body.name: triples for body, triples, _ in named_rotations(moving, system, x, q)}
        warn_of_modes(model, frame.index.to_numpy(dtype=float), q)
        return Motion(continuous_branches(system, q, angles), frame.index.to_numpy(dtype=float), q, u)


# --------------------------------------------------------------------------------------------------------------
#
# The protocol of a motion and what belongs to it, which trajectories, recorded motions and muscle forces share.


class MotionLike(Protocol):
    """A motion of a system, and what is known of it: `Trajectory`, `Motion`, `FittedMotion`, `Redundancy`, `Tracking`
    and `MuscleTorques`. A class of your own with these members is accepted by every function that takes a motion.

    Arrays have the leading axes (...) of a batch of simulations, none otherwise. None means that nothing is known.

    time        (t,) [s], increasing
    q           (..., t, nq) [rad, m], with unit quaternions
    u, udot     (..., t, nu) velocities of `system` and their rates, or None
    activation  (..., t, m) in [0, 1], of the muscles of `model`, or None
    force       (..., t, m) tensions [N], or None
    loads       (..., t, bodies, 6) external force [N] and torque [N m] on bodies at their origins, world axes, or None

    `model` is the Model where it is known, and `system` otherwise. `to_motion(run)` gives the Motion of one run, and
    `to_dataframe()` a table over the time.

    >>> import myoquat as mq
    >>> from myoquat.data import MotionLike
    >>> def duration(motion: MotionLike) -> float:
    ...     return float(motion.time[-1] - motion.time[0])
    >>> duration(mq.simulate(mq.load_model("two_link"), duration=0.5, step=1e-2))
    0.5
    """

    @property
    def time(self) -> Array: ...
    @property
    def system(self) -> ArticulatedSystem: ...
    @property
    def model(self) -> SystemLike: ...
    @property
    def q(self) -> Array: ...
    @property
    def u(self) -> Array | None: ...
    @property
    def udot(self) -> Array | None: ...
    @property
    def activation(self) -> Array | None: ...
    @property
    def force(self) -> Array | None: ...
    @property
    def loads(self) -> Array | None: ...

    def to_motion(self, run: int | tuple[int, ...] = ()) -> Motion: ...
    def to_dataframe(self) -> "pd.DataFrame": ...


class MotionResult(Shown, Curves):
    """Base of the records that hold a `motion` and muscle forces along it: its members, so that they are `MotionLike`.

    A subclass has the fields `model`, `motion`, `activation`, `force` and `velocities`, the free ones.
    """

    model: Model
    motion: Motion
    activation: Array
    force: Array
    velocities: tuple[str, ...]

    @property
    def time(self) -> Array:
        """(t,) [s]."""
        return self.motion.time

    @property
    def system(self) -> ArticulatedSystem:
        """The articulated system that moves."""
        return self.motion.system

    @property
    def q(self) -> Array:
        """(t, nq) coordinates of the motion."""
        return self.motion.q

    @property
    def u(self) -> Array | None:
        """(t, nu) velocities of the motion."""
        return self.motion.u

    @property
    def udot(self) -> Array | None:
        """(t, nu) accelerations of the motion."""
        return self.motion.udot

    @property
    def loads(self) -> Array | None:
        """None: no external loads are kept."""
        return None

    def to_motion(self, run: int | tuple[int, ...] = ()) -> Motion:
        """The motion itself; `run` as in `Motion.to_motion`."""
        return self.motion.to_motion(run)

    def curves(self) -> dict[str, Curve]:
        """activation and force over (time, muscle)."""
        dims = ("time", "muscle")
        return {"activation": Curve(dims, self.activation), "force": Curve(dims, self.force, "N")}

    def labels(self) -> dict[str, Any]:
        """Times, and names of muscles and free velocities."""
        return {
            "time": self.motion.time,
            "muscle": list(self.model.muscle_names),
            "velocity": list(self.velocities),
        }

    def _on_velocities(self, values: Array) -> Curve:
        """Generalized forces on the free velocities."""
        return Curve(("time", "velocity"), values, [self.system.force_units[name] for name in self.velocities])


def motion_of(motion: MotionLike, run: int | tuple[int, ...] = (), name: str = "motion") -> Motion:
    """The Motion of anything that is `MotionLike`: a Motion itself, of a batch of simulations the `run`.

    Raises TypeError, with the argument's `name`, for anything else, and ValueError for a run that does not exist.

    >>> import myoquat as mq
    >>> from myoquat.data import motion_of
    >>> motion_of(mq.simulate(mq.load_model("two_link"), duration=0.1, step=1e-2))
    <Motion q, u, udot of 6 velocities, 11 frames, 0 to 0.1 s>
    """
    return check_motion(motion, name).to_motion(run)


def check_motion(motion: Any, name: str = "motion") -> MotionLike:
    """The argument `name` itself; TypeError where it is not `MotionLike`."""
    if not hasattr(type(motion), "to_motion"):
        check_type(name, motion, (Motion, "Trajectory", "Redundancy"))
    return motion
