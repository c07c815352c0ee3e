"""The model of a problem of Moco: its file and the operators on it."""

from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.analysis.control.files.moco import joint_names
from myoquat.apps.moco.names import tail
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data import Forces, load_forces, load_model
from myoquat.data.document import boolean, number, positive, text
from myoquat.data.omoco.read import Interval, MocoFile, Processor
from myoquat.data.osim.control_bounds import read_control_bounds
from myoquat.data.osim.read import read_inner_model
from myoquat.data.osim.reading.functional import read_functional
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import Element, complain, parse
from myoquat.joints import FixedJoint
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.muscle import ActivationDynamics, Model, Muscle
from myoquat.muscle.actuators import CoordinateActuator
from myoquat.muscle.laws import DeGrooteFregly2016, HillLaw

__all__ = ["MODEL_OPERATORS", "MocoModel", "read_processed_model"]

LEAST_CONTROL = 0.01  # min_control of muscles whose file says nothing, but of those of De Groote and Fregly
UNCHANGED = ("ModOpUseImplicitTendonComplianceDynamicsDGF", "ModOpTendonComplianceDynamicsModeDGF")  # always implicit


@dataclass
class MocoModel:
    """A model, with what operators have changed.

    added   actuators that operators add: velocity -> (name, scale)
    bounds  of controls, by the names that Moco gives to forces
    loads   external loads
    """

    model: Model
    folder: Path
    unsupported: UnsupportedElements
    added: dict[str, tuple[str, float]] = field(default_factory=dict)
    bounds: dict[str, Interval] = field(default_factory=dict)
    loads: Forces | None = None

    @property
    def torques(self) -> dict[str, float]:
        """Velocity -> scale [N m, N]."""
        return {velocity: scale for velocity, (_, scale) in self.added.items()}

    @property
    def labels(self) -> dict[str, str]:
        """Name of an added actuator -> velocity."""
        return {name: velocity for velocity, (name, _) in self.added.items()}

    def file(self, operator: Element, tag: str) -> Path:
        """A file that an operator names."""
        path = self.folder / text(operator, tag)
        if not path.is_file():
            complain(operator.find(tag), f"<{tag}> names {path.name!r}, which does not exist ({path})")
        return path


def read_processed_model(file: MocoFile, processor: Processor | None, unsupported: UnsupportedElements) -> MocoModel:
    """The model of a ModelProcessor after its operators. ModelError for an operator that has no equal here: without it
    the model would move differently."""
    if processor is None or (processor.file is None and processor.inside is None):
        complain(file.root, "the ModelProcessor names no model")
    path = file.document.path if processor.file is None else processor.file
    controls = read_control_bounds(path)
    if processor.inside is not None:
        model = read_inner_model(processor.inside, file.version, path)
    else:
        model = load_model(path, rotations="file")
    found = MocoModel(model, file.document.path.parent, unsupported)
    found.bounds = {m.name: _least(m, controls.get(m.name, (None, None))) for m in model.muscles}
    for operator in processor.operators:
        if operator.tag not in MODEL_OPERATORS:
            complain(operator, f"<{operator.tag}> has no equal here; known: {', '.join(MODEL_OPERATORS)}")
        MODEL_OPERATORS[operator.tag](found, operator)
    return found


def _least(muscle: Muscle, given: tuple[float | None, float | None]) -> Interval:
    """Bounds of a muscle's control in its file, or those of OpenSim."""
    least = 0.0 if isinstance(muscle.law, DeGrooteFregly2016) else LEAST_CONTROL
    low, high = given
    return least if low is None else low, 1.0 if high is None else high


# ---- operators -------------------------------------------------------------------------------------------------


def _remove_muscles(found: MocoModel, operator: Element) -> None:
    found.model = replace(found.model, muscles=(), groups=(), inputs=())
    found.bounds = {}


def _of_muscles(change: Callable[[Muscle], Muscle]) -> Callable[[MocoModel, Element], None]:
    def apply(found: MocoModel, operator: Element) -> None:
        found.model = replace(found.model, muscles=tuple(map(change, found.model.muscles)))

    return apply


