"""`myoquat info`."""

import click

import kernels
from muscle import Model, load_model, published_models

__all__ = ["command"]


@click.command("info")
@click.argument("model", required=False)
@click.option("--kernels", "show_kernels", is_flag=True, help="Show lanes, threads, cache and processor.")
def command(model: str | None, show_kernels: bool) -> None:
    """Show the joints, coordinates and muscles of MODEL; without it, the published models."""
    if show_kernels:
        for key, value in kernels.info().items():
            click.echo(f"{key:<16}{value}")
    if model is not None:
        _describe(load_model(model))
    elif not show_kernels:
        click.echo("Published models: " + ", ".join(published_models()))


def _describe(model: Model) -> None:
    system = model.system
    click.echo(f"{model.name}: {model.description}" if model.description else model.name)
    click.echo(
        f"{len(system.bodies)} bodies, {system.nq} coordinates, {system.nu} velocities, {len(model.muscles)} muscles"
    )
    for body in system.bodies:
        sequence = getattr(body.joint, "sequence", None)
        joint = f"{body.joint.kind} {sequence}" if sequence else body.joint.kind
        click.echo(f"  body {body.name} on {body.parent}: {joint}, {body.mass:g} kg")
    for muscle in model.muscles:
        law = f"law {muscle.law.kind}" if muscle.law is not None else "no force law"
        click.echo(f"  muscle {muscle.name}: {' - '.join(point.body for point in muscle.path)}, {law}")
