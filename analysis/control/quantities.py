"""Names of a problem: which unknown a name means, and the bounds that are given by names."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from myoquat.core import Array, difflib, frozen, real_array

from .plants import Plant
from .plants.base import Bound, interval
from .points import field_of

WHOLE = ("q", "u")
FIELDS = {"z": "coordinates", "u": "velocities", "w": "states", "controls": "controls"}  # of a point


class Unknown(NamedTuple):
    """A field of the unknowns and the place in it."""

    field: str
    place: int


@frozen(eq=False)
class Ends:
    """The conditions at one end: bounds of unknowns, of angles that a quaternion has replaced, and fixed poses."""

    bounds: dict[Unknown, Bound]
    angles: dict[str, Bound]
    pose: Array | None
    """(nq,) with NaN where nothing fixes a coordinate; None without any."""


class Quantities:
    """The names of a plant's unknowns."""

    def __init__(self, plant: Plant) -> None:
        self.plant, system = plant, plant.system
        self.unknowns: dict[str, Unknown] = {}
        self.angles: tuple[str, ...] = () if system is None else tuple(system.angle_names)
        self.balls: dict[str, tuple[slice, slice]] = {}
        bodies = () if system is None else zip(system.bodies, system.q_slices, system.u_slices, strict=True)
        for body, iq, iu in bodies:
            flat, nu = body.joint.facts.quaternion, body.joint.nu
            for k, name in enumerate(body.names_of_coordinates[: nu if flat is None else flat]):
                self.unknowns[name] = Unknown("z", iu.start + k)
            if flat is not None and nu:
                self.balls[body.name] = slice(iq.start + flat, iq.stop), slice(iu.start + flat, iu.stop)
        self.fields = {"coordinates": (*self.unknowns, *self.angles), "velocities": plant.velocity_names,
                       "states": plant.state_names, "controls": plant.control_names}  # fmt: skip
        for field, names in zip(("u", "w", "controls"), list(self.fields.values())[1:], strict=True):
            for place, name in enumerate(names):
                key = f"{FIELDS[field]}.{name}" if name in self.unknowns else name
                self.unknowns[key] = Unknown(field, place)

    @property
    def constant(self) -> set[str]:
        """The names of locked coordinates and of their velocities, which are zero."""
        locked = set(self.plant.constraints.locks.values()) if self.plant.constraints else set()
        return {key for key, own in self.unknowns.items() if own.field in ("z", "u") and own.place in locked}

    def spelled(self, name: str) -> str:
        """The name of an unknown as a `Point` takes it, whatever else has this name."""
        prefix = f"{FIELDS[self.unknowns[name].field]}."
        return name if name.startswith(prefix) else prefix + name

    def unknown(self, name: str, where: str) -> Unknown:
        """The unknown of a name; ValueError with the nearest names for one that is not there, and for one that is both
        a coordinate and a control."""
        field, bare = self._field_of(name, where)
        if field == "controls":
            return Unknown("controls", self.plant.control_names.index(bare))
        for key in (f"{field}.{bare}", bare):
            if key in self.unknowns:
                return self.unknowns[key]
        if name in self.plant.parameter_names:
            raise ValueError(f"{where}: {name!r} is a parameter; its bounds are given as `parameters`")
        system = self.plant.system
        if system is not None and name in system.coordinate_names:
            raise ValueError(
                f"{where}: {name!r} is a component of a quaternion, which has no bounds of its own. Fix the whole "
                f"rotation by the name of its body ({', '.join(self.balls)}), or use a PathConstraint"
            )
        known = [*self.unknowns, *self.angles, *self.balls]
        near = difflib.get_close_matches(name, known, n=3) or known[:8]
        raise ValueError(f"{where}: {name!r} does not exist; nearest: {', '.join(near)}")

    def _field_of(self, name: str, where: str) -> tuple[str, str]:
        try:
            return field_of(name, self.fields)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None

    def bounds(self, given: Mapping[str, Any], where: str) -> Ends:
        """Bounds by names; angles that a quaternion has replaced apart."""
        found, angles = {}, {}
        for name, value in given.items():
            field, bare = self._field_of(name, where)
            if field == "coordinates" and bare in self.angles:
                angles[bare] = interval(f"{where}: {name}", value)
            else:
                found[self.unknown(name, where)] = interval(f"{where}: {name}", value)
        return Ends(found, angles, None)

    def at_end(self, given: Mapping[str, Any], where: str) -> Ends:
        """What is given at one end, whole poses, velocities and rotations among it."""
        plant, system = self.plant, self.plant.system
        ends = self.bounds({k: v for k, v in given.items() if k not in WHOLE and k not in self.balls}, where)
        for whole, field, others in (("q", "z", self.balls), ("u", "u", {})):
            twice = [n for n in given if n in others or (n in self.unknowns and self.unknowns[n].field == field)]
            if whole in given and twice:
                raise ValueError(f"{where}: {twice[0]!r} is given twice, by its name and by {whole!r}")
        if "u" in given:
            values = real_array(f"{where}: u", given["u"])
            if values.shape not in ((), (plant.nu,)) or not np.isfinite(values).all():
                raise ValueError(
                    f"{where}: 'u' needs one finite number for all or ({plant.nu},) of them, not {given['u']!r}"
                )
            for i, x in enumerate(np.broadcast_to(values, (plant.nu,)).tolist()):
                ends.bounds[Unknown("u", i)] = Bound(x, x)
        if system is None:
            if "q" in given:
                raise ValueError(f"{where}: 'q' is the pose of a model; equations of one's own have none")
            return ends

        pose = np.full(plant.nq, np.nan)
        if "q" in given:
            try:
                pose = system.check_q(given["q"]).copy()
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
        for name, (in_q, in_u) in self.balls.items():
            if name in given:
                Q = real_array(f"{where}: {name}", given[name])
                if Q.shape != (4,) or not abs(np.linalg.norm(Q) - 1) < 1e-6:
                    raise ValueError(f"{where}: {name!r} needs a unit quaternion (4,), not {given[name]!r}")
                pose[in_q] = Q
            if not np.isnan(pose[in_q]).any():  # rotations are held at the centre of their charts
                ends.bounds.update({Unknown("z", i): Bound(0.0, 0.0) for i in range(in_u.start, in_u.stop)})
        for name, unknown in self.unknowns.items():
            if unknown.field == "z":  # fixed by the pose, or by name
                place = system.coordinate_names.index(name)
                if not np.isnan(pose[place]):
                    ends.bounds[unknown] = Bound(float(pose[place]), float(pose[place]))
                bound = ends.bounds.get(unknown)
                if bound is not None and bound.lower == bound.upper:
                    pose[place] = bound.lower
        return replace(ends, pose=None if np.isnan(pose).all() else pose)
