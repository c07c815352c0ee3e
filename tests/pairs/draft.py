"""A draft: a model that is being made, and its setting."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from myoquat.joints import ArticulatedSystem, Body, random_quaternions
from myoquat.joints.types import Joint
from myoquat.joints.vectors import upper


def numbers(values: Any) -> tuple[float, ...]:
    """Plain floats, as records hold them."""
    return tuple(map(float, np.ravel(values)))


@dataclass
class Draft:
    """A model that is being made, and its setting. The system is fixed once bodies are there (`complete`)."""

    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    bodies: list[Body] = field(default_factory=list)
    frame: str = "child"
    order: list[str] | None = None
    parts: dict[str, list[Any]] = field(default_factory=dict)  # of the Model, by its fields
    muscle: dict[str, Any] = field(default_factory=dict)  # what becomes the muscle "m"
    options: dict[str, Any] = field(default_factory=dict)  # of the setting, for the laws
    system: ArticulatedSystem | None = None
    q: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def vector(self, scale: float = 0.15) -> tuple[float, float, float]:
        x, y, z = self.rng.normal(size=3) * scale
        return float(x), float(y), float(z)

    def number(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def choice(self, *values: Any) -> Any:
        return values[self.rng.integers(len(values))]

    def add(self, part: str, *records: Any) -> None:
        self.parts.setdefault(part, []).extend(records)

    def body(self, name: str, parent: str, joint: Joint, **more: Any) -> None:
        """Another body of random place and inertia."""
        A = self.rng.normal(size=(3, 3)) * 0.3
        moments = A @ A.T
        inertia = np.trace(moments) * np.eye(3) - moments + 0.02 * np.eye(3)  # of a cloud of points
        made = Body(
            name, parent, joint, self.vector(0.3), numbers(random_quaternions((), self.rng)), self.number(0.5, 3.0),
            self.vector(0.2), numbers(upper(inertia)), **more,
        )  # fmt: skip
        self.bodies.append(made)

    def complete(self) -> None:
        """Make the system and two states, clear of the locks of angles."""
        self.system = ArticulatedSystem(tuple(self.bodies), velocity_frame=self.frame, joint_order=self.order)
        parts = [_pose(body.joint, self.rng) for body in self.system.bodies]
        self.q = np.concatenate([*parts, np.zeros(0)])

    def pose(self, body: str) -> tuple[np.ndarray, np.ndarray]:
        """(R, p) of a body in the first state."""
        return self.system.poses(self.q)[body] if body != "ground" else (np.eye(3), np.zeros(3))

    def local(self, body: str, point: Any) -> tuple[float, ...]:
        """A point of the world in a body's frame, in the first state."""
        R, p = self.pose(body)
        return numbers(R.T @ (np.asarray(point) - p))

    def world(self, body: str, point: Any) -> np.ndarray:
        R, p = self.pose(body)
        return p + R @ np.asarray(point)

    def coordinate(self, *avoid: str) -> tuple[str, float]:
        """A scalar coordinate, or a named angle of a quaternion, and its value in the first state."""
        system = self.system
        own = [n for b in system.bodies if b.joint.facts.quaternion is None for n in b.names_of_coordinates]
        names = [name for name in [*own, *system.angle_names] if name not in avoid]
        name = str(self.rng.choice(names))
        return name, float(system.coordinate(name, self.q))


def _pose(joint: Joint, rng: np.random.Generator) -> np.ndarray:
    """q of a joint, its angles clear of a lock: the second one is between 0.5 and 1.1 rad beside it."""
    if joint.facts.quaternion is not None:
        named = getattr(joint, "angles", None)
        Q = random_quaternions((), rng) if named is None else named.quaternion(rng.uniform(0.3, 0.9, 3))
        return np.concatenate([rng.normal(size=joint.nq - 4) * 0.3, Q])
    return rng.uniform(0.4, 0.9, joint.nq)
