"""<ExternalForce> among the forces of a model: columns of a table as functions of the time, as OpenSim makes them."""

from pathlib import Path
from typing import Any

from myoquat.core.typing import Array
from myoquat.data.document import text
from myoquat.data.external_loads.read import LoadEntry, load_entry
from myoquat.data.files import beside
from myoquat.data.motions.forces import columns_of
from myoquat.data.storage import read_motion
from myoquat.joints.functions import AxisFunction, Constant, NaturalSpline, PiecewiseLinear
from myoquat.muscle.forces import PrescribedForce

__all__ = ["EXTERNAL", "data_of", "external_force", "read_external"]

EXTERNAL = "ExternalForce"
ENDINGS = ("", ".sto", ".mot")
GROUND = "ground"


def data_of(element: Any, folder: Path) -> Path | None:
    """The file that <data_source_name> names, in the folder of the model, with or without its ending; None if there is
    none."""
    name = text(element, "data_source_name", "")
    files = [beside(folder, name + ending) for ending in ENDINGS] if name else []
    return next((file for file in files if file.is_file()), None)


def read_external(element: Any, file: Path) -> PrescribedForce:
    """The force whose data a file holds. Without points it acts at the origin of the body.

    ModelError with its line for an identifier that finds no three columns."""
    return external_force(load_entry(element), file)


def external_force(entry: LoadEntry, file: Path) -> PrescribedForce:
    """The force of an entry whose data a file holds. ModelError for an identifier that finds no three columns."""
    table = read_motion(file, gaps=True)
    times = tuple(map(float, table.index))
    force, point, torque = (_functions(times, columns) for columns in columns_of(None, entry, table, file))
    in_body = entry.point_frame == entry.body or not entry.point
    return PrescribedForce(
        entry.name,
        entry.body,
        force,
        point,
        torque,
        in_world=entry.force_frame != entry.body,
        point_in_world=not in_body,
        force_frame=None if entry.force_frame in (GROUND, entry.body) else entry.force_frame,
        point_frame=None if in_body or entry.point_frame == GROUND else entry.point_frame,
    )


def _functions(times: tuple[float, ...], columns: Array) -> Any:
    return tuple(_through(times, tuple(map(float, column))) for column in columns.T)


def _through(times: tuple[float, ...], values: tuple[float, ...]) -> AxisFunction:
    """A spline through four rows and more, straight lines through fewer."""
    if len(set(values)) == 1:
        return Constant(values[0])
    return PiecewiseLinear(times, values) if len(times) < 4 else NaturalSpline(times, values)
