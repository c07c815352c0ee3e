"""Names of states and controls: those of Moco, which are paths, and those of a problem here."""

from collections.abc import Iterable, Mapping
from dataclasses import field

from myoquat.analysis.control.files.moco import joint_names
from myoquat.core.records import dataclass
from myoquat.data.omoco.patterns import matching
from myoquat.muscle.model import Model

__all__ = ["MocoNames", "tail"]

PREFIXES = ("", "/jointset", "/forceset")  # before a tail, in a whole path
SETS = ("jointset", "forceset", "bodyset", "markerset", "constraintset")


def tail(path: str) -> str:
    """A path without the set at its start: '/jointset/hip_r/hip_flexion_r/value' -> 'hip_r/hip_flexion_r/value'."""
    parts = path.strip("/").split("/")
    return "/".join(parts[1:] if parts[0] in SETS and len(parts) > 1 else parts)


@dataclass(frozen=True, eq=False)
class MocoNames:
    """Names of this package by the tails of Moco's paths.

    values    coordinates
    speeds    velocities
    states    states of muscles
    controls  controls, by the names of forces
    fibers    tails of tendon forces, which are fiber lengths in this package
    """

    values: Mapping[str, str]
    speeds: Mapping[str, str]
    states: Mapping[str, str]
    controls: Mapping[str, str]
    fibers: Iterable[str] = field(default=())

    @classmethod
    def of(cls, model: Model, added: Mapping[str, str]) -> "MocoNames":
        """Those of a model. added: the velocities of actuators that operators have added, by the actuators' names."""
        system, joints = model.system, joint_names(model.system)
        plain = [n for n in system.coordinate_names if n in joints]
        rates = {n: system.indices.velocities_of_coordinate(n) for n in plain}
        one = {n: system.velocity_names[int(rows[0])] for n, rows in rates.items() if len(rows) == 1}
        controls = {name: name for name in (*model.muscle_names, *model.control_names)}
        return cls(
            {f"{joints[n]}/{n}/value": n for n in plain},
            {f"{joints[n]}/{n}/speed": velocity for n, velocity in one.items()},
            {f"{m.name}/activation": f"{m.name}.activation" for m in model.muscles if m.activation_dynamics},
            controls | {name: f"{velocity}.torque" for name, velocity in added.items()},
            tuple(f"{m.name}/normalized_tendon_force" for m in model.muscles if getattr(m.law, "states", ())),
        )

    @property
    def all_states(self) -> dict[str, str]:
        """Values, speeds and states of muscles."""
        return {**self.values, **self.speeds, **self.states}

    def state(self, path: str) -> str | None:
        """The name of a state; a bare name of a coordinate is one too."""
        bare = {name: name for name in self.values.values()}
        return self.all_states.get(tail(path), bare.get(path))

    def control(self, path: str) -> str | None:
        """The name of a control."""
        return self.controls.get(tail(path))

    def matching(self, pattern: str, known: Mapping[str, str]) -> list[str]:
        """Names among `known` whose whole path matches an expression; ValueError for one that may take too long."""
        matched, count = matching(pattern, [path for end in known for path in _paths_ending_in(end)]), len(PREFIXES)
        return [name for k, name in enumerate(known.values()) if any(matched[k * count : (k + 1) * count])]


def _paths_ending_in(end: str) -> tuple[str, ...]:
    """The paths that a tail may have."""
    return tuple(f"{prefix}/{end}" for prefix in PREFIXES)
