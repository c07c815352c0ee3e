"""The model of the published solutions of the instrumented shoulder, from the scaled file of the same repository.

The model that the study saved with its solutions differs from the scaled file in four ways [I. M. I. Hasan and others,
imihasan/customized-rmr-solver: main_analyse_dataset.m, OpenSim Models, and the models beside the solutions]:

hand          its script gives the hand its mass in the unscaled model, and 2.4 kg.
constraint    OpenSim's ScaleTool leaves the points of constraints as they are. In the saved model the two points of the
              acromioclavicular joint are stretched like the meshes of their bodies.
marker        T8 lies in the middle of the back, 34 mm beside it in the scaled file.
coordinates   those that the published angles hold were locked, at these angles: elbow, forearm and plane of elevation.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from myoquat.data import Motion
from myoquat.joints import Body
from myoquat.joints.constraints import PointLoop
from myoquat.muscle.model import Model

__all__ = ["changes", "prepared"]

HAND, HAND_MASS = "hand", 0.4653761592663538 + 2.4  # [kg] of BaseModel.osim, and the weight
# [m] as in the generic model, on clavicle and scapula [A. Seth and others, Front. Neurorobot. 13, 2019]
UNSCALED = {"clavicle": (-0.02924, 0.02024, 0.12005), "scapula": (-0.01357, 0.00011, -0.01523)}
# [m] of a marker, in the scaled file and in the saved model
MOVED = {"T8": ((-0.1470708238008071, -0.16672140320105944, -0.034110800897598284),
                (-0.16483293298982835, -0.17919508482787425, -0.0017264649667861551))}  # fmt: skip
OLD = {(name, old) for name, (old, _) in MOVED.items()}
HELD = 1e-6  # [rad, m] within which the published angles are constant


def prepared(model: Model, angles: Motion) -> Model:
    """The model of the published solutions; angles are the published ones of this model."""
    bodies = tuple(replace(b, mass=HAND_MASS) if b.name == HAND else b for b in model.system.bodies)
    constraints = tuple(_scaled(c, bodies) if isinstance(c, PointLoop) else c for c in model.constraints)
    markers = tuple(replace(m, position=MOVED[m.name][1]) if (m.name, m.position) in OLD else m for m in model.markers)
    system = replace(model.system, bodies=bodies)
    return _locked(replace(model, system=system, constraints=constraints, markers=markers), angles)


def changes(before: Model, after: Model) -> list[str]:
    """Sentences about what `prepared` changed."""
    said = []
    for old, new in zip(before.system.bodies, after.system.bodies, strict=True):
        if old.mass != new.mass:
            said.append(f"mass of {old.name} {old.mass:.4g} -> {new.mass:.4g} kg")
    said += [f"points of {old.name} scaled with their bodies"
             for old, new in zip(before.constraints, after.constraints, strict=True) if old != new]  # fmt: skip
    said += [f"marker {old.name} moved by {1e3 * np.linalg.norm(np.subtract(new.position, old.position)):.0f} mm"
             for old, new in zip(before.markers, after.markers, strict=True) if old != new]  # fmt: skip
    locked = {c.name: c.locked for c in before.coordinates}
    names, start, own = after.system.coordinate_names, after.start, before.start
    for name in (c.name for c in after.coordinates if c.locked and c.name in names):
        k = names.index(name)
        if not locked.get(name, False) or start[k] != own[k]:
            said.append(f"{name} locked at {np.degrees(start[k]):.4g} deg")
    return said


# ---- parts -----------------------------------------------------------------------------------------------------------


def _scaled(loop: PointLoop, bodies: Sequence[Body]) -> PointLoop:
    """The constraint whose points are those of the generic model, stretched like the meshes of their bodies."""
    points = {loop.first: loop.first_point, loop.second: loop.second_point}
    if points != UNSCALED:
        return loop
    factors = {b.name: [s.sizes for s in b.shapes if s.kind == "mesh"] for b in bodies if b.name in points}
    own = {name: tuple(np.multiply(point, (factors[name] or [(1.0,) * 3])[0]).tolist())
           for name, point in points.items()}  # fmt: skip
    return replace(loop, first_point=own[loop.first], second_point=own[loop.second])


def _locked(model: Model, angles: Motion) -> Model:
    """The model with the coordinates locked that the angles hold, where they hold them."""
    names = list(model.system.coordinate_names)
    held = {name: float(angles.q[0, k]) for k, name in enumerate(names) if np.ptp(angles.q[:, k]) < HELD}
    start = model.start.copy()
    for name, value in held.items():
        start[names.index(name)] = value
    coordinates = tuple(replace(c, locked=True) if c.name in held else c for c in model.coordinates)
    return replace(model, coordinates=coordinates, start_q=tuple(map(float, start)))
