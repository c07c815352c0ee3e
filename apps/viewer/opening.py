"""A scene and its motions from what a user gives: names of models, paths of motions, folders of geometry."""

import importlib
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from myoquat.apps.viewer.scene import Scene
from myoquat.apps.viewer.sources import Film, Loads, MotionSource
from myoquat.core.arguments import PATH, check_types
from myoquat.core.typing import ArrayLike
from myoquat.data import load_model
from myoquat.muscle import Model

__all__ = ["installed_geometry", "opened"]

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
