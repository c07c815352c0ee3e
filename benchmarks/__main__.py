"""`python -m benchmarks [NAMES] [--json FILE]`: run the comparisons and print their tables, ratios first."""

import importlib
import json
import platform
from importlib import metadata
from pathlib import Path

import click
import pandas as pd

import kernels

NAMES = ("paths", "elementary")


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write rows, machine and versions to this file.")
def main(names: tuple[str, ...], file: Path | None) -> None:
    """Compare with the peers; all comparisons without NAMES."""
    rows = {}
    for name in names or NAMES:
        rows[name] = importlib.import_module(f"benchmarks.{name}").run()
        click.echo(f"\n{name}\n{pd.DataFrame(rows[name]).to_string(index=False, float_format='%.3g'.__mod__)}")
    peers = {p: metadata.version(p) for p in ("mujoco", "pin", "opensim", "jax") if _installed(p)}
    record = {"machine": platform.processor() or platform.machine(), "kernels": kernels.info(), "peers": peers}
    click.echo(f"\n{record['machine']}, {kernels.info()['cpu']}, {kernels.info()['lanes']} lanes; peers: {peers}")
    if file is not None:
        file.write_text(json.dumps({**record, "rows": rows}, indent=1, default=str))


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