def _without_dynamics(muscle: Muscle) -> Muscle:
    return replace(muscle, activation_dynamics=None)


def _curves(muscle: Muscle) -> Muscle:
    """The muscle with the curves of De Groote and Fregly, as Moco replaces those of Thelen and of Millard."""
    law, dynamics = muscle.law, muscle.activation_dynamics
    if not isinstance(law, HillLaw):
        raise ValueError(
            f"muscle {muscle.name!r}: its law is no Hill-type muscle, which that of De Groote and Fregly replaces"
        )
    curves = DeGrooteFregly2016(
        law.max_isometric_force, law.optimal_fiber_length, law.tendon_slack_length, law.pennation,
        law.max_contraction_velocity, law.tendon, law.tendon_strain, 0.0,
        passive_strain=getattr(law, "passive_strain", 0.6), damping=getattr(law, "damping", 0.0),
    )  # fmt: skip
    own = None if dynamics is None else ActivationDynamics(dynamics.activation_time, dynamics.deactivation_time)
    return replace(muscle, law=curves, activation_dynamics=own)


def _of_curves(**tags: str) -> Callable[[MocoModel, Element], None]:
    """Change fields of the laws of De Groote and Fregly to the numbers of entries, and leave other laws."""

    def apply(found: MocoModel, operator: Element) -> None:
        values: dict[str, Any] = {name: number(operator, tag) if tag else 0.0 for name, tag in tags.items()}
        found.model = replace(
            found.model,
            muscles=tuple(
                replace(m, law=replace(m.law, **values)) if isinstance(m.law, DeGrooteFregly2016) else m
                for m in found.model.muscles
            ),
        )

    return apply


def _stronger(found: MocoModel, operator: Element) -> None:
    factor = positive(operator, "scale_factor", 1.0)

    def scaled(muscle: Muscle) -> Muscle:
        law = muscle.law
        if not isinstance(law, HillLaw):
            complain(operator, f"muscle {muscle.name!r} has no max_isometric_force")
        return replace(muscle, law=replace(law, max_isometric_force=factor * law.max_isometric_force))

    found.model = replace(found.model, muscles=tuple(map(scaled, found.model.muscles)))


def _rigid(found: MocoModel, operator: Element) -> None:
    found.model = found.model.with_rigid_tendons()


def _nothing(found: MocoModel, operator: Element) -> None:
    """What holds here anyway."""


def _loads(found: MocoModel, operator: Element) -> None:
    if found.loads is not None:
        complain(operator, "a second file of external loads is not supported")
    found.loads = load_forces(found.file(operator, "filepath"))


def _welds(found: MocoModel, operator: Element) -> None:
    """Fix joints at zero, and keep the start of all other coordinates."""
    system, start = found.model.system, dict(
        zip(found.model.system.coordinate_names, map(float, found.model.start), strict=True)
    )  # fmt: skip
    joints = {body.joint_name or body.name for body in system.bodies}
    fixed = {tail(path) for path in text(operator, "joint_paths", "").split()}
    if fixed - joints:
        complain(operator, f"the model has no joint {min(fixed - joints)!r}")
    bodies = tuple(
        replace(body, joint=FixedJoint(), coordinate_names=None) if (body.joint_name or body.name) in fixed else body
        for body in system.bodies
    )
    welded = replace(system, bodies=bodies)
    kept = set(welded.coordinate_names)
    found.model = replace(
        found.model, system=welded, coordinates=tuple(c for c in found.model.coordinates if c.name in kept),
        start_q=tuple(start[name] for name in welded.coordinate_names), start_u=None,
    )  # fmt: skip


def _paths(found: MocoModel, operator: Element) -> None:
    """Paths that are functions of coordinates."""
    root = parse(found.file(operator, "paths_file"))
    paths = {tail(str(e.get("name"))): read_functional(e, found.unsupported) for e in root.iter("FunctionBasedPath")}
    known = set(found.model.muscle_names)
    found.model = found.model.with_fitted_paths({name: path for name, path in paths.items() if name in known})


