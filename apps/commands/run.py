"""`myoquat run`."""

import warnings
from typing import Any

import click

from myoquat.apps.commands import options
from myoquat.apps.opensim_tools import run_setup


@options.command("run")
@click.argument("setup", type=options.FILE)
@options.option("--model", options.FILE, "The model, in place of the <model_file> of SETUP.")
@options.option("--rotations", "file", "Ball joints during the computation: 'file' or 'quaternion'.")
@options.option("--keep", False, "Refuse to replace files that exist; OpenSim's tools replace them.")
@options.option("--anywhere", False, "Let the setup write outside its own folder.")
@options.option("--report", click.Path(), "Show what was computed: .html, one page by itself.")
@options.option("--quiet", False, "Print only warnings and errors.")
def command(given: Any) -> None:
    """Run SETUP (.xml), of OpenSim's ScaleTool, InverseKinematicsTool, InverseDynamicsTool, AnalyzeTool, CMCTool,
    RRATool, ForwardTool, IMUPlacer or IMUInverseKinematicsTool, and write the files that it names. All are written or
    none. Or solve SETUP, a problem of Moco (.omoco), and write its solution beside it. Unsupported elements are left
    out, and reported on the error stream."""

    def tell(line: str) -> None:
        if not given.quiet:
            click.echo(line)

    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        try:
            written = run_setup(
                given.setup, model=given.model, rotations=given.rotations, overwrite=not given.keep,
                anywhere=given.anywhere, tell=tell, report=given.report,
            )  # fmt: skip
        finally:
            for warning in messages:
                click.echo(f"warning: {warning.message}", err=True)
    for path in written:
        tell(f"wrote {path}")
