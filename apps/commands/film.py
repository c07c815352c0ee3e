"""`myoquat film`."""

import importlib
from pathlib import Path

import click

from myoquat.apps.commands import options
from myoquat.data import load_model
from myoquat.data.files import check_output

__all__ = ["command"]


@click.command("film")
@click.argument("model")
@click.argument("motion", type=click.Path(exists=True, path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--compare", type=click.Path(exists=True, path_type=Path), help="Another motion, as a ghost.")
@click.option("--loads", type=click.Path(exists=True, path_type=Path), help="Loads beside the motion: .xml, .c3d.")
@options.rotations
@click.option("--geometry", multiple=True, type=click.Path(path_type=Path), help="A folder with geometry files.")
@click.option("--colour", type=click.Choice(["activation", "force"]), default="activation", show_default=True,
              help="What colours the muscles, where MOTION holds it.")  # fmt: skip
@click.option("--speed", default=1.0, show_default=True, help="Seconds of motion per second of watching.")
@click.option("--rate", default=30, show_default=True, help="Pictures per second.")
@click.option("--size", nargs=2, type=int, default=(960, 720), show_default=True, help="Width and height in pixels.")
@options.force
def command(
    model: str, motion: Path, output: Path, compare: Path | None, loads: Path | None, rotations: str,
    geometry: tuple[Path, ...], colour: str, speed: float, rate: int, size: tuple[int, int], force: bool,
) -> None:  # fmt: skip
    """Write a film of MODEL moving by MOTION to OUTPUT (.mp4, .gif, .webp), without a browser.

    MODEL is the name of a library model, or a file. MOTION is a file, .npz, .mot or .sto. A .npz of `myoquat simulate`
    holds activations and forces, which colour the muscles and make them thicker.
    """
    check_output(output, force)
    write = importlib.import_module("myoquat.apps.viewer").film
    folders = [*geometry, *([Path(model).parent] if Path(model).suffix else [])]
    write(
        load_model(model, rotations), motion, output, compare=compare, loads=loads, geometry=folders,
        color="force [N]" if colour == "force" else colour, speed=speed, rate=rate, size=size, overwrite=force,
    )  # fmt: skip
    click.echo(f"wrote {output}")
