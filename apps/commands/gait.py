"""`myoquat gait`."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click
import pandas as pd

from myoquat.analysis.motion import (
    gait_cycles,
    gait_events_from_forces,
    gait_events_from_markers,
    gait_parameters,
    landmarks,
    load_forces,
    load_markers,
)
from myoquat.apps.commands import options
from myoquat.apps.report import Drawn, Numbers, Said, summary_of
from myoquat.data import load_model, load_table
from myoquat.data.motions.coordinates import bare_name

FOOT = options.Listed(count=2)
CSV = options.Written(".csv")


@options.command("gait")
@click.argument("output", type=CSV)
@options.option("--loads", options.FILE, "Forces on the feet: OpenSim's ExternalLoads, or .c3d.")
@options.several("--plate plates", options.Named(), "LOAD=SIDE", "Foot of a load, such as plate1=right.")
@options.option("--threshold", 20.0, "Upward force that begins a contact [N].")
@options.option("--release", 10.0, "Upward force below which it ends [N].")
@options.option("--markers", options.FILE, "Markers: .trc, .c3d.")
@options.option("--motion", options.FILE, "A motion of --model instead: .mot, .sto.")
@options.option("--model", str, "Model of --motion, whose markers or bodies are then named, and of --curves.")
@options.degrees
@options.ignore
@options.option("--right", FOOT, "Markers of the right foot, or bodies: calcn_r,toes_r.", metavar="HEEL,TOE")
@options.option("--left", FOOT, "Markers of the left foot.", metavar="HEEL,TOE")
@options.option(
    "--pelvis", options.Listed(), "Markers of the pelvis: events come from markers without --loads.", metavar="A,B,..."
)
@options.option(
    "--direction",
    options.Listed(float, 3, " with numbers"),
    "Direction of the walk; found by itself where the person moves on.",
    metavar="X,Y,Z",
)
@options.option("--belt-speed", float, "Speed of a treadmill [m/s].")
@options.axes
@click.option("--curves", multiple=True, type=options.FILE, help="Curves over time (.mot, .sto, .csv).")
@options.option("--cycles", CSV, "Store mean and deviation over the cycle: .csv.")
@options.option("--events", CSV, "Store the events: .csv.")
@options.page("Show events, numbers and curves")
@options.force
def command(given: Any) -> None:
    """Find heel strikes and toe offs, and write the spatiotemporal parameters of gait as OUTPUT (.csv).

    Events come from forces (--loads), or from heels, toes and pelvis (--markers, or --motion). With both, lengths of
    steps are those of the heels. Axes have y upwards, as those of models: see --axes. Exit code 1 if an
    event is missing.
    """
    if given.cycles is not None and not given.curves:
        raise click.BadParameter("--cycles stores what --curves gives; give both")
    placed = given.right and given.left and (given.markers or given.motion)
    if not placed and (given.belt_speed is not None or given.direction is not None):
        raise click.BadParameter("--belt-speed and --direction need --right, --left, and --markers or --motion")
    feet = {side: names for side, names in (("right", given.right), ("left", given.left)) if names is not None}
    # markers of a recording, or landmarks of a model along a motion
    if given.markers is not None and given.motion is not None:
        raise click.BadParameter("feet come from --markers or from --motion, not from both")
    seen = None if given.markers is None else load_markers(given.markers, given.axes)
    if given.motion is not None:
        if given.model is None:
            raise click.BadParameter("--motion needs --model")
        model, names = load_model(given.model), [name for pair in feet.values() for name in pair]
        seen = landmarks(model, options.recorded(given, model), [*names, *(given.pelvis or ())])
    if given.loads is not None:
        forces, sides = load_forces(given.loads, given.axes), dict(given.plates) or None
        events = gait_events_from_forces(forces, sides, threshold=given.threshold, release=given.release)
    elif seen is None:
        raise click.BadParameter("events need --loads, or --markers or --motion with --right, --left and --pelvis")
    else:
        events = gait_events_from_markers(seen, feet, given.pelvis or (), direction=given.direction)
    heels = {side: pair[0] for side, pair in feet.items()}
    found = gait_parameters(events, seen if len(heels) == 2 else None, heels, direction=given.direction,
                            belt_speed=given.belt_speed)  # fmt: skip
    cycles = [gait_cycles(_curves(given, path), events) for path in given.curves]
    table = found.to_dataframe()
    click.echo(summary_of(events))
    shown = table[["unit", "right", "right_sd", "left", "left_sd"]]
    click.echo(shown.to_string(float_format=lambda value: f"{value:.3f}", na_rep=""))
    options.store(given, given.output, table, units={})
    options.store(given, given.events, events.to_dataframe().set_index("time"), units={})
    if given.cycles is not None:  # "right knee_angle mean" over percent
        joined = pd.concat([part.to_dataframe() for part in cycles], axis=1)
        options.store(given, given.cycles, joined.set_axis(map(" ".join, joined.columns), axis=1), units={})
    options.store_page(given, f"Gait: {given.output.stem}", [summary_of(events)], lambda: [
        *([] if events.success else [Said("Missing events", events.problems())]),
        Drawn("Contacts", events.plot()),
        Numbers("Parameters", table),
        Drawn("Strides", found.plot()),
        *(Drawn(path.name, part.plot()) for path, part in zip(given.curves, cycles, strict=True)),
    ])  # fmt: skip
    for problem in events.problems():
        click.echo(problem, err=True)
    options.exit_unless(events.success)


def _curves(given: Any, path: Path) -> Any:
    """A table over time; the motion where the model is known and the table holds its coordinates."""
    table = load_table(path)
    if given.model is not None:
        model = load_model(given.model)
        names = {*model.system.coordinate_names, *(f"{name}_u" for name in model.system.coordinate_names)}
        used = [name for name in map(str, table.columns) if not any(fnmatchcase(name, part) for part in given.ignore)]
        if {bare_name(name, names) for name in used} <= names:
            return options.recorded(given, model, path)
    return table
