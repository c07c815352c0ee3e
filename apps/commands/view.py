"""`myoquat view`."""

import contextlib
import threading
from typing import Any

import click

from myoquat.apps.commands import options


@options.command("view")
@options.model
@click.argument("motion", required=False, type=options.FILE)
@options.compare
@options.loads_beside
@options.degrees
@options.ignore
@options.rotations
@options.geometry
@options.option("--port", 8080, "Port of the local web server.")
@options.option("--no-browser", False, "Print the address, and open no browser.")
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
