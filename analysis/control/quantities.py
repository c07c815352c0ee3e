"""Names of a problem: which unknown a name means, and the bounds that are given by names."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from myoquat.analysis.control.plants import Plant
from myoquat.analysis.control.plants.base import Bound, interval
from myoquat.analysis.control.points import field_of
from myoquat.core import Array, difflib, frozen, real_array

__all__ = ["Ends", "Quantities", "Unknown"]

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
        self.plant = plant
        self.unknowns: dict[str, Unknown] = {}
        self.angles: tuple[str, ...] = ()
        self.balls: dict[str, tuple[slice, slice]] = {}
        if plant.system is not None:
            self.angles = tuple(plant.system.angle_names)
            self._add_coordinates()
        coordinates = (*self.unknowns, *self.angles)
        self.fields = {"coordinates": coordinates, "velocities": plant.velocity_names, "states": plant.state_names,
                       "controls": plant.control_names}  # fmt: skip
        for field, names in zip(("u", "w", "controls"), list(self.fields.values())[1:], strict=True):
            for place, name in enumerate(names):
                key = f"{FIELDS[field]}.{name}" if name in self.unknowns else name
                self.unknowns[key] = Unknown(field, place)

    def _add_coordinates(self) -> None:
        system = self.plant.system
        assert system is not None
        names = system.coordinate_names
        for body, iq, iu in zip(system.bodies, system.q_slices, system.u_slices, strict=True):
            flat = body.joint.facts.quaternion
            for k in range(body.joint.nu if flat is None else flat):
                self.unknowns[names[iq.start + k]] = Unknown("z", iu.start + k)
            if flat is not None and body.joint.nu:
                self.balls[body.name] = slice(iq.start + flat, iq.stop), slice(iu.start + flat, iu.stop)

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
        if name in self.plant.unknown.names:
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
        plain = {k: v for k, v in given.items() if k not in WHOLE and k not in self.balls}
        ends = self.bounds(plain, where)
        pose = np.full(self.plant.nq, np.nan)
        self._check_once(given, where)
        for name in self.balls:
            if name in given:
                pose[self.balls[name][0]] = self._rotation(name, given[name], where)
        if "q" in given:
            pose = self._whole_pose(given["q"], where)
        if "u" in given:
            values = self._whole_velocity(given["u"], where)
            ends.bounds.update({Unknown("u", i): interval(where, float(x)) for i, x in enumerate(values)})
        ends.bounds.update(self._fixed(pose))
        self._put_fixed(ends.bounds, pose)
        return Ends(ends.bounds, ends.angles, pose if not np.isnan(pose).all() else None)

    def _check_once(self, given: Mapping[str, Any], where: str) -> None:
        """ValueError for a coordinate, rotation or velocity that a whole pose or velocity beside it fixes too."""
        for whole, field, others in (("q", "z", self.balls), ("u", "u", {})):
            twice = [n for n in given if n in others or (n in self.unknowns and self.unknowns[n].field == field)]
            if whole in given and twice:
                raise ValueError(f"{where}: {twice[0]!r} is given twice, by its name and by {whole!r}")

    def _whole_velocity(self, value: Any, where: str) -> Array:
        values, n = real_array(f"{where}: u", value), self.plant.nu
        if values.shape not in ((), (n,)) or not np.isfinite(values).all():
            raise ValueError(f"{where}: 'u' needs one finite number for all or ({n},) of them, not {value!r}")
        return np.broadcast_to(values, (n,))

    def _put_fixed(self, bounds: Mapping[Unknown, Bound], pose: Array) -> None:
        """Write plain coordinates that are fixed by name into the pose."""
        system = self.plant.system
        for name, unknown in self.unknowns.items():
            if unknown.field == "z" and system is not None and unknown in bounds:
                bound = bounds[unknown]
                if bound.lower == bound.upper:
                    pose[system.coordinate_names.index(name)] = bound.lower

    def _rotation(self, name: str, value: Any, where: str) -> Array:
        Q = real_array(f"{where}: {name}", value)
        if Q.shape != (4,) or not abs(np.linalg.norm(Q) - 1) < 1e-6:
            raise ValueError(f"{where}: {name!r} needs a unit quaternion (4,), not {value!r}")
        return Q

    def _whole_pose(self, value: Any, where: str) -> Array:
        if self.plant.system is None:
            raise ValueError(f"{where}: 'q' is the pose of a model; equations of one's own have none")
        try:
            return self.plant.system.check_q(value).copy()
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None

    def _fixed(self, pose: Array) -> dict[Unknown, Bound]:
        """Bounds that hold a pose: plain coordinates at their values, rotations at the centre of their charts."""
        system, found = self.plant.system, {}
        if system is None:
            return {}
        for name, unknown in self.unknowns.items():
            if unknown.field == "z":
                value = float(pose[system.coordinate_names.index(name)])
                if not np.isnan(value):
                    found[unknown] = Bound(value, value)
        for q_slice, u_slice in self.balls.values():
            if not np.isnan(pose[q_slice]).any():
                found |= {Unknown("z", i): Bound(0.0, 0.0) for i in range(u_slice.start, u_slice.stop)}
        return found
