"""The compared quantities of a model at poses, and which name of one model is which of another."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from myoquat.analysis.recruitment.moment_arms import moment_arms
from myoquat.core import Array, frozen, indices_of
from myoquat.dynamics.constraints import assemble, constraints_of
from myoquat.joints.vectors import full, matvec
from myoquat.muscle import Model, path_lengths
from myoquat.muscle.evaluate import tensions_at_rest


@frozen
class BodyMass:
    """Mass [kg], its centre (3,) [m] in the body's frame, inertia (3, 3) [kg m^2] about it in the body's axes."""

    mass: float
    center: Array
    inertia: Array


# Values of a side at n poses by quantity and name: "value" (n,) of coordinates, "length" (n,) [m] and "force" (n,) [N],
# NaN without a law, of muscles, their "moment arm" (n, columns) [m], "centre in the ground" (n, 3) [m] of bodies
Quantities = dict[tuple[str, str], Array]
CENTER = "centre in the ground"


def by_name(names: Iterable[str], arrays: Mapping[str, Array]) -> Quantities:
    """Columns (n, k, ...) of k names, by quantity and name."""
    return {(quantity, name): x[:, k] for k, name in enumerate(names) for quantity, x in arrays.items()}


@frozen
class Request:
    """Poses, and the quantities that are wanted there.

    values       (n,) of coordinates by name; the others are at the start
    coordinates  those that are wanted
    arms         columns of moment arms that are wanted
    activation   of all muscles
    """

    values: Mapping[str, Array]
    coordinates: Collection[str]
    arms: Collection[str]
    activation: float = 1.0


class Side:
    """A model in this package, or a file in its engine.

    label        the name of the side in a report
    coordinates  names of what tells a pose: angles [rad], lengths [m] and the components of quaternions
    angles       other names for a pose, the angles of a file that quaternions have replaced, each with its body
    arm_names    the coordinates that moment arms belong to: not those of quaternions and floating bodies
    dependent    the coordinates that follow others
    muscles      names of the muscles
    bodies       the bodies by name
    """

    label: str
    coordinates: tuple[str, ...]
    angles: Mapping[str, str] = MappingProxyType({})
    arm_names: Collection[str]
    dependent: Collection[str]
    muscles: tuple[str, ...]
    bodies: Mapping[str, BodyMass]

    def at(self, request: Request) -> Quantities:
        """The quantities at poses."""
        raise NotImplementedError

    def drawn_path(self, muscle: str, values: Mapping[str, float]) -> tuple[float, list[tuple[Array, bool]]] | None:
        """A muscle's length, and the points (3,) of its path in the ground's frame at a pose, each with whether the
        piece before it runs over a surface; None for a side that does not tell."""
        return None


class ModelSide(Side):
    """A model of this package. `about_axes`: as of `moment_arms`."""

    def __init__(self, model: Model, label: str, about_axes: Sequence[Sequence[str]] = ()) -> None:
        self.model, self.label, self.about_axes, system = model, label, about_axes, model.system
        self.coordinates, self.muscles = system.coordinate_names, model.muscle_names
        self.angles = {name: system.bodies[i].name for name, (i, _) in system.angle_names.items()}
        plain = (body for body in system.bodies if body.joint.facts.quaternion is None)
        self.arm_names = {*system.angle_names, *(name for body in plain for name in body.names_of_coordinates)}
        self.dependent = {coupler.dependent for coupler in model.couplers}
        self.bodies = {
            body.name: BodyMass(body.mass, np.array(body.center_of_mass), full(np.array(body.inertia)))
            for body in system.bodies
        }

    def at(self, request: Request) -> Quantities:
        """As for every side; poses are brought onto the constraints, and all quantities are NaN where that fails."""
        q = np.atleast_2d(self.model.pose(request.values))
        if constraints_of(self.model):
            q = assemble(self.model, q, strict=False)
        assembled = np.isfinite(q).all(axis=-1)
        found = self._quantities(q[assembled], request)
        for key, values in found.items():
            found[key] = np.full((len(q), *values.shape[1:]), np.nan)
            found[key][assembled] = values
        return found

    def _quantities(self, q: Array, request: Request) -> Quantities:
        model, system, poses = self.model, self.model.system, self.model.system.poses(q)
        arms: Any = np.zeros((len(q), len(model.muscles), len(request.arms)))
        if request.arms:
            follows = bool(model.constraints)
            arms = moment_arms(model, q, request.arms, follow_constraints=follows, about_axes=self.about_axes)
        lengths, tensions = path_lengths(model, q), self._tensions(q, request.activation)
        arms = np.asarray(arms).reshape(*lengths.shape, len(request.arms))
        found = {("value", name): system.coordinate(name, q) for name in request.coordinates}
        found |= by_name(self.muscles, {"length": lengths, "moment arm": arms, "force": tensions})
        for body in system.bodies:
            R, p = poses[body.name]
            found[CENTER, body.name] = np.broadcast_to(p + matvec(R, np.array(body.center_of_mass)), (len(q), 3))
        return found

    def _tensions(self, q: Array, activation: float) -> Array:
        found = np.full((len(q), len(self.model.muscles)), np.nan)
        driven = [k for k, muscle in enumerate(self.model.muscles) if muscle.law is not None]
        if driven:
            model = replace(self.model, muscles=tuple(self.model.muscles[k] for k in driven), groups=(), inputs=())
            found[:, driven] = tensions_at_rest(model, q, np.full((len(q), len(driven)), activation))
        return found


SAME, SPELLING, MAPPED = "same name", "same letters and digits", "mapped"


@frozen
class Match:
    """A name of A and the one of B that is compared with it.

    first   name in A
    second  name in B
    rule    how the pair was found: "same name", "same letters and digits" (upper and lower case and separators are
            ignored), or "mapped" by the caller

    >>> from myoquat.analysis.comparison import Match
    >>> Match("knee_r", "Knee R", "same letters and digits").second
    'Knee R'
    """

    first: str
    second: str
    rule: str


@frozen
class Matching:
    """The pairs of names, and those of A and of B that are left over.

    >>> from myoquat.analysis.comparison import Match, Matching
    >>> Matching((Match("soleus_r", "soleus_r", "same name"),), only_first=("tibpost_r",)).names
    {'soleus_r': 'soleus_r'}
    """

    pairs: tuple[Match, ...] = ()
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = field(default=())

    @property
    def names(self) -> dict[str, str]:
        """Names of B by those of A."""
        return {pair.first: pair.second for pair in self.pairs}


def match_names(
    what: str, first: Sequence[str], second: Sequence[str], mapping: Mapping[str, str] | None = None
) -> Matching:
    """Pair names: as `mapping` says, then equal ones, then those that agree in letters and digits and are unambiguous.

    ValueError for a mapping of names that do not exist, or of two names of A to one of B.
    """
    mapping = mapping or {}
    for side, mapped, known in (("A", list(mapping), first), ("B", list(mapping.values()), second)):
        indices_of(f"name among the {what} of {side}:", mapped, known)
    if twice := [name for name, count in Counter(mapping.values()).items() if count > 1]:
        raise ValueError(f"{what}: two names are mapped to {twice[0]!r}")
    rules = {name: (other, MAPPED) for name, other in mapping.items()}
    taken = set(mapping.values())
    for name in first:
        if name not in rules and name in second and name not in taken:
            rules[name] = name, SAME
            taken.add(name)
    left = _by_letters([name for name in first if name not in rules])
    right = _by_letters([name for name in second if name not in taken])
    for letters, names in left.items():
        if len(names) == len(right.get(letters, ())) == 1:
            rules[names[0]] = right[letters][0], SPELLING
    pairs = tuple(Match(name, *rules[name]) for name in first if name in rules)
    found = {pair.second for pair in pairs}
    return Matching(
        pairs, tuple(name for name in first if name not in rules), tuple(name for name in second if name not in found)
    )


def _by_letters(names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(re.sub(r"[\W_]+", "", name).casefold(), []).append(name)
    found.pop("", None)
    return found
