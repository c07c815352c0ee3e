"""`myoquat run`."""

import sys
import warnings
from pathlib import Path

import click

from myoquat.apps.opensim_tools import run_setup

__all__ = ["command"]


@click.command("run")
@click.argument("setup", type=click.Path(path_type=Path))
@click.option("--model", type=click.Path(path_type=Path), help="The model, in place of the <model_file> of SETUP.")
@click.option(
    "--rotations", default="file", show_default=True, help="Ball joints during the computation: 'file' or 'quaternion'."
)
@click.option("--keep", is_flag=True, help="Refuse to replace files that exist; OpenSim's tools replace them.")
@click.option("--anywhere", is_flag=True, help="Let the setup write outside its own folder.")
@click.option("--report", type=click.Path(path_type=Path), help="Show what was computed: .html, one page by itself.")
@click.option("--quiet", is_flag=True, help="Print only warnings and errors.")
def command(
    setup: Path, model: Path | None, rotations: str, keep: bool, anywhere: bool, report: Path | None, quiet: bool
) -> None:
    """Run SETUP (.xml), of OpenSim's ScaleTool, InverseKinematicsTool, InverseDynamicsTool, AnalyzeTool, CMCTool,
    RRATool, ForwardTool, IMUPlacer or IMUInverseKinematicsTool, and write the files that it names. All are written or
    none. Or solve SETUP, a problem of Moco (.omoco), and write its solution beside it. Unsupported elements are left
    out, and reported on the error stream."""

    def tell(line: str) -> None:
        if not quiet:
            click.echo(line)

    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        try:
            written = run_setup(
                setup,
                model=model,
                rotations=rotations,
                overwrite=not keep,
                anywhere=anywhere,
                tell=tell,
                report=report,
            )
        finally:
            for warning in messages:
                print(f"warning: {warning.message}", file=sys.stderr)
    for path in written:
        tell(f"wrote {path}")
