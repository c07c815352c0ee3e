"""`myoquat view`."""

import contextlib
import threading
from typing import Any

import click

from myoquat.apps.commands import options

__all__ = ["command"]


@options.command("view")
@options.model
@click.argument("motion", required=False, type=options.FILE)
@click.option("--compare", type=options.FILE, help="Another motion, as a ghost.")
@click.option("--loads", type=options.FILE, help="Loads beside the motion: .xml, .c3d.")
@options.degrees
@options.ignore
@options.rotations
@options.geometry
@click.option("--port", default=8080, help="Port of the local web server.")
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
def command(given: Any) -> None:
    """Show MODEL (the name of a library model, or a file) in the browser, moving by MOTION (.npz, .mot or .sto).

    Runs until Ctrl-C.
    """
    model, geometry = options.shown(given)
    motion, other = options.films(given, model)
    viewer = options.imported("apps.viewer").view(
        model, motion, compare=other, loads=given.loads, geometry=geometry, port=given.port,
        browser=not given.no_browser,
    )  # fmt: skip
    if viewer.scene.missing_geometry_message:
        click.echo(viewer.scene.missing_geometry_message, err=True)
    click.echo(f"{viewer.url} shows {model.name}; Ctrl-C ends it")
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    viewer.close()
