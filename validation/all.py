"""`python -m validation.all [FOLDER] [--output PAGES]`: all published experiments, a page each, with the seconds.

Those whose files are in FOLDER, or in folders in it (else in MYOQUAT_STUDIES), and those of models in the package.
"""

import time
from pathlib import Path

import click

from validation.pages import NEEDS_NO_FOLDER, PAGES, PageOptions

FILES = {"instrumented_shoulder": "measured_force_*.txt", "belli_shoulder": "TSM_subject_noWeight.osim",
         "emg_driven_leg": "*_emgFilt.sto"}  # fmt: skip


def studies_in(folder: Path) -> list[tuple[str, Path]]:
    """(study, folder) of all that is there."""
    parts = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    found = [(study, part) for study, pattern in FILES.items() for part in parts if any(part.glob(pattern))]
    if any(part.glob("std_*") for part in parts if any(part.glob("std_*"))):
        found.append(("gait", folder))
    return found + [(study, folder) for study in NEEDS_NO_FOLDER]


@click.command()
@click.argument("folder", envvar="MYOQUAT_STUDIES", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--output", default="reproduced", type=click.Path(path_type=Path), help="The folder of the pages.")
@click.option("--samples", default=1000, show_default=True, help="Of uncertain inputs; 0 for no bands.")
def main(folder: Path, output: Path, samples: int) -> None:
    """Write all pages."""
    output.mkdir(parents=True, exist_ok=True)
    rows = []
    for study, part in studies_in(folder):
        wall, processor = time.perf_counter(), time.process_time()
        PAGES[study](part, output / f"{study}.html", PageOptions(samples=samples, tell=lambda words: None))
        rows.append((study, time.perf_counter() - wall, time.process_time() - processor))
        click.echo(f"{study:24s} {rows[-1][1]:7.1f} s, processor {rows[-1][2]:7.1f} s")
    click.echo(f"{'all':24s} {sum(r[1] for r in rows):7.1f} s, processor {sum(r[2] for r in rows):7.1f} s")


if __name__ == "__main__":
    main()
