"""The compared quantities of a model at poses, and which name of one model is which of another."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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

# Values of a side at n poses by quantity and name: "value" (n,) of coordinates, "length" (n,) [m] and "force" (n,) [N],
# NaN without a law, of muscles, their "moment arm" (n, columns) [m], "centre in the ground" (n, 3) [m] of bodies. At
# any pose a body has its "mass" (1,) [kg], "centre" (1, 3) [m] and "inertia" (1, 3, 3) [kg m^2] about it, in its axes.
Quantities = dict[tuple[str, str], Array]
CENTER = "centre in the ground"


def by_name(names: Iterable[str], arrays: Mapping[str, Array]) -> Quantities:
    """Columns (n, k, ...) of k names, by quantity and name."""
    return {(quantity, name): x[:, k] for k, name in enumerate(names) for quantity, x in arrays.items()}


class Side:
    """A model in this package, or a file in its engine.

    label        the name of the side in a report
    coordinates  names of what tells a pose: angles [rad], lengths [m] and the components of quaternions
    angles       other names for a pose, the angles of a file that quaternions have replaced, each with its body
    arm_names    the coordinates that moment arms belong to: not those of quaternions and floating bodies
    dependent    the coordinates that follow others
    muscles      names of the muscles
    bodies       names of the bodies
    masses       their mass, centre and inertia
    """

    label: str
    coordinates: tuple[str, ...]
    angles: Mapping[str, str] = MappingProxyType({})
    arm_names: Collection[str]
    dependent: Collection[str]
    muscles: tuple[str, ...]
    bodies: tuple[str, ...]
    masses: Quantities

    def at(
        self, values: Mapping[str, Array], coordinates: Collection[str], arms: Collection[str], activation: float
    ) -> Quantities:
        """The quantities at the poses of these values (n,) of coordinates by name; the others are at the start. Wanted
        are the values of some coordinates, and moment arms in some columns. All muscles have the activation."""
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
        self.bodies = system.body_names
        self.masses = {}
        for body in system.bodies:
            parts = {"mass": body.mass, "centre": body.center_of_mass, "inertia": full(np.array(body.inertia))}
            self.masses |= {(quantity, body.name): np.array([x]) for quantity, x in parts.items()}

    def at(
        self, values: Mapping[str, Array], coordinates: Collection[str], arms: Collection[str], activation: float
    ) -> Quantities:
        """As for every side; poses are brought onto the constraints, and all quantities are NaN where that fails."""
        q = np.atleast_2d(self.model.pose(values))
        if constraints_of(self.model):
            q = assemble(self.model, q, strict=False)
        assembled = np.isfinite(q).all(axis=-1)
        found = self._quantities(q[assembled], coordinates, arms, activation)
        for key, known in found.items():
            found[key] = np.full((len(q), *known.shape[1:]), np.nan)
            found[key][assembled] = known
        return found | self.masses

    def _quantities(
        self, q: Array, coordinates: Collection[str], arms: Collection[str], activation: float
    ) -> Quantities:
        model, system, poses = self.model, self.model.system, self.model.system.poses(q)
        columns: Any = np.zeros((len(q), len(model.muscles), len(arms)))
        if arms:
            follows = bool(model.constraints)
            columns = moment_arms(model, q, arms, follow_constraints=follows, about_axes=self.about_axes)
        lengths = path_lengths(model, q)
        columns = np.asarray(columns).reshape(*lengths.shape, len(arms))
        found = {("value", name): system.coordinate(name, q) for name in coordinates}
        of_muscles = {"length": lengths, "moment arm": columns, "force": self._tensions(q, activation)}
        found |= by_name(self.muscles, of_muscles)
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
    for rule, key in ((SAME, str), (SPELLING, _letters)):
        taken = {other for other, _ in rules.values()}
        left = _grouped(key, (name for name in first if name not in rules))
        right = _grouped(key, (name for name in second if name not in taken))
        pairs = ((names, right.get(one, [])) for one, names in left.items() if one)
        rules |= {names[0]: (others[0], rule) for names, others in pairs if len(names) == len(others) == 1}
    matches = tuple(Match(name, *rules[name]) for name in first if name in rules)
    partners = {match.second for match in matches}
    rest = (name for name in first if name not in rules), (name for name in second if name not in partners)
    return Matching(matches, *map(tuple, rest))


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _grouped(key: Callable[[str], str], names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(key(name), []).append(name)
    return found
