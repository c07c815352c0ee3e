"""Tables over time in a problem of Moco: a file and the operators on it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from myoquat.analysis.motion.angle_smoothing import smoothed_columns
from myoquat.apps.moco.names import MocoNames, tail
from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data import Motion, load_table, states_from_motion
from myoquat.data.document import number
from myoquat.data.motions.coordinates import DEGREE, turning_entries
from myoquat.data.omoco.read import Processor
from myoquat.data.xml import Element, complain
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle import Model

__all__ = ["Table", "motion_of_table", "read_table", "with_rates"]


@dataclass(frozen=True, eq=False)
class Table:
    """labels (n,) of columns, values (t, n) at time (t,) [s], angles in rad."""

    labels: tuple[str, ...]
    time: Array
    values: Array


def read_table(processor: Processor, names: MocoNames, system: ArticulatedSystem) -> Table:
    """The table of a TableProcessor after its operators, without columns that are not finite throughout. ModelError for
    one without a file, and for an operator that has no equal here."""
    if processor.file is None:
        complain(processor.element, "the TableProcessor names no file")
    frame = load_table(processor.file)
    values = frame.to_numpy(float)
    finite = np.isfinite(values).all(axis=0)
    labels = tuple(str(label) for label, known in zip(frame.columns, finite, strict=True) if known)
    table = Table(labels, frame.index.to_numpy(float), values[:, finite])
    if frame.attrs.get("in_degrees"):
        turning = _turning(names, system)
        unit = [DEGREE if names.state(label) in turning else 1.0 for label in labels]
        table = replace(table, values=table.values * unit)
    for operator in processor.operators:
        if operator.tag not in TABLE_OPERATORS:
            complain(operator, f"<{operator.tag}> has no equal here; known: {', '.join(TABLE_OPERATORS)}")
        table = TABLE_OPERATORS[operator.tag](table, operator, names)
    return table


def motion_of_table(model: Model, table: Table, names: MocoNames) -> Motion:
    """The motion of a model whose coordinates a table gives; those that it lacks stay at the model's start."""
    chosen = [k for k, label in enumerate(table.labels) if names.state(label) in set(names.values.values())]
    if not chosen:
        raise ValueError("the table has no coordinate of the model")
    columns = {names.state(table.labels[k]): table.values[:, k] for k in chosen}
    q, _ = states_from_motion(model, pd.DataFrame(columns, table.time), in_degrees=False, start=model.start)
    return Motion(model.system, table.time, q)


def with_rates(table: Table, names: MocoNames) -> Table:
    """The table with the speeds of coordinates, derivatives of their splines, where it has none."""
    speeds = {v: end for end, v in names.speeds.items()}
    known = {names.state(label) for label in table.labels}
    own = {end.rsplit("/", 1)[0]: end for end in names.speeds}
    added = [
        (k, own[place])
        for k, label in enumerate(table.labels)
        if (place := tail(label).removesuffix("/value")) in own and names.speeds[own[place]] not in known
    ]
    if not added:
        return table
    rates = smoothed_columns(table.time, table.values[:, [k for k, _ in added]], None)[1]
    return Table(
        (*table.labels, *(speeds[names.speeds[end]] for _, end in added)), table.time,
        np.concatenate([table.values, rates], axis=1),
    )  # fmt: skip


def _turning(names: MocoNames, system: ArticulatedSystem) -> set[str | None]:
    """Names of coordinates and velocities that are angles and their rates."""
    q = zip(system.coordinate_names, turning_entries(system, "q"), strict=True)
    u = zip(system.velocity_names, turning_entries(system, "u"), strict=True)
    return {name for name, turns in (*q, *u) if turns}


def _low_pass(table: Table, operator: Element, names: MocoNames) -> Table:
    cutoff = number(operator, "cutoff_frequency")
    return replace(table, values=smoothed_columns(table.time, table.values, cutoff)[0])


def _same(table: Table, operator: Element, names: MocoNames) -> Table:
    """What is done here anyway: names of columns are found without paths, and angles are in rad."""
    return table


def _rates(table: Table, operator: Element, names: MocoNames) -> Table:
    return with_rates(table, names)


TABLE_OPERATORS: dict[str, Callable[[Table, Element, MocoNames], Table]] = {
    "TabOpAppendCoordinateValueDerivativesAsSpeeds": _rates,
    "TabOpConvertDegreesToRadians": _same,
    "TabOpLowPassFilter": _low_pass,
    "TabOpUseAbsoluteStateNames": _same,
}
