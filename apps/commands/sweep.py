"""`myoquat sweep`."""

from pathlib import Path
from typing import Any

import click

from myoquat.apps.commands import options
from myoquat.kernels import Outcome


@options.command("sweep")
@click.argument("study", type=options.FILE)
@options.option("--output", click.Path(path_type=Path), "Zarr store for the results.", required=True)
@options.option("--resume", False, "Continue the store, if it exists and belongs to this study.")
@options.option("--any-code", False, "Continue also what another version began; each block records its version.")
@options.option("--verify", False, "Only read the store, and report damaged or missing blocks.")
@options.option("--repair", False, "Only compute the damaged blocks again.")
@options.option("--threads", int, "Threads; by default all cores.")
@options.option("--block", int, "Samples per block; by default about 30 s of work.")
@options.option("--scheduler", str, "Address of a Dask scheduler whose workers compute (needs the extra 'cluster').")
@options.option("--timeout", 30.0, "Seconds within which the scheduler must answer.")
@options.rows("Also write a row per sample")
@options.page("Show results and what moves them")
@options.force
def command(given: Any) -> None:
    """Run the study in the TOML file STUDY.

    \b
    format = "myoquat-study"
    version = 1
    model = "two_link"  # or a file beside this one
    [sample]
    design = "latin_hypercube"  # or grid, table, random, sobol, saltelli
    samples = 1000
    [vary]
    "muscles.*.max_isometric_force" = { uniform = [0.8, 1.2], relative = true }
    [simulate]
    duration = 1.0  # [s]
    [keep]
    summaries = ["peak_force", "range_of_motion"]

    All keys: python -c "help('myoquat.analysis.studies.study_files')".

    Exit code 1 if a sample failed; with --verify if a block is damaged or not there.
    """
    studies, stored = (options.imported(f"analysis.studies.{name}") for name in ("study", "results"))  # an extra
    study, output = studies.Study.load(given.study), given.output
    if given.verify:
        checked = stored.verify(study, output)
        for number, fault in checked.damaged.items():
            click.echo(f"block {number} is damaged: {fault}")
        for name in checked.labels:
            click.echo(f"the labels {name!r} are damaged")
        good = checked.blocks - len(checked.damaged) - len(checked.missing)
        click.echo(f"{good} of {checked.blocks} blocks are intact, {len(checked.missing)} are not there")
        options.exit_unless(checked.intact and checked.complete)
        return
    try:
        results, report = studies.compute(study, output, studies.RunOptions(
            resume=studies.ANY_CODE if given.any_code else given.resume, repair=given.repair, threads=given.threads,
            block=given.block, scheduler=given.scheduler, timeout=given.timeout,
        ))  # fmt: skip
    except KeyboardInterrupt:
        click.echo(f"interrupted; the blocks in {output} stay, and the same command with --resume goes on", err=True)
        raise
    for number, fault in (report.damaged or {}).items():
        click.echo(f"block {number} was damaged and is computed again: {fault}")
    found = results.dataset()
    click.echo(f"computed {report.samples} of {found.sizes['sample']} samples in {report.wall:.1f} s")
    status = found.status.values
    for outcome in Outcome:
        if (status == outcome).any():
            click.echo(f"{int((status == outcome).sum()):>10}  {outcome.sentence}")
    click.echo(f"wrote {output}")
    options.store(given, given.table, stored.to_table(found), units={})
    options.store(given, given.report, lambda path: options.imported("apps.study_pages").write_study_report(
        found, path, f"Study {given.study.name}"))  # fmt: skip
    options.exit_unless(not (status > Outcome.COMPLETED).any())
