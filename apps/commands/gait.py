"""`myoquat gait`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd

from myoquat.analysis.motion import (
    GaitCycles,
    GaitEvents,
    Markers,
    gait_cycles,
    gait_events_from_forces,
    gait_events_from_markers,
    gait_parameters,
    landmarks,
    load_forces,
    load_markers,
    load_motion,
)
from myoquat.apps.commands import options
from myoquat.apps.report import Drawn, Numbers, Said, check_report, summary_of, write_report
from myoquat.data import load_model, load_table, save_table
from myoquat.data.files import check_output
from myoquat.data.motions.coordinates import bare_name

__all__ = ["command"]

Feet = dict[str, tuple[str, str]]


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(","))


def _feet(right: str | None, left: str | None) -> Feet:
    """side -> (heel, toe); BadParameter for other than two names."""
    feet = {}
    for side, text in (("right", right), ("left", left)):
        names = _names(text)
        if text is not None and len(names) != 2:
            raise click.BadParameter(f"--{side} is HEEL,TOE, not {text!r}")
        if len(names) == 2:
            feet[side] = (names[0], names[1])
    return feet


def _direction(text: str | None) -> list[float] | None:
    try:
        found = None if text is None else [float(word) for word in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"--direction is X,Y,Z with numbers, not {text!r}") from None
    return found


def _recorded(inputs: dict[str, Any], names: Sequence[str]) -> Markers | None:
    """The markers of a recording, or the landmarks of a model along a motion."""
    if inputs["markers"] is not None and inputs["motion"] is not None:
        raise click.BadParameter("feet come from --markers or from --motion, not from both")
    if inputs["motion"] is None:
        return None if inputs["markers"] is None else load_markers(inputs["markers"], inputs["axes"])
    if inputs["model"] is None:
        raise click.BadParameter("--motion needs --model")
    loaded = load_model(inputs["model"])
    return landmarks(loaded, load_motion(inputs["motion"], loaded, start=loaded.start), names)


def _curves(path: Path, model: str | None) -> Any:
    """A table over time; the motion where the model is known and the table holds its coordinates."""
    table = load_table(path)
    if model is not None:
        loaded = load_model(model)
        names = {*loaded.system.coordinate_names, *(f"{name}_u" for name in loaded.system.coordinate_names)}
        if {bare_name(str(column), names) for column in table.columns} <= names:
            return load_motion(path, loaded, start=loaded.start)
    return table


@click.command("gait")
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--loads", type=click.Path(path_type=Path), help="Forces on the feet: OpenSim's ExternalLoads, or .c3d.")
@click.option("--plate", "plates", multiple=True, metavar="LOAD=SIDE", help="Foot of a load, such as plate1=right.")
@click.option("--threshold", default=20.0, show_default=True, help="Upward force that begins a contact [N].")
@click.option("--release", default=10.0, show_default=True, help="Upward force below which it ends [N].")
@click.option("--markers", type=click.Path(path_type=Path), help="Markers: .trc, .c3d.")
@click.option("--motion", type=click.Path(path_type=Path), help="A motion of --model instead: .mot, .sto.")
@click.option("--model", help="Model of --motion, whose markers or bodies are then named, and of --curves.")
@click.option("--right", metavar="HEEL,TOE", help="Markers of the right foot, or bodies: calcn_r,toes_r.")
@click.option("--left", metavar="HEEL,TOE", help="Markers of the left foot.")
@click.option("--pelvis", metavar="A,B,...", help="Markers of the pelvis: events come from markers without --loads.")
@click.option("--direction", metavar="X,Y,Z", help="Direction of the walk; found by itself where the person moves on.")
@click.option("--belt-speed", type=float, help="Speed of a treadmill [m/s].")
@options.axes
@click.option("--curves", multiple=True, type=click.Path(path_type=Path), help="Curves over time (.mot, .sto, .csv).")
@click.option("--cycles", type=click.Path(path_type=Path), help="Store mean and deviation over the cycle: .csv.")
@click.option("--events", "stored", type=click.Path(path_type=Path), help="Store the events: .csv.")
@click.option("--report", type=click.Path(path_type=Path), help="Show events, numbers and curves: .html.")
@options.force
def command(output: Path, curves: tuple[Path, ...], cycles: Path | None, stored: Path | None, report: Path | None,
            force: bool, **inputs: Any) -> None:  # fmt: skip
    """Find heel strikes and toe offs, and write the spatiotemporal parameters of gait as OUTPUT (.csv).

    Events come from forces (--loads), or from heels, toes and pelvis (--markers, or --motion). With both, lengths of
    steps are those of the heels. Axes have y upwards, as those of models: see --axes. Exit code 1 if an
    event is missing.
    """
    for path in (output, cycles, stored):
        if path is not None:
            check_output(path, force)
    check_report(report, force)
    if cycles is not None and not curves:
        raise click.BadParameter("--cycles stores what --curves gives; give both")
    feet, direction = _feet(inputs["right"], inputs["left"]), _direction(inputs["direction"])
    pelvis = _names(inputs["pelvis"]) if inputs["pelvis"] else ()
    seen = _recorded(inputs, [*(name for pair in feet.values() for name in pair), *pelvis])
    events = _events(inputs, seen, feet, pelvis, direction)
    heels = {side: pair[0] for side, pair in feet.items()}
    lengths = seen if len(heels) == 2 else None
    found = gait_parameters(events, lengths, heels, direction=direction, belt_speed=inputs["belt_speed"])
    normalized = [gait_cycles(_curves(path, inputs["model"]), events) for path in curves]
    table = found.to_dataframe()
    click.echo(summary_of(events))
    shown = table[["unit", "right", "right_sd", "left", "left_sd"]]
    click.echo(shown.to_string(float_format=lambda value: f"{value:.3f}", na_rep=""))
    tables = {output: table, stored: events.to_dataframe().set_index("time"), cycles: _joined(normalized)}
    for path, written in tables.items():
        if path is not None:
            save_table(written, path, overwrite=force, units={})
            click.echo(f"wrote {path}")
    if report is not None:
        sections: list[Any] = [
            Drawn("Contacts", events.plot()),
            Numbers("Parameters", table),
            Drawn("Strides", found.plot()),
        ]
        sections += [Drawn(path.name, part.plot()) for path, part in zip(curves, normalized, strict=True)]
        said = [Said("Missing events", events.problems())] if not events.success else []
        write_report(report, f"Gait: {output.stem}", [summary_of(events)], [*said, *sections])
        click.echo(f"wrote {report}")
    for problem in events.problems():
        click.echo(problem, err=True)
    if not events.success:
        raise click.exceptions.Exit(1)


def _joined(cycles: Sequence[GaitCycles]) -> pd.DataFrame:
    """One table of the curves of several sources over percent, "right knee_angle mean"."""
    parts = [found.to_dataframe() for found in cycles]
    joined = pd.concat(parts, axis=1) if parts else pd.DataFrame()
    return joined.set_axis([" ".join(column) for column in joined.columns], axis=1)


def _events(
    inputs: dict[str, Any], seen: Markers | None, feet: Feet, pelvis: Sequence[str], direction: list[float] | None
) -> GaitEvents:
    """The events from forces, or else from markers."""
    if inputs["loads"] is not None:
        forces = load_forces(inputs["loads"], inputs["axes"])
        sides = dict(text.partition("=")[::2] for text in inputs["plates"]) or None
        limits = {name: inputs[name] for name in ("threshold", "release")}
        return gait_events_from_forces(forces, sides, **limits)
    if seen is None:
        raise click.BadParameter("events need --loads, or --markers or --motion with --right, --left and --pelvis")
    return gait_events_from_markers(seen, feet, pelvis, direction=direction)
