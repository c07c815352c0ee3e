"""`myoquat info`."""

import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import click

from myoquat import kernels
from myoquat.apps.commands import options
from myoquat.core import printable
from myoquat.data import ImplausibleWarning, UnsupportedWarning, library_models, load_model, urdf
from myoquat.data.osim.read import change_of
from myoquat.data.reports import UnsupportedElements
from myoquat.joints.conversion.balls import ball_joint_obstacle
from myoquat.joints.conversion.chains import find_chains
from myoquat.joints.multibody.body import Body
from myoquat.joints.types.follower import angles_of
from myoquat.muscle import Model, Muscle
from myoquat.muscle.coordinates import linear_couplings

UNREAD = UnsupportedElements.opening


@options.command("info")
@click.argument("model", required=False)
@options.rotations
@options.option("--kernels show_kernels", False, "Show lanes, threads, cache and processor.")
def command(given: Any) -> None:
    """Show the joints, coordinates and muscles of MODEL; without it, the models of the library.

    With --rotations quaternion: which joints became ball joints, by what angles, and why the others did not.
    """
    if given.show_kernels:
        for key, value in kernels.info().items():
            click.echo(f"{key:<18}{_listed(value)}")
    if given.model is None:
        if not given.show_kernels:
            click.echo("Models of the library: " + ", ".join(library_models()))
        return
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        model = load_model(given.model, given.rotations)
    of_file = [w for w in messages if issubclass(w.category, (UnsupportedWarning, ImplausibleWarning))]
    for line in (*_lines(model), *_left_out(of_file)):
        click.echo(printable(line))  # its names may come from a stranger's file
    for warning in (w for w in messages if w not in of_file):
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _listed(value: Any) -> str:
    """A setting of kernels in words: several ones with commas or blanks, not as Python writes them."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return " ".join(value) if isinstance(value, list) else str(value)


def _left_out(messages: Iterable[warnings.WarningMessage]) -> Iterator[str]:
    """Elements that were not read and the consequences; implausible values that were read."""
    for warning in messages:
        heading, _, rest = str(warning.message).rpartition(f": {UNREAD}: ")
        if not heading:
            yield str(warning.message)
            continue
        yield "left out of the file:"
        for part in rest.split("; "):
            tag = re.match(r"\d+ ([\w.]+) \(", part)
            yield f"  {part}" + (f": {urdf.CHANGES.get(tag[1]) or change_of(tag[1])}" if tag else "")


def _lines(model: Model) -> Iterator[str]:
    system = model.system
    yield f"{model.name}: {model.description}" if model.description else model.name
    yield (
        f"{len(system.bodies)} bodies, {system.nq} coordinates, {system.nu} velocities, {len(model.muscles)} muscles"
    )
    chains = {chain[-1].name: chain for chain in find_chains(system.bodies, linear_couplings(model.couplers))}
    for body in system.bodies:
        sequence = getattr(body.joint, "sequence", None)
        joint = f"{body.joint.kind} {sequence}" if sequence else body.joint.kind
        note = _as_ball(body, model) or _chained(chains.get(body.name), model.locked)
        yield f"  body {body.name} on {body.parent}: {joint}, {body.mass:g} kg{note}"
    units = model.system.coordinate_units
    for coordinate in model.coordinates:
        unit = units[coordinate.name]
        notes = [f"from {coordinate.range[0]:g} to {coordinate.range[1]:g} {unit}"] if coordinate.range else []
        notes += [word for word in ("locked", "clamped") if getattr(coordinate, word)]
        yield f"  coordinate {coordinate.name} [{unit}]: {', '.join(notes) or 'no range'}"
    for coupler in model.couplers:
        function = type(coupler.function).__name__
        scale = f"{coupler.scale:g} times " if coupler.scale != 1 else ""
        yield f"  coupler {coupler.name}: {coupler.dependent} = {scale}{function} of {coupler.independent}"
    for constraint in model.constraints:
        bodies = [getattr(constraint, key) for key in ("first", "second") if hasattr(constraint, key)]
        yield f"  constraint {constraint.label}" + (f" between {' and '.join(bodies)}" if bodies else "")
    for force in model.forces:
        yield f"  passive {force.element}: {type(force).__name__}"
    for actuator in model.actuators:
        yield f"  {actuator.element}: {type(actuator).__name__}"
    for given in model.inputs:
        yield f"  input {given.name}: {type(given.function).__name__} of the time"
    for muscle in model.muscles:
        yield f"  muscle {muscle.name}: {_muscle(muscle)}"
    for group in model.groups:
        yield f"  group {group.name}: {', '.join(group.members) or 'no muscles'}"
    for limit in model.limits:
        unit = units[limit.coordinate]
        yield f"  limit {limit.name}: {limit.coordinate} from {limit.lower:g} to {limit.upper:g} {unit}"
    if model.markers:
        yield f"  {len(model.markers)} markers"


def _as_ball(body: Body, model: Model) -> str:
    """Whether a joint that turns in some other way could be a quaternion joint, and why not."""
    angles = body.joint.named
    if body.joint.follows is not None:
        return f"; a frame that follows body {body.joint.follows}"
    if angles is not None:
        return f"; angles {', '.join(angles.all_names)}"
    if body.joint.facts.quaternion is not None or body.joint.facts.nu < 3:
        return ""
    if {*body.names_of_coordinates} <= model.driven:
        return "; no quaternion joint unless it is named: couplers drive all its coordinates"
    fixed = sorted(model.locked.intersection(body.names_of_coordinates))
    if fixed and ball_joint_obstacle(body) is None:
        return f"; no quaternion joint unless it is named: {', '.join(fixed)} is locked"
    reason = ball_joint_obstacle(body)
    if reason is not None:
        return f"; no quaternion joint: {reason}"
    return "; can be a quaternion joint" if not body.joint.by_sequence else ""


def _chained(chain: Sequence[Body] | None, locked: Collection[str]) -> str:
    """Whether a body ends a chain of bodies that could be one quaternion joint, and why it is none."""
    if chain is None:
        return ""
    *followers, last = chain
    with_others = f"with {', '.join(body.name for body in followers)}"
    fixed = [name for name in angles_of(last.joint).all_names if name in locked]
    if not fixed:
        return f"; {with_others} it can be a quaternion joint"
    return f"; {with_others} no quaternion joint unless it is named: {', '.join(fixed)} is locked"


def _muscle(muscle: Muscle) -> str:
    law = f"law {muscle.law.kind}" if muscle.law is not None else "no force law"
    strength = getattr(muscle.law, "max_isometric_force", None)
    parts = [" - ".join(point.body for point in muscle.path.points), law]
    if strength is not None:
        parts.append(f"F0 = {strength:g} N")
    if muscle.law is not None and muscle.law.can_push:
        parts.append("may push" + (" (pull_only = true holds it at zero)" if hasattr(muscle.law, "pull_only") else ""))
    if muscle.activation_dynamics is not None:
        parts.append("activation dynamics")
    for wrap in muscle.path.wraps:
        side = "" if wrap.quadrant == "all" else f" on {wrap.quadrant}"
        if wrap.hint is not None:
            side = " over the point " + ", ".join(f"{x:g}" for x in wrap.hint)
        parts.append(f"around {wrap.kind} {wrap.name or ''} of {wrap.body}{side}".replace("  ", " "))
    return ", ".join(parts)
