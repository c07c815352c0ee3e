"""`myoquat sweep`."""

from pathlib import Path

import click

from myoquat.analysis.studies.export import check_export, export
from myoquat.analysis.studies.run import compute
from myoquat.analysis.studies.study import Study
from myoquat.kernels import Outcome

__all__ = ["command"]


@click.command("sweep")
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--output", required=True, type=click.Path(path_type=Path), help="Zarr store for the results.")
@click.option("--resume", is_flag=True, help="Go on with the store, if it is there and of this study.")
@click.option("--threads", type=int, help="Threads; by default all cores.")
@click.option("--block", type=int, help="Samples per block; by default about 2048.")
@click.option("--scheduler", help="Address of a Dask scheduler whose workers compute (needs the extra 'cluster').")
@click.option("--timeout", default=30.0, show_default=True, help="Seconds within which the scheduler must answer.")
@click.option("--table", type=click.Path(path_type=Path), help="Also write a row per sample: .csv or .parquet.")
@click.option("--force", is_flag=True, help="Replace a table that exists.")
def command(
    study: Path,
    output: Path,
    resume: bool,
    threads: int | None,
    block: int | None,
    scheduler: str | None,
    timeout: float,
    table: Path | None,
    force: bool,
) -> None:
    """Run the study in the TOML file STUDY (its schema stands in analysis/studies/files.py).

    Exit code 1 if a sample failed.
    """
    if table is not None:
        check_export(table, force)
    results, report = compute(
        Study.from_toml(study),
        output,
        resume=resume,
        threads=threads,
        block=block,
        scheduler=scheduler,
        timeout=timeout,
    )
    found = results.dataset()
    click.echo(f"computed {report.samples} of {found.sizes['sample']} samples in {report.wall:.1f} s")
    status = found.status.values
    for outcome in Outcome:
        if (status == outcome).any():
            click.echo(f"{int((status == outcome).sum()):>10}  {outcome.sentence}")
    click.echo(f"wrote {output}")
    if table is not None:
        export(found, table)
        click.echo(f"wrote {table}")
    if (status > Outcome.COMPLETED).any():
        raise click.exceptions.Exit(1)
