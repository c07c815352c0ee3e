"""`myoquat compare`."""

import importlib
import warnings
from pathlib import Path
from typing import Any

import click

from myoquat.analysis.comparison import compare_models, compare_with_engine
from myoquat.apps.commands import options
from myoquat.apps.report import check_report
from myoquat.data import save_table
from myoquat.data.files import check_output

__all__ = ["command"]

ENGINES = ("mujoco", "opensim")


@click.command("compare")
@click.argument("first")
@click.argument("second", required=False)
@click.option("--engine", is_flag=True, help="Compare FIRST with MuJoCo or OpenSim, the engine that owns its format.")
@click.option("--coordinate", "coordinates", multiple=True, help="A=B: coordinates whose names differ; repeatable.")
@click.option("--muscle", "muscles", multiple=True, help="A=B: muscles whose names differ; repeatable.")
@click.option("--body", "bodies", multiple=True, help="A=B: bodies whose names differ; repeatable.")
@options.rotations
@click.option("--poses", default=200, show_default=True, help="Number of random poses.")
@click.option("--seed", default=0, show_default=True, help="Seed of the poses.")
@click.option("--motion", type=click.Path(path_type=Path), help="Poses from frames of this .mot or .sto file of FIRST.")
@click.option("--activation", default=1.0, show_default=True, help="Activation of all muscles, for forces.")
@click.option("--tolerance", type=float, help="Greatest relative difference with exit code 0.")
@click.option("--report", "page", type=click.Path(path_type=Path), help="Page with tables and curves: .html.")
@click.option("--table", type=click.Path(path_type=Path), help="A row per name and quantity: .csv, .xlsx, .parquet.")
@options.force
def command(
    first: str, second: str | None, engine: bool, tolerance: float | None, page: Path | None, table: Path | None,
    force: bool, coordinates: tuple[str, ...], muscles: tuple[str, ...], bodies: tuple[str, ...], **options: Any
) -> None:  # fmt: skip
    """Compare the models FIRST and SECOND, files of any formats or models of the library, or FIRST with its engine.

    Per muscle over random poses: greatest and RMS differences of length, moment arm and force at rest. Per body: mass,
    centre and inertia. Names are matched by the options, then where they are equal, then where letters and digits
    agree; names without a partner are listed.

    Exit code 1 with --tolerance, if a relative difference is greater or a muscle or body has no partner.
    """
    check_report(page, force)
    if table is not None:
        check_output(table, force)
    if second is not None and second.lower() in ENGINES and not Path(second).exists():
        raise click.UsageError(f"{second} is an engine: myoquat compare {first} --engine")
    if (second is None) != engine:
        raise click.UsageError("compare needs a SECOND model, or --engine in its place")
    options |= {"coordinates": _mapping(coordinates), "muscles": _mapping(muscles), "bodies": _mapping(bodies)}
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        found = compare_with_engine(first, **options) if second is None else compare_models(first, second, **options)
    for warning in messages:
        click.echo(str(warning.message))
    click.echo(found.to_text())
    if table is not None:
        save_table(found.table, table, overwrite=force, units={})
        click.echo(f"wrote {table}")
    if page is not None:
        write = importlib.import_module("myoquat.apps.drawing").write_comparison_report  # matplotlib
        write(found, page)
        click.echo(f"wrote {page}")
    if tolerance is not None and not found.agrees(tolerance):
        raise click.exceptions.Exit(1)


def _mapping(pairs: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, other = pair.partition("=")
        if not (name and equals and other):
            raise click.BadParameter(f"a mapping is A=B, not {pair!r}")
        found[name] = other
    return found
