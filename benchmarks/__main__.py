"""`python -m benchmarks [NAMES]`: run the comparisons and print their tables, ratios first."""

import importlib
import json
from pathlib import Path
from typing import Any

import click
import pandas as pd

from benchmarks import figure, machine
from benchmarks.names import NAMES


@click.command(epilog=f"NAMES: {', '.join(NAMES)}.")
@click.argument("names", nargs=-1, type=click.Choice(list(NAMES)), metavar="[NAMES]...")
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write rows, machine and versions to this file.")
@click.option(
    "--figure", "drawing", type=click.Path(path_type=Path), help="Draw the ratios into this file (.png, .pdf, .svg)."
)
def main(names: tuple[str, ...], file: Path | None, drawing: Path | None) -> None:
    """Compare with the peers; all comparisons without NAMES."""
    record = machine.describe()
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in names or NAMES:
        rows[name] = importlib.import_module(NAMES[name]).run()
        click.echo(f"\n{name}\n{_table(rows[name])}")
    click.echo(f"\n{machine.summary(record)}")
    if file is not None:
        file.write_text(json.dumps({**record, "rows": rows}, indent=1, default=str))
    if drawing is not None:
        figure.draw(rows, drawing, machine.summary(record).splitlines()[0])


def _table(rows: list[dict[str, Any]]) -> str:
    """Rows as text, a block for each type of work, with the columns that are equal in all of its rows above it."""
    blocks = []
    for work, group in pd.DataFrame(rows).groupby("work", sort=False, dropna=False):
        columns = group.drop(columns=["work", "against", "unit"], errors="ignore").dropna(axis="columns", how="all")
        first = group.iloc[0]
        title = f"{work}" + (
            f", {first['unit']}, ratios to {first['against']}" if isinstance(first.get("against"), str) else ""
        )
        blocks.append(f"{title}\n{columns.to_string(index=False, float_format='%.3g'.__mod__)}")
    return "\n\n".join(blocks)


if __name__ == "__main__":
    main()
