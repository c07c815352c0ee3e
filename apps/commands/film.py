"""`myoquat film`."""

from typing import Any

import click

from myoquat.apps.commands import options

__all__ = ["command"]


@options.command("film")
@options.model
@click.argument("motion", type=options.FILE)
@click.argument("output", type=options.Written())
@click.option("--compare", type=options.FILE, help="Another motion, as a ghost.")
@click.option("--loads", type=options.FILE, help="Loads beside the motion: .xml, .c3d.")
@options.degrees
@options.ignore
@options.rotations
@options.geometry
@click.option("--colour", type=click.Choice(["activation", "force"]), default="activation",
              help="What colours the muscles, where MOTION holds it.")  # fmt: skip
@click.option("--speed", default=1.0, help="Seconds of motion per second of watching.")
@click.option("--rate", default=30, help="Pictures per second.")
@click.option("--size", nargs=2, type=int, default=(960, 720), help="Width and height in pixels.")
@options.force
def command(given: Any) -> None:
    """Write a film of MODEL moving by MOTION to OUTPUT (.mp4, .gif, .webp), without a browser.

    MODEL is the name of a library model, or a file. MOTION is a file, .npz, .mot or .sto. A .npz of `myoquat simulate`
    holds activations and forces, which colour the muscles and make them thicker.
    """
    model, geometry = options.shown(given)
    motion, other = options.films(given, model)
    options.store(given, given.output, lambda path: options.imported("apps.viewer").film(
        model, motion, path, compare=other, loads=given.loads, geometry=geometry,
        color="force [N]" if given.colour == "force" else given.colour, speed=given.speed, rate=given.rate,
        size=given.size, overwrite=given.force,
    ))  # fmt: skip
