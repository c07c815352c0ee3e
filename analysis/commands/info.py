"""`myoquat info`."""

import click

from myoquat import kernels
from myoquat.data import load_model, published_models
from myoquat.joints.balls import why_not_ball
from myoquat.joints.body import Body
from myoquat.joints.types import EulerJoint, FloatingJoint, SphericalJoint
from myoquat.muscle import Model, Muscle

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
        click.echo(f"  body {body.name} on {body.parent}: {joint}, {body.mass:g} kg{_as_ball(body)}")
    for coordinate in model.coordinates:
        notes = [f"from {coordinate.range[0]:g} to {coordinate.range[1]:g}"] if coordinate.range else []
        notes += [word for word in ("locked", "clamped") if getattr(coordinate, word)]
        click.echo(f"  coordinate {coordinate.name}: {', '.join(notes) or 'no range'}")
    for coupler in model.couplers:
        kind = type(coupler.function).__name__
        scale = f"{coupler.scale:g} times " if coupler.scale != 1 else ""
        click.echo(f"  coupler {coupler.name}: {coupler.dependent} = {scale}{kind} of {coupler.independent}")
    for muscle in model.muscles:
        click.echo(f"  muscle {muscle.name}: {_muscle(muscle)}")
    for limit in model.limits:
        click.echo(f"  limit {limit.name}: {limit.coordinate} from {limit.lower:g} to {limit.upper:g}")
    if model.markers:
        click.echo(f"  {len(model.markers)} markers")


def _as_ball(body: Body) -> str:
    """Whether a joint that turns in some other way could be a quaternion joint, and why not."""
    if isinstance(body.joint, (SphericalJoint, FloatingJoint)) or body.joint.facts.nu < 3:
        return ""
    reason = why_not_ball(body)
    if reason is not None:
        return f"; no quaternion joint: {reason}"
    return "; can be a quaternion joint" if not isinstance(body.joint, EulerJoint) else ""


def _muscle(muscle: Muscle) -> str:
    law = f"law {muscle.law.kind}" if muscle.law is not None else "no force law"
    parts = [" - ".join(point.body for point in muscle.path), law]
    if muscle.activation_dynamics is not None:
        parts.append("activation dynamics")
    for wrap in muscle.wraps:
        side = "" if wrap.quadrant == "all" else f" on {wrap.quadrant}"
        parts.append(f"around {wrap.kind} {wrap.name or ''} of {wrap.body}{side}".replace("  ", " "))
    return ", ".join(parts)