def _reserves(found: MocoModel, operator: Element) -> None:
    scale, bound = positive(operator, "optimal_force", 1.0), text(operator, "bound", "")
    skip, grounded = (boolean(operator, tag, default) for tag, default in
                      (("skip_coordinates_with_actuators", True), ("skip_residual_coordinates", False)))  # fmt: skip
    on_ground = _on_ground(found.model.system)
    for name in _drivable(found, skip):
        if not (grounded and name in on_ground):
            _add(found, name, "reserve", scale, bound)


def _residuals(found: MocoModel, operator: Element) -> None:
    forces = {unit: positive(operator, f"{word}_optimal_force", 1.0)
              for unit, word in (("rad", "rotational"), ("m", "translational"))}  # fmt: skip
    bound = text(operator, "bound", "")
    on_ground = _on_ground(found.model.system)
    for name in _drivable(found, boolean(operator, "skip_coordinates_with_actuators", True)):
        if name in on_ground:
            if on_ground[name] not in forces:
                complain(operator, f"coordinate {name!r} is neither an angle nor a length: Moco has no residual for it")
            _add(found, name, "residual", forces[on_ground[name]], bound)


def _drivable(found: MocoModel, skip_driven: bool) -> list[str]:
    """Coordinates that neither a lock nor a coupler determines, and, if asked for, that no actuator drives."""
    model = found.model
    held = {c.name for c in model.coordinates if c.locked} | {coupler.dependent for coupler in model.couplers}
    driven = {a.coordinate for a in model.actuators if isinstance(a, CoordinateActuator)}
    rates = {n: model.system.indices.velocities_of_coordinate(n) for n in model.system.coordinate_names}
    names = [n for n, rows in rates.items() if len(rows) == 1 and n not in held]
    return [n for n in names if not (skip_driven and (n in driven or _velocity(model.system, n) in found.added))]


def _on_ground(system: ArticulatedSystem) -> dict[str, str]:
    """The unit of every coordinate of a joint on the ground."""
    return {
        name: unit
        for body in system.bodies
        if body.parent == system.ground
        for name, unit in zip(body.names_of_coordinates, body.joint.facts.coordinate_units, strict=True)
    }


def _velocity(system: ArticulatedSystem, coordinate: str) -> str:
    rows: Array = np.atleast_1d(system.indices.velocities_of_coordinate(coordinate))
    return system.velocity_names[int(rows[0])]


def _add(found: MocoModel, coordinate: str, word: str, scale: float, bound: str) -> None:
    """An actuator of a coordinate, with Moco's name."""
    system = found.model.system
    velocity, label = _velocity(system, coordinate), f"{word}_jointset_{joint_names(system)[coordinate]}_{coordinate}"
    if velocity in found.added:
        raise ValueError(f"coordinate {coordinate!r} has two added actuators, which is not supported")
    found.added[velocity] = label, scale
    if bound:
        found.bounds[label] = -float(bound), float(bound)


MODEL_OPERATORS: dict[str, Callable[[MocoModel, Element], None]] = {
    "ModOpAddExternalLoads": _loads,
    "ModOpAddReserves": _reserves,
    "ModOpAddResiduals": _residuals,
    "ModOpFiberDampingDGF": _of_curves(damping="fiber_damping"),
    "ModOpIgnoreActivationDynamics": _of_muscles(_without_dynamics),
    "ModOpIgnorePassiveFiberForcesDGF": _of_curves(passive_scale=""),
    "ModOpIgnoreTendonCompliance": _rigid,
    "ModOpPassiveFiberStrainAtOneNormForceDGF": _of_curves(passive_strain="passive_fiber_strain_at_one_norm_force"),
    "ModOpRemoveMuscles": _remove_muscles,
    "ModOpReplaceJointsWithWelds": _welds,
    "ModOpReplaceMusclesWithDeGrooteFregly2016": _of_muscles(_curves),
    "ModOpReplacePathsWithFunctionBasedPaths": _paths,
    "ModOpScaleActiveFiberForceCurveWidthDGF": _of_curves(width_scale="scale_factor"),
    "ModOpScaleMaxIsometricForce": _stronger,
    **dict.fromkeys(UNCHANGED, _nothing),
}
