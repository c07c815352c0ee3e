"""`myoquat film`."""

from typing import Any

import click

from myoquat.apps.commands import options


@options.command("film")
@options.model
@click.argument("motion", type=options.FILE)
@click.argument("output", type=options.Written())
@options.compare
@options.loads_beside
@options.degrees
@options.ignore
@options.rotations
@options.geometry
@options.option("--colour", ("activation", "force"), "What colours the muscles, where MOTION holds it.")
@options.option("--speed", 1.0, "Seconds of motion per second of watching.")
@options.option("--rate", 30, "Pictures per second.")
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
