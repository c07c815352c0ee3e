"""`myoquat compare`."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from myoquat.analysis.comparison import compare_models
from myoquat.apps.commands import options
from myoquat.data import load_model

ENGINES = {"mujoco": ".xml", "opensim": ".osim"}
PAIR = options.Named()
OWN = (
    "first",
    "second",
    "engine",
    "tolerance",
    "report",
    "table",
    "force",
    "degrees",
    "ignore",
)  # not options of a comparison


@options.command("compare")
@click.argument("first")
@click.argument("second", required=False)
@options.option("--engine", False, "Compare FIRST with MuJoCo or OpenSim, the engine that owns its format.")
@options.several("--coordinate coordinates", PAIR, "A=B", "A=B: coordinates whose names differ; repeatable.")
@options.several("--muscle muscles", PAIR, "A=B", "A=B: muscles whose names differ; repeatable.")
@options.several("--body bodies", PAIR, "A=B", "A=B: bodies whose names differ; repeatable.")
@options.rotations
@options.option("--poses", 200, "Number of random poses.")
@options.option("--seed", 0, "Seed of the poses.")
@options.option("--motion", options.FILE, "Poses from frames of this .mot or .sto file of FIRST.")
@options.degrees
@options.ignore
@options.option("--activation", 1.0, "Activation of all muscles, for forces.")
@options.option("--tolerance", float, "Greatest relative difference with exit code 0.")
@options.page("Show tables and curves")
@options.rows("A row per name and quantity")
@options.force
def command(given: Any) -> None:
    """Compare the models FIRST and SECOND, files of any formats or models of the library, or FIRST with its engine.

    Per muscle over random poses: greatest and RMS differences of length, moment arm and force at rest. Per body: mass,
    centre and inertia. Names are matched by the options, then where they are equal, then where letters and digits
    agree; names without a partner are listed.

    Exit code 1 with --tolerance, if a relative difference is greater or a muscle or body has no partner.
    """
    first, second = given.first, given.second
    if second is not None and second.lower() in ENGINES and not Path(second).exists():
        if not given.engine:
            raise click.UsageError(f"{second} is an engine: myoquat compare {first} --engine")
        if ENGINES[second.lower()] != Path(first).suffix.lower():
            raise click.UsageError(
                f"{second} reads {ENGINES[second.lower()]}: myoquat convert {first} MODEL{ENGINES[second.lower()]} "
                "writes such a file"
            )
        second = None
    if (second is None) != given.engine:
        raise click.UsageError("compare needs a SECOND model, or --engine in its place")
    wanted = {name: value for name, value in vars(given).items() if name not in OWN}
    wanted |= {name: dict(wanted[name]) for name in ("coordinates", "muscles", "bodies")}
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        if given.motion is not None:
            model = load_model(first, given.rotations)
            wanted["motion"] = options.recorded(given, model)
            if second is not None:
                first = replace(model, name=Path(first).name)  # read once, and shown by the name of its file
        found = compare_models(first, second, **wanted)
    for warning in messages:
        click.echo(str(warning.message))
    click.echo(found.to_text())
    options.store(given, given.table, found.table, units={})
    options.store(
        given, given.report, lambda path: options.imported("apps.drawing").write_comparison_report(found, path)
    )
    options.exit_unless(given.tolerance is None or found.agrees(given.tolerance))
