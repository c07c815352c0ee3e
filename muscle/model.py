"""The model: an articulated system and its muscles."""

import importlib
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from myoquat.core import Array, ArrayLike, Record, check_types, content_digest, counted, frozen, html, html_table
from myoquat.joints import ArticulatedSystem, CoordinateWarning, FixedJoint, ModelError, conversion
from myoquat.joints.constraints import Constraint
from myoquat.joints.ranges import check_state
from myoquat.kernels.symbolic.arrays import is_symbolic

from .activation import ActivationDynamics
from .actuators import Actuator, delayed
from .coordinates import Coordinate, Coupler, Marker, check_couplers, follow, linear_couplings
from .forces import PassiveForce
from .forces.coordinates import CoordinateLimit
from .inputs import PrescribedInput
from .laws.degroote_fregly import DeGrooteFregly2016
from .laws.hill import HillLaw
from .path import Muscle, MuscleGroup, MusclePath, paths_on_bones
from .points import PathPoint


@frozen
class Model(Record):
    """An articulated system with muscles. Immutable: `dataclasses.replace` makes a changed one.

    start_q, start_u      (nq,), (nu,) where a simulation starts if nothing else is said. None for neutral and at rest
    limits                act where coordinates leave their ranges
    forces                act always (`myoquat.muscle.forces`)
    actuators             act as their controls tell (`myoquat.muscle.actuators`). Controls are inputs of a simulation
    inputs                functions of time that a simulation obeys where it is given no other
    constraints           hold the motion (`myoquat.dynamics.constraints`): numbers and names without functions
    couplers              hold the motion too
    coordinates, markers  what a file says beyond the mechanics, by the names of its coordinates
    groups                named groups of muscles
    left_out              what the file has beyond the model, with lines: elements that were not read, unused surfaces,
                          colors, publications. `save` does not write them

    >>> import myoquat as mq
    >>> from myoquat.joints import SphericalJoint
    >>> from myoquat.muscle import PathPoint
    >>> upper = mq.Body("upper", "ground", SphericalJoint(), mass=2.0, inertia=(1, 1, 1, 0, 0, 0))
    >>> arm = mq.ArticulatedSystem((upper,))
    >>> path = (PathPoint("ground", (-3.0, 0, 0)), PathPoint("upper", (0, 0, -4.0)))
    >>> model = mq.Model(arm, (mq.Muscle("flexor", path),))
    >>> mq.path_lengths(model, [1.0, 0, 0, 0])
    array([5.])
    """

    constants: ClassVar[tuple[str, ...]] = ("start_q", "start_u")
    system: ArticulatedSystem
    muscles: tuple[Muscle, ...] = ()
    name: str = "model"
    description: str = ""
    start_q: tuple[float, ...] | None = None
    start_u: tuple[float, ...] | None = None
    file: Path | None = field(default=None, compare=False)
    coordinates: tuple[Coordinate, ...] = ()
    couplers: tuple[Coupler, ...] = ()
    markers: tuple[Marker, ...] = ()
    limits: tuple[CoordinateLimit, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    forces: tuple[PassiveForce, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    inputs: tuple[PrescribedInput, ...] = ()
    groups: tuple[MuscleGroup, ...] = ()
    left_out: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        named: dict[str, Sequence[Any]] = {
            "muscle": self.muscles,
            "group": self.groups,
            "coordinate": self.coordinates,
            "actuator": self.actuators,
        }
        for noun, parts in named.items():
            for name, count in Counter(part.name for part in parts).items():
                if count > 1:
                    raise ModelError(f"the name {name!r} is taken twice", element=f"{noun} {name!r}")
        acting: Any = *self.muscles, *self.limits, *self.forces, *self.actuators, *self.constraints
        for part in (*acting, *self.coordinates, *self.couplers, *self.markers):
            part.check(self.system)
        for group in self.groups:
            group.check(self.muscle_names)
        check_couplers(self.couplers)
        for given in self.inputs:
            given.check((*self.muscle_names, *self.control_names))
        for constraint in self.constraints:
            for key, value in vars(constraint).items():
                if callable(value):  # which no file can hold
                    raise ModelError(
                        f"it holds a Python function as its {key!r}, which a model cannot; simulate(..., "
                        "constraints=[...]) takes it",
                        element=constraint.label,
                    )
        if self.start_q is not None:
            self.system.check_q(self.start_q)
        if self.start_u is not None:
            self.system.check_u(self.start_u)

    def __repr__(self) -> str:
        """A line: the name, and how many of what."""
        counts = (
            counted(len(self.system.bodies), "body", "bodies"),
            counted(self.system.nq, "coordinate", "coordinates"),
            counted(len(self.muscles), "muscle", "muscles"),
        )
        return f"<Model {self.name!r}: {', '.join(counts)}>"

    def _repr_html_(self) -> str:
        """The system with a table of its bodies, and a table of the muscles, for Jupyter."""
        muscles = [
            (m.name, m.law.kind if m.law else "", m.path.points[0].body, m.path.points[-1].body) for m in self.muscles
        ]
        table = html_table(("muscle", "law", "origin", "insertion"), muscles) if muscles else ""
        return f"<p>{html.escape(repr(self))}</p>{self.system._repr_html_()}{table}"

    @cached_property
    def muscle_names(self) -> tuple[str, ...]:
        """Names of the muscles, in the order of every result."""
        return tuple(muscle.name for muscle in self.muscles)

    @cached_property
    def paths(self) -> tuple[MusclePath, ...]:
        """The path of every muscle, in the order of every result. Equal ones are computed once."""
        return tuple(muscle.path for muscle in self.muscles)

    @cached_property
    def paths_on_bones(self) -> tuple[MusclePath, ...]:
        """The path of points of every muscle (`myoquat.muscle.path.paths_on_bones`)."""
        found = paths_on_bones(self.muscles)
        return self.paths if all(a is b for a, b in zip(found, self.paths, strict=True)) else found

    @cached_property
    def open_laws(self) -> dict[str, tuple[str, ...] | None]:
        """The muscles whose force is not determined: the parameters that their laws leave open, None without a law."""
        laws = {muscle.name: None if muscle.law is None else muscle.law.open_parameters() for muscle in self.muscles}
        return {name: lacking for name, lacking in laws.items() if lacking is None or lacking}

    @cached_property
    def control_names(self) -> tuple[str, ...]:
        """Names of the actuators' controls, in the order of every input: the actuator's own where it has one."""
        return tuple(name for actuator in self.actuators for name in actuator.control_names)

    @property
    def start(self) -> np.ndarray:
        """(nq,) the coordinates at the start: start_q, or neutral ones."""
        return self.system.neutral() if self.start_q is None else np.array(self.start_q)

    @property
    def driven(self) -> frozenset[str]:
        """Names of the coordinates that couplers drive."""
        return frozenset(coupler.dependent for coupler in self.couplers)

    @property
    def locked(self) -> frozenset[str]:
        """Names of the coordinates that are locked."""
        return frozenset(coordinate.name for coordinate in self.coordinates if coordinate.locked)

    @property
    def _acting(self) -> tuple[object, ...]:
        """All beside the system that the model computes with."""
        own = (self.inputs,) if self.inputs else ()
        return self.muscles, self.limits, self.forces, self.actuators, self.couplers, self.constraints, *own

    def pose(self, values: Mapping[str, ArrayLike] | None = None) -> Array:
        """(..., nq) the start with coordinates set by name, angles [rad] and lengths [m] that broadcast.

        Angles of a model file that a quaternion has replaced are coordinates too; couplers are followed. Raises
        ValueError for a name that is unknown.

        >>> import myoquat as mq
        >>> model = mq.load_model("two_link").with_rotations("sequence")
        >>> model.pose({"A.p2": 0.5}).round(2)[:3]
        array([ 1.06,  0.5 , -1.16])
        """
        values, system = dict(values or {}), self.system
        driven = [name for c in self.couplers for name in (c.dependent, c.independent)]
        named = conversion.named_system(system, [*values, *driven])
        own = {name: values.pop(name) for name in [*values] if name not in named.coordinate_names}  # of quaternions
        start = conversion.convert_coordinates(system, named, conversion.by_name(system, own, self.start))
        q = conversion.by_name(named, values, start)
        follow(self.couplers, named, q)
        return conversion.convert_coordinates(named, self.system, q)

    @cached_property
    def content_key(self) -> str:
        """SHA-256 of everything that the model computes with; equal models share compiled kernels."""
        return content_digest(self.system.content_key, *self._acting)

    def with_rotations(self, rotations: str | dict[str, str]) -> "Model":
        """The same model with its ball joints described otherwise.

        rotations: "quaternion", one of the twelve Euler sequences, "sequence" (each joint's own), or a mapping from
        body names to these. Lengths, torques and motion stay the same; `myoquat.joints.convert_coordinates` takes
        states along. The start is converted too; what `coordinates` says of ones that the new joints do not have is
        left out. Where the ranges hold both triples of angles of a rotation, that is meant which is nearer to the
        start's (`myoquat.joints.with_branches`). A joint with a locked or a prescribed angle stays as it is unless its
        body is named, since an angle of a quaternion cannot be locked alone.

        Raises ModelError where a coupler, a force or another part is of an angle without a name of its own, such as
        "arm.p1", whose sequence is replaced. The same name would be another angle.
        """
        ranges = {c.name: c.range for c in self.coordinates if c.range is not None}
        driven = [coupler.dependent for coupler in self.couplers]
        locked = [coordinate.name for coordinate in self.coordinates if not coordinate.free]
        couplings = linear_couplings(self.couplers)
        system = conversion.with_rotations(self.system, rotations, ranges, couplings, driven, locked)
        followed = {name for name, (_, place) in system.angle_names.items() if place >= 3}
        couplers = tuple(c for c in self.couplers if c.dependent not in followed)
        start_q = self.start
        renamed = {  # names of coordinates that both systems have, but as angles of two sequences
            name
            for old, new in zip(self.system.bodies, system.bodies, strict=True)
            if old.joint.kind == new.joint.kind == "euler" and old.joint.pattern != new.joint.pattern
            for name in {*old.names_of_coordinates} & {*new.names_of_coordinates}
        }
        if used := sorted(renamed & {*_texts(self._acting)}):
            raise ModelError(
                f"{used[0]!r} is an angle of the former sequence without a name of its own, and a part of the model "
                "depends on it: give Body.coordinate_names"
            )
        known = {*system.coordinate_names, *system.angle_names} - renamed
        kept = tuple(coordinate for coordinate in self.coordinates if coordinate.name in known)
        changed: dict[str, Any] = {"system": system, "file": None, "coordinates": kept, "couplers": couplers}
        with warnings.catch_warnings():  # the start's angles become those of reference
            warnings.simplefilter("ignore", CoordinateWarning)
            there = conversion.convert_coordinates(self.system, system, start_q)
        changed["system"] = conversion.start_branches(system, self.system, there, start_q)
        if self.start_q is not None:
            changed["start_q"] = there
        if self.start_u is not None:
            start_u = conversion.convert_velocities(self.system, system, start_q, self.start_u)
            changed["start_u"] = start_u
        return replace(self, **changed)

    def with_fitted_paths(self, paths: Mapping[str, tuple[PathPoint, ...]]) -> "Model":
        """The same model with other paths for the named muscles, such as those of `myoquat.analysis.fits.fit_paths`.

        Their points, surfaces and pulleys are kept as `MusclePath.anatomy`: there the muscles pull on bones. Raises
        ModelError for a name of no muscle, and for paths that the system cannot have.

        >>> import myoquat as mq
        >>> from myoquat.muscle import PoseFunction, PoseVariables, fitted_path
        >>> model = mq.load_model("two_link")
        >>> length = PoseFunction(PoseVariables(), ((),), (0.5,))  # a constant length
        >>> mq.path_lengths(model.with_fitted_paths({"m1": fitted_path(length)}), model.start)[0]
        np.float64(0.5)
        """
        unknown = [name for name in paths if name not in self.muscle_names]
        if unknown:
            raise ModelError("the model has no muscle of this name", element=f"muscle {unknown[0]!r}")

        def moved(muscle: Muscle) -> Muscle:
            return replace(muscle, path=MusclePath(tuple(paths[muscle.name]), anatomy=muscle.path.on_bones))

        muscles = (moved(muscle) if muscle.name in paths else muscle for muscle in self.muscles)
        return replace(self, muscles=tuple(muscles), file=None)

    def with_rigid_tendons(self) -> "Model":
        """The same model with tendons that do not stretch; itself where none does.

        >>> import myoquat as mq
        >>> from myoquat.muscle import PathPoint
        >>> from myoquat.muscle.laws import Thelen2003
        >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)))
        >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
        >>> law = Thelen2003(1000.0, optimal_fiber_length=0.2, tendon_slack_length=0.3, tendon="elastic")
        >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, law),))
        >>> model.with_rigid_tendons().muscles[0].law.tendon
        'rigid'
        """
        return self._rigid or self

    def without_muscles(self) -> "Model":
        """The same model without muscles, their groups and their inputs.

        >>> import myoquat as mq
        >>> mq.load_model("two_link").without_muscles().muscles
        ()
        """
        inputs = tuple(given for given in self.inputs if given.name in self.control_names)
        return replace(self, muscles=(), groups=(), inputs=inputs)

    def with_degroote_fregly_muscles(self) -> "Model":
        """The same model with the curves of De Groote and Fregly (2016) in place of those of its Hill-type muscles.

        Strengths, lengths, pennation, greatest speed, tendon and damping stay, and the time constants of activation
        dynamics too, as Moco's ModOpReplaceMusclesWithDeGrooteFregly2016 has it. ModelError for a muscle of another
        law.

        >>> import myoquat as mq
        >>> from myoquat.muscle import PathPoint
        >>> from myoquat.muscle.laws import Thelen2003
        >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)))
        >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
        >>> law = Thelen2003(1000.0, optimal_fiber_length=0.2, tendon_slack_length=0.3)
        >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, law),))
        >>> model.with_degroote_fregly_muscles().muscles[0].law.kind
        'degroote_fregly2016'
        """

        def replaced(muscle: Muscle) -> Muscle:
            law, dynamics = muscle.law, muscle.activation_dynamics
            if not isinstance(law, HillLaw):
                raise ModelError(
                    "its law is no Hill-type muscle, which that of De Groote and Fregly replaces",
                    element=f"muscle {muscle.name!r}",
                )
            curves = DeGrooteFregly2016(
                law.max_isometric_force, law.optimal_fiber_length, law.tendon_slack_length, law.pennation,
                law.max_contraction_velocity, law.tendon, law.tendon_strain, 0.0,
                passive_strain=getattr(law, "passive_strain", 0.6), damping=getattr(law, "damping", 0.0),
            )  # fmt: skip
            own = None if dynamics is None else ActivationDynamics(dynamics.activation_time, dynamics.deactivation_time)
            return replace(muscle, law=curves, activation_dynamics=own)

        return replace(self, muscles=tuple(map(replaced, self.muscles)))

    def with_welds(self, joints: Collection[str]) -> "Model":
        """The same model whose named joints are fixed at zero; other coordinates keep their start.

        ModelError for a joint that the model does not have, and for parts that need a coordinate of a fixed one.

        >>> import myoquat as mq
        >>> hinge = mq.joints.RevoluteJoint((0, 1, 0))
        >>> arm = mq.Body("arm", "ground", hinge, joint_name="elbow"), mq.Body("hand", "arm", hinge, joint_name="wrist")
        >>> mq.Model(mq.ArticulatedSystem(arm)).with_welds(["wrist"]).system.coordinate_names
        ('arm.angle',)
        """
        check_types(joints=(joints, (list, tuple, set, frozenset)))
        start = dict(zip(self.system.coordinate_names, self.start, strict=True))
        known = {body.joint_name or body.name for body in self.system.bodies}
        if unknown := [name for name in joints if name not in known]:
            raise ModelError(f"the model has no joint {unknown[0]!r}; known: {', '.join(sorted(known))}")
        bodies = tuple(
            replace(body, joint=FixedJoint(), coordinate_names=None, spring_mount=None)
            if (body.joint_name or body.name) in joints
            else body
            for body in self.system.bodies
        )
        system = replace(self.system, bodies=bodies)
        kept = set(system.coordinate_names)
        return replace(
            self,
            system=system,
            coordinates=tuple(c for c in self.coordinates if c.name in kept),
            start_q=tuple(start[name] for name in system.coordinate_names),
            start_u=None,
        )

    def with_smooth_activation(self, smoothing: float = 0.1) -> "Model":
        """The same model with "smooth" activation dynamics in place of "piecewise"; other forms stay.

        The time constants then blend into each other, with b = `smoothing`; 0.1 is that of De Groote 2016.

        The derivative of "piecewise" jumps where excitation and activation are equal, as in every muscle at rest, and
        solvers with exact derivatives may stop there. With b = 0.1 the rate is nearly the mean of rising and falling.
        With b = 10 it is 88 % of the faster one where e - a = 0.1, and solvers need more iterations.

        >>> from dataclasses import replace
        >>> import myoquat as mq
        >>> from myoquat.muscle import ActivationDynamics
        >>> model = mq.load_model("two_link")
        >>> jumping = [replace(m, activation_dynamics=ActivationDynamics(form="piecewise")) for m in model.muscles]
        >>> replace(model, muscles=tuple(jumping)).with_smooth_activation().muscles[0].activation_dynamics.form
        'smooth'
        """

        def smoothed(muscle: Muscle) -> Muscle:
            own = muscle.activation_dynamics
            if own is None or own.form != "piecewise":
                return muscle
            return replace(muscle, activation_dynamics=replace(own, form="smooth", smoothing=smoothing))

        return replace(self, muscles=tuple(map(smoothed, self.muscles)))

    @cached_property
    def _rigid(self) -> "Model | None":
        """The model with tendons that do not stretch; None where none does."""
        laws = [m.law for m in self.muscles]
        if not any(isinstance(law, HillLaw) and law.tendon != "rigid" for law in laws):
            return None
        changed = [replace(law, tendon="rigid") if isinstance(law, HillLaw) else law for law in laws]
        muscles = (replace(m, law=law) for m, law in zip(self.muscles, changed, strict=True))
        return replace(self, muscles=tuple(muscles))

    def save(self, path: str | Path, strict: bool = False, overwrite: bool = False) -> None:
        """Write the model in the format that the suffix of the path names.

        .toml  the project's own format, which `load_model` reads back equal
        .osim  OpenSim
        .xml   MuJoCo's MJCF
        .urdf  for a model without muscles

        One UnwrittenWarning lists the parts that another program's file cannot hold; `left_out` lists what the file of
        this model has beyond it. If `strict`, it is an error.
        Raises FileExistsError for an existing file unless `overwrite` is True. Then the file is replaced at once or, if
        writing fails, left as it was. Raises ModelError for a suffix that names no format. In `.toml` the class of a
        joint, force or other part must be the package's own or registered as an entry point, else ModelError.
        """
        library = importlib.import_module("myoquat.data.library")  # a package above: it imports models
        library.save_model(self, path, strict, overwrite)

    def check_activation(self, activation: ArrayLike, name: str = "activation") -> Array:
        """activation as a finite float64 array (..., m) in [0, 1], or ValueError, in which it is called `name`, naming
        the muscle; symbols pass."""
        return _within(name, activation, self.muscle_names, np.tile((0.0, 1.0), (len(self.muscles), 1)))

    def check_controls(self, controls: ArrayLike, acting: bool = False) -> Array:
        """controls as a finite float64 array (..., k) in the order of `control_names`, within the actuators' bounds.

        Raises ValueError naming the control; symbols pass. If `acting`, activations of delayed actuators, which have no
        bounds, stand in place of their controls.
        """
        bounds = np.array([b for actuator in self.actuators for b in actuator.bounds]).reshape(-1, 2)
        if acting:
            bounds[[*delayed(self)]] = -np.inf, np.inf
        return _within("controls", controls, self.control_names, bounds)


def _within(name: str, values: ArrayLike, names: tuple[str, ...], bounds: Array) -> Array:
    """The values as a finite float64 array (..., n) between bounds (n, 2), or ValueError naming one. Symbols pass."""
    checked = check_state(name, values, names)
    if is_symbolic(checked):
        return checked
    outside = (checked < bounds[:, 0]) | (checked > bounds[:, 1])
    if np.any(outside):
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        low, high = bounds[where[-1]]
        raise ValueError(
            f"{name}{list(where)} ({names[where[-1]]}) is {checked[where]:.6g}; it must lie in [{low:g}, {high:g}]"
        )
    return checked


def _texts(part: Any) -> Iterator[str]:
    """Every text in records, tuples and mappings."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping):
        yield from _texts((*part.keys(), *part.values()))
    elif isinstance(part, (tuple, list)):
        for item in part:
            yield from _texts(item)
    elif is_dataclass(part) and not isinstance(part, type):
        yield from _texts([getattr(part, f.name) for f in fields(part)])


# ---- What a model must have before forces of its muscles are computed -----------------------------------------------


def check_laws(model: Model, given: Collection[str] = ()) -> None:
    """ModelError for a muscle without a force law, or with a law that leaves a parameter open.

    given: full names "muscles.<muscle>.<parameter>" of the parameters whose values come from outside the model, such as
    those that a study varies. These may stay open.

    >>> import myoquat as mq
    >>> from myoquat.muscle import PathPoint, check_laws
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> check_laws(mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path),)))
    Traceback (most recent call last):
        ...
    myoquat.joints.errors.ModelError: muscle 'biceps': no force law is given
    """
    check_types(model=(model, Model))
    for name, left_open in model.open_laws.items():
        element = f"muscle {name!r}"
        if left_open is None:
            raise ModelError("no force law is given", element=element, file=model.file)
        lacking = [key for key in left_open if f"muscles.{name}.{key}" not in given]
        if lacking:
            raise ModelError(f"no {', '.join(lacking)} is given", element=element, file=model.file)
