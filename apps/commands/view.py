"""`myoquat view`."""

import contextlib
import importlib
import threading
from pathlib import Path

import click

from myoquat.apps.commands import options
from myoquat.data import load_model

__all__ = ["command"]


@click.command("view")
@click.argument("model")
@click.argument("motion", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--compare", type=click.Path(exists=True, path_type=Path), help="Another motion, as a ghost.")
@click.option("--loads", type=click.Path(exists=True, path_type=Path), help="Loads beside the motion: .xml, .c3d.")
@options.rotations
@click.option("--geometry", multiple=True, type=click.Path(path_type=Path), help="A folder with geometry files.")
@click.option("--port", default=8080, show_default=True, help="Port of the local web server.")
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
def command(
    model: str,
    motion: Path | None,
    compare: Path | None,
    loads: Path | None,
    rotations: str,
    geometry: tuple[Path, ...],
    port: int,
    no_browser: bool,
) -> None:
    """Show MODEL (the name of a library model, or a file) in the browser, moving by MOTION (.npz, .mot or .sto).

    Runs until Ctrl-C.
    """
    loaded = load_model(model, rotations)
    folders = [*geometry, *([Path(model).parent] if Path(model).suffix else [])]
    show = importlib.import_module("myoquat.apps.viewer").view  # the server and its libraries take a second
    viewer = show(loaded, motion, compare=compare, loads=loads, geometry=folders, port=port, browser=not no_browser)
    if viewer.scene.missing_geometry_message:
        click.echo(viewer.scene.missing_geometry_message, err=True)
    click.echo(f"{viewer.url} shows {loaded.name}; Ctrl-C ends it")
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    viewer.close()
