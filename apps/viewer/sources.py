"""What the viewer opens: models, motions, folders of geometry, and recorded loads as arrows."""

import importlib
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from myoquat.apps.viewer.scene import Frame, Scene
from myoquat.core.arguments import PATH, check_types
from myoquat.core.records import dataclass
from myoquat.core.typing import Array, ArrayLike
from myoquat.data import load_model
from myoquat.data.motions import MotionLike
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.quaternion import rotation_matrix
from myoquat.muscle import Model

__all__ = [
    "Arrows",
    "Film",
    "Loads",
    "MotionSource",
    "arrow_ends",
    "arrow_unit",
    "check_frames",
    "installed_geometry",
    "opened",
]


class Table(Protocol):
    """A DataFrame: coordinates by name over the time."""

    @property
    def columns(self) -> Any: ...
    @property
    def index(self) -> Any: ...


class Loads(Protocol):
    """Recorded loads, above all `myoquat.data.Forces`: forces [N] and points [m] (t, n, 3) in the axes of frames."""

    @property
    def time(self) -> Array: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def force(self) -> Array: ...
    @property
    def point(self) -> Array: ...
    @property
    def force_frames(self) -> tuple[str, ...]: ...
    @property
    def point_frames(self) -> tuple[str, ...]: ...


MotionSource: TypeAlias = MotionLike | Table | str | Path


@dataclass(frozen=True)
class Film:
    """A motion of the model to show.

    name    for the page
    time    (t,) [s]
    q       (t, nq) coordinates of the model
    values  (t, m) each, by name: what colours muscles
    loads   of the motion, None if they are not known
    """

    name: str
    time: Array
    q: Array
    values: dict[str, Array]
    loads: Loads | None = None

    def shares(self, strengths: Array) -> Array:
        """(t, m) tensions over the muscles' greatest (m,) [N], NaN where they are not known. A muscle without a bound
        is compared with its own greatest."""
        tension = self.values.get("force [N]")
        if tension is None:
            return np.full((len(self.time), len(strengths)), np.nan)
        own = np.nanmax(np.abs(tension), axis=0, initial=0.0)
        found: Array = tension / np.maximum(np.where(strengths > 0, strengths, own), 1e-9)
        return found

    def at(self, t: float) -> int:
        """The row nearest to a time [s]."""
        i = int(np.searchsorted(self.time, t))
        if i == 0:
            return 0
        return i - 1 if i == len(self.time) or t - self.time[i - 1] <= self.time[i] - t else i


INSTALLED = (("opensim", "Geometry"), ("myo_sim", "models/meshes"), ("myosuite", "simhive/myo_sim/meshes"))


def opened(
    model: Model | str | Path,
    motions: Sequence[MotionSource],
    run: int | tuple[int, ...],
    q: ArrayLike | None,
    geometry: str | Path | Sequence[str | Path],
    loads: Loads | str | Path | None,
) -> tuple[Scene, list[Film], Loads | None]:
    """The scene of a model, its motions, and the loads beside the first, given or its own."""
    check_types(model=(model, (Model, *PATH)))
    folders = [Path(geometry)] if isinstance(geometry, (str, Path)) else [Path(folder) for folder in geometry]
    if not isinstance(model, Model):
        file = Path(model)
        model = load_model(str(model))
        folders += [file.parent] if file.suffix else []
    folders += [model.file.parent] if model.file is not None else []
    folders += [folder / name for folder in folders for name in ("Geometry", "geometry")]
    folders += installed_geometry()
    run = (run,) if isinstance(run, int) else tuple(run)
    films = [_film(model, motion, run) for motion in motions]
    start = model.start if q is None else np.asarray(model.system.check_q(q), dtype=float)
    recorded = importlib.import_module("myoquat.data").load_forces(loads) if isinstance(loads, (str, Path)) else loads
    if recorded is None and films:
        recorded = films[0].loads
    motion = films[0].q if films else None
    return Scene(model, start if motion is None else motion[0], tuple(folders), motion), films, recorded


def installed_geometry() -> list[Path]:
    """Folders of geometry files that come with an installed OpenSim or MyoSuite."""
    home = os.environ.get("OPENSIM_HOME")
    found = [Path(home) / "Geometry"] if home else []
    for package, folder in INSTALLED:
        where = importlib.util.find_spec(package)
        found += [Path(place) / folder for place in (where.submodule_search_locations or ())] if where else []
    return [folder for folder in found if folder.is_dir()]


def _film(model: Model, motion: MotionSource, run: tuple[int, ...]) -> Film:
    """A motion to be played; what reads motions is imported when there is one."""
    film: Film = importlib.import_module("myoquat.apps.viewer.films").film_of(model, motion, run)
    return film


COLOR = (60, 170, 90)
MAX_ARROW = 0.5  # of the figure's size: the arrow of the greatest force of the record
MIN_FORCE = 1e-6  # of the greatest force: smaller ones have no arrow


def check_frames(forces: Loads, system: ArticulatedSystem) -> None:
    """ValueError for loads in the axes of a body that the system lacks."""
    known = (system.ground, "ground", *system.body_names)
    for name in (*forces.force_frames, *forces.point_frames):
        if name not in known:
            raise ValueError(f"the loads are in the axes of {name!r}, which the model lacks")


class Arrows:
    """The arrows of loads in the scene of a viser server."""

    def __init__(self, server: Any, forces: Loads, size: float) -> None:
        self.forces, self.unit = forces, arrow_unit(forces, size)
        self.handle = server.scene.add_arrows(
            "/loads",
            np.zeros((len(forces.names), 2, 3), dtype=np.float32),
            COLOR,
            shaft_radius=0.006 * size,
            head_radius=0.016 * size,
            head_length=0.04 * size,
            visible=False,
        )

    def show(self, frame: Frame, t: float) -> None:
        """Move to the time t [s] and a frame of the motion; nothing is shown at times that were not recorded."""
        time = self.forces.time
        recorded = bool(len(time)) and time[0] <= t <= time[-1]
        if recorded:
            ends = arrow_ends(self.forces, frame, int(np.abs(time - t).argmin()), self.unit)
            seen = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=-1) > MIN_FORCE * self.unit * _greatest(self.forces)
            recorded = bool(seen.any())
            self.handle.points = ends[seen].astype(np.float32)
        self.handle.visible = recorded


def arrow_unit(forces: Loads, size: float) -> float:
    """[m/N] the scale at which the greatest force's arrow is half as long as the figure."""
    return MAX_ARROW * size / max(_greatest(forces), 1e-300)


def arrow_ends(forces: Loads, frame: Frame, row: int, unit: float) -> Array:
    """(n, 2, 3) [m] the ends of every load's arrow in world axes, `unit` metres per newton."""
    found = []
    for k, (force_frame, point_frame) in enumerate(zip(forces.force_frames, forces.point_frames, strict=True)):
        R, _ = _pose(frame, force_frame)
        R_point, p = _pose(frame, point_frame)
        start = p + R_point @ forces.point[row, k]
        found.append((start, start + unit * (R @ forces.force[row, k])))
    return np.array(found).reshape(-1, 2, 3)


def _pose(frame: Frame, name: str) -> tuple[Array, Array]:
    if name not in frame.bodies:  # "ground", by whatever name the system has it
        return np.eye(3), np.zeros(3)
    Q, p = frame.bodies[name]
    return np.asarray(rotation_matrix(Q)), p


def _greatest(forces: Loads) -> float:
    return float(np.linalg.norm(forces.force, axis=-1).max(initial=0.0))
