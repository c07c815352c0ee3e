"""The model and the tables of a problem of Moco: their files and the operators on them."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.analysis.control.moco import drivable_coordinates, joint_names, own_velocities, units_on_ground
from myoquat.analysis.motion.smoothing import smoothed_columns
from myoquat.core import frozen, pandas as pd
from myoquat.data import Forces, Motion, load_forces, load_model, load_paths, load_table, states_from_motion
from myoquat.data.motions.angular_speeds import angular_triples
from myoquat.data.motions.coordinates import DEGREE, rates_of_states, turning
from myoquat.data.omoco import Interval, MocoFile, Processor, matching
from myoquat.data.osim.controllers import read_control_bounds
from myoquat.data.osim.read import read_inner_model
from myoquat.data.reports import UnsupportedElements
from myoquat.data.tables import labelled
from myoquat.data.xml import Element, boolean, complain, number, positive, text
from myoquat.muscle import Model, Muscle
from myoquat.muscle.actuators import delayed
from myoquat.muscle.laws import DeGrooteFregly2016, HillLaw, PathActuator

PREFIXES = ("", "/jointset", "/forceset")  # before a tail, in a whole path
SETS = ("jointset", "forceset", "bodyset", "markerset", "constraintset")


def tail(path: str) -> str:
    """A path without the set at its start: '/jointset/hip_r/hip_flexion_r/value' -> 'hip_r/hip_flexion_r/value'."""
    parts = path.strip("/").split("/")
    return "/".join(parts[1:] if parts[0] in SETS and len(parts) > 1 else parts)


@frozen(eq=False)
class MocoNames:
    """Names of this package by the tails of Moco's paths.

    values    coordinates
    speeds    velocities
    states    states of muscles and activations of actuators
    controls  controls, by the names of forces
    fibers    tails of tendon forces, which are fiber lengths in this package
    """

    values: Mapping[str, str]
    speeds: Mapping[str, str]
    states: Mapping[str, str]
    controls: Mapping[str, str]
    fibers: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: Model, added: Mapping[str, str]) -> "MocoNames":
        """Those of a model. added: the velocities of actuators that operators have added, by the actuators' names."""
        system, joints = model.system, joint_names(model.system)
        plain = [n for n in system.coordinate_names if n in joints]
        one = {n: velocity for n, velocity in own_velocities(system).items() if n in joints}
        active = *(m.name for m in model.muscles if m.activation_dynamics), *(a.name for a in delayed(model).values())
        controls = {name: name for name in (*model.muscle_names, *model.control_names)}
        return cls(
            {f"{joints[n]}/{n}/value": n for n in plain},
            {f"{joints[n]}/{n}/speed": velocity for n, velocity in one.items()},
            {f"{name}/activation": f"{name}.activation" for name in active},
            controls | {name: f"{velocity}.torque" for name, velocity in added.items()},
            tuple(f"{m.name}/normalized_tendon_force" for m in model.muscles if getattr(m.law, "states", ())),
        )

    @property
    def all_states(self) -> dict[str, str]:
        """Values, speeds, and states of muscles and actuators."""
        return {**self.values, **self.speeds, **self.states}

    def state(self, path: str) -> str | None:
        """The name of a state; a bare name of a coordinate is one too."""
        bare = {name: name for name in self.values.values()}
        return self.all_states.get(tail(path), bare.get(path))

    def control(self, path: str) -> str | None:
        """The name of a control."""
        return self.controls.get(tail(path))

    def matching(self, pattern: str, known: Mapping[str, str]) -> list[str]:
        """Names among `known` whose whole path matches an expression; ValueError for one that may take too long."""
        matched = matching(pattern, [f"{prefix}/{end}" for end in known for prefix in PREFIXES])
        whole: Any = np.reshape(matched, (len(known), len(PREFIXES))).any(axis=1)
        return [name for name, matches in zip(known.values(), whole, strict=True) if matches]


LEAST_CONTROL = 0.01  # min_control of muscles whose file says nothing, but of those of De Groote and Fregly
UNCHANGED = ("ModOpUseImplicitTendonComplianceDynamicsDGF", "ModOpTendonComplianceDynamicsModeDGF")  # always implicit


@dataclass
class Reading:
    """A problem of Moco as far as it is read: its model, with what operators have changed, and what has no equal here.

    added                  actuators that operators add: velocity -> (name, scale)
    bounds                 of controls, by the names that Moco gives to forces
    loads                  external loads
    shifted_normalization  as of `load_moco_study`
    """

    file: MocoFile
    model: Model
    unsupported: UnsupportedElements
    shifted_normalization: bool = False
    added: dict[str, tuple[str, float]] = field(default_factory=dict)
    bounds: dict[str, Interval] = field(default_factory=dict)
    loads: Forces | None = None

    @classmethod
    def of(cls, file: MocoFile, holder: Element, unsupported: UnsupportedElements, shifted: bool) -> "Reading":
        """The model of a ModelProcessor after its operators. ModelError for an operator that has no equal here: without
        it the model would move differently."""
        processor = file.processor(holder, "model", "ModelProcessor")
        if processor is None or (processor.file is None and processor.inside is None):
            complain(file.root, "the ModelProcessor names no model")
        path = file.document.path if processor.file is None else processor.file
        if processor.inside is not None:
            model = read_inner_model(processor.inside, file.version, path)
        else:
            model = load_model(path, rotations="file")
        controls, found = read_control_bounds(path), cls(file, model, unsupported, shifted)
        for muscle in model.muscles:  # bounds of its control in its file, or those of OpenSim
            low, high = controls.get(muscle.name, (None, None))
            least = 0.0 if isinstance(muscle.law, (DeGrooteFregly2016, PathActuator)) else LEAST_CONTROL
            found.bounds[muscle.name] = least if low is None else low, 1.0 if high is None else high
        for operator in processor.operators:
            if operator.tag not in MODEL_OPERATORS:
                complain(operator, f"<{operator.tag}> has no equal here; known: {', '.join(MODEL_OPERATORS)}")
            MODEL_OPERATORS[operator.tag](found, operator)
        return found

    @cached_property
    def names(self) -> MocoNames:
        """The names of the model after its operators."""
        return MocoNames.of(self.model, {name: velocity for velocity, (name, _) in self.added.items()})

    def named(self, element: Element, what: str, path: str) -> str:
        """The name of a "state" or a "control"; ModelError for one that the model does not have."""
        name = self.names.state(path) if what == "state" else self.names.control(path)
        if name is None:
            complain(element, f"the model has no {what} {path!r}")
        return name

    def table(self, goal: Element, name: str) -> "pd.DataFrame":
        """The table of a goal's TableProcessor; ModelError where it names no file."""
        return self.read(self.file.table(goal, name))

    def read(self, processor: Processor) -> "pd.DataFrame":
        """The table of a TableProcessor after its operators, angles in rad, without columns that are not finite
        throughout, and with rates of angles where Moco's speeds are an angular velocity.

        ModelError for an operator that has no equal here."""
        assert processor.file is not None
        table = load_table(processor.file)
        in_degrees = table.attrs.get("in_degrees")
        table = table.loc[:, np.isfinite(table.to_numpy(float)).all(axis=0)].rename(columns=str)
        if in_degrees:
            turns = turning(self.model.system)
            table = table * [DEGREE if self.names.state(label) in turns else 1.0 for label in table]
        return self.operated(rates_of_states(self.model, table, False, self.model.start), processor)

    def operated(self, table: "pd.DataFrame", processor: Processor) -> "pd.DataFrame":
        """The table after the operators of a TableProcessor, one after the other."""
        for operator in processor.operators:
            if operator.tag not in TABLE_OPERATORS:
                complain(operator, f"<{operator.tag}> has no equal here; known: {', '.join(TABLE_OPERATORS)}")
            table = TABLE_OPERATORS[operator.tag](self, table, operator)
        return table

    def motion(self, table: "pd.DataFrame") -> Motion:
        """The motion whose coordinates a table gives; those that it lacks stay at the model's start."""
        known, model = set(self.names.values.values()), self.model
        columns = {name: table[label] for label in table if (name := self.names.state(label)) in known}
        if not columns:
            raise ValueError("the table has no coordinate of the model")
        q, _ = states_from_motion(model, pd.DataFrame(columns), in_degrees=False, start=model.start)
        return Motion(model.system, table.index.to_numpy(float), q)

    def check_used(self, element: Element, table: "pd.DataFrame", known: Container[str | None], option: str) -> None:
        """ModelError for a column that is none of the known states, unless an option of the element allows that."""
        unused = [label for label in table if self.names.state(label) not in known]
        if unused and not boolean(element, option):
            complain(element, f"the model has no state {unused[0]!r}; <{option}> passes over it")

    def leave_out(self, element: Element, why: str) -> None:
        """Note what has no equal here."""
        self.unsupported.count(element, why)

    def note_rates(self, element: Element, factors: Mapping[str, float]) -> None:
        """Note velocities of a goal that are an angular velocity in Moco, and rates here: those whose factor counts."""
        own = own_velocities(self.model.system)
        rates = {own[name] for three in angular_triples(self.model) for name in three}
        if changed := sorted(name for name in rates if factors.get(name)):
            self.leave_out(element, f"{', '.join(changed)} are an angular velocity there, and rates of angles here")


# ---- tables ----------------------------------------------------------------------------------------------------

OVERWRITE = "overwrite_existing_columns"


def with_rates(reading: Reading, table: "pd.DataFrame") -> "pd.DataFrame":
    """The table with the speeds of coordinates, derivatives of their splines, where it has none."""
    names = reading.names
    known, own = {names.state(label) for label in table}, {end.rsplit("/", 1)[0]: end for end in names.speeds}
    added = {label: own[place] for label in table if (place := tail(label).removesuffix("/value")) in own}
    added = {label: end for label, end in added.items() if names.speeds[end] not in known}
    if not added:
        return table
    _, rates, *_ = smoothed_columns(table.index.to_numpy(float), table[list(added)].to_numpy(float), None)
    return table.assign(**labelled([f"/jointset/{end}" for end in added.values()], rates))


def _speeds(reading: Reading, table: "pd.DataFrame", operator: Element) -> "pd.DataFrame":
    """`with_rates`, in place of speeds that are there unless the operator keeps them."""
    ends, speeds = {tail(label): label for label in table}, reading.names.speeds
    stated = [label for end, label in ends.items() if end in speeds and f"{end[:-5]}value" in ends]
    return with_rates(reading, table.drop(columns=stated) if boolean(operator, OVERWRITE, True) else table)


def _coupled(reading: Reading, table: "pd.DataFrame", operator: Element) -> "pd.DataFrame":
    """The table with the values of coordinates that couplers drive behind its columns."""
    names = reading.names
    ends = {name: end for end, name in names.values.items()}
    for coupler in reading.model.couplers:
        labels = {names.state(label): label for label in table}
        if coupler.independent not in labels:
            complain(operator, f"the table has no column of {coupler.independent!r}")
        if coupler.dependent in labels and not boolean(operator, OVERWRITE, True):
            continue
        driver = table[labels[coupler.independent]].to_numpy(float)
        table = table.drop(columns=labels.get(coupler.dependent, []))
        values = coupler.scale * coupler.function.value(driver)
        table = table.assign(**{f"/jointset/{ends[coupler.dependent]}": values})
    return table


def _low_pass(reading: Reading, table: "pd.DataFrame", operator: Element) -> "pd.DataFrame":
    cutoff, gaps = number(operator, "cutoff_frequency", -1.0), table.columns[table.isna().any()]
    if cutoff == -1:  # not filtered in Moco, which raises an error for others that are not positive
        return table
    if len(gaps):
        complain(operator, f"column {gaps[0]!r} has gaps, which this filter cannot pass: fill them in the file")
    values, *_ = smoothed_columns(table.index.to_numpy(float), table.to_numpy(float), cutoff)
    return pd.DataFrame(values, table.index, table.columns)


DONE_ANYWAY = ("TabOpConvertDegreesToRadians", "TabOpUseAbsoluteStateNames")  # columns are found without paths
TABLE_OPERATORS: "dict[str, Callable[[Reading, pd.DataFrame, Element], pd.DataFrame]]" = {
    "TabOpAppendCoordinateValueDerivativesAsSpeeds": _speeds,
    "TabOpAppendCoupledCoordinateValues": _coupled,
    "TabOpLowPassFilter": _low_pass,
    **dict.fromkeys(DONE_ANYWAY, lambda reading, table, operator: table),
}


# ---- models ----------------------------------------------------------------------------------------------------


def _of_model(change: Callable[[Model], Model]) -> Callable[[Reading, Element], None]:
    def apply(found: Reading, operator: Element) -> None:
        found.model = change(found.model)

    return apply


def _of_muscles(change: Callable[[Muscle], Muscle]) -> Callable[[Reading, Element], None]:
    return _of_model(lambda model: replace(model, muscles=tuple(map(change, model.muscles))))


def _remove_muscles(found: Reading, operator: Element) -> None:
    found.model, found.bounds = found.model.without_muscles(), {}


def _of_curves(**tags: str) -> Callable[[Reading, Element], None]:
    """Change fields of the laws of De Groote and Fregly to the numbers of entries, and leave other laws."""

    def apply(found: Reading, operator: Element) -> None:
        values: dict[str, Any] = {name: number(operator, tag) if tag else 0.0 for name, tag in tags.items()}

        def changed(muscle: Muscle) -> Muscle:
            law = muscle.law
            return replace(muscle, law=replace(law, **values)) if isinstance(law, DeGrooteFregly2016) else muscle

        _of_muscles(changed)(found, operator)

    return apply


def _stronger(found: Reading, operator: Element) -> None:
    factor = positive(operator, "scale_factor", 1.0)

    def scaled(muscle: Muscle) -> Muscle:
        law = muscle.law
        if not isinstance(law, HillLaw):
            complain(operator, f"muscle {muscle.name!r} has no max_isometric_force")
        return replace(muscle, law=replace(law, max_isometric_force=factor * law.max_isometric_force))

    _of_muscles(scaled)(found, operator)


def _without_curves(muscle: Muscle) -> Muscle:
    if not isinstance(muscle.law, HillLaw):
        return muscle
    return replace(muscle, law=PathActuator(muscle.law.max_isometric_force), activation_dynamics=None)


def _file(found: Reading, operator: Element, tag: str) -> Path:
    """A file that an operator names."""
    return found.file.document.named(operator, tag, text(operator, tag))


def _loads(found: Reading, operator: Element) -> None:
    if found.loads is not None:
        complain(operator, "a second file of external loads is not supported")
    found.loads = load_forces(_file(found, operator, "filepath"))


def _welds(found: Reading, operator: Element) -> None:
    """Fix joints at zero, and keep the start of all other coordinates."""
    joints = {body.joint_name or body.name for body in found.model.system.bodies}
    fixed = {tail(path) for path in text(operator, "joint_paths", "").split()}
    if fixed - joints:
        complain(operator, f"the model has no joint {min(fixed - joints)!r}")
    found.model = found.model.with_welds(fixed)


def _paths(found: Reading, operator: Element) -> None:
    """Paths that are functions of coordinates."""
    paths = load_paths(_file(found, operator, "paths_file"))
    muscles = (name for name in found.model.muscle_names if name in paths)
    found.model = found.model.with_fitted_paths({name: paths[name] for name in muscles})


def _reserves(found: Reading, operator: Element) -> None:
    force, system = positive(operator, "optimal_force", 1.0), found.model.system
    left_out = units_on_ground(system) if boolean(operator, "skip_residual_coordinates") else {}
    _add(found, operator, "reserve", {name: force for name in system.coordinate_names if name not in left_out})


def _residuals(found: Reading, operator: Element) -> None:
    forces = {unit: positive(operator, f"{word}_optimal_force", 1.0)
              for unit, word in (("rad", "rotational"), ("m", "translational"))}  # fmt: skip
    on_ground = units_on_ground(found.model.system)
    _add(found, operator, "residual", {name: forces.get(unit) for name, unit in on_ground.items()})


def _add(found: Reading, operator: Element, word: str, forces: Mapping[str, float | None]) -> None:
    """Add actuators, with Moco's names, to those coordinates of some forces that take a torque."""
    system, bound = found.model.system, text(operator, "bound", "")
    joints, skip_driven = joint_names(system), boolean(operator, "skip_coordinates_with_actuators", True)
    own = own_velocities(system)
    for name in drivable_coordinates(found.model, skip_driven):
        velocity, label = own[name], f"{word}_jointset_{joints[name]}_{name}"
        if name not in forces or (skip_driven and velocity in found.added):
            continue
        scale = forces[name]
        if scale is None:
            complain(operator, f"coordinate {name!r} is neither an angle nor a length: Moco has no residual for it")
        if velocity in found.added:
            raise ValueError(f"coordinate {name!r} has two added actuators, which is not supported")
        found.added[velocity] = label, scale
        if bound:
            found.bounds[label] = -float(bound), float(bound)


MODEL_OPERATORS: dict[str, Callable[[Reading, Element], None]] = {
    "ModOpAddExternalLoads": _loads,
    "ModOpAddReserves": _reserves,
    "ModOpAddResiduals": _residuals,
    "ModOpFiberDampingDGF": _of_curves(damping="fiber_damping"),
    "ModOpIgnoreActivationDynamics": _of_muscles(lambda muscle: replace(muscle, activation_dynamics=None)),
    "ModOpIgnorePassiveFiberForcesDGF": _of_curves(passive_scale=""),
    "ModOpIgnoreTendonCompliance": _of_model(Model.with_rigid_tendons),
    "ModOpPassiveFiberStrainAtOneNormForceDGF": _of_curves(passive_strain="passive_fiber_strain_at_one_norm_force"),
    "ModOpRemoveMuscles": _remove_muscles,
    "ModOpReplaceJointsWithWelds": _welds,
    "ModOpReplaceMusclesWithDeGrooteFregly2016": _of_model(Model.with_degroote_fregly_muscles),
    "ModOpReplaceMusclesWithPathActuators": _of_muscles(_without_curves),
    "ModOpReplacePathsWithFunctionBasedPaths": _paths,
    "ModOpScaleActiveFiberForceCurveWidthDGF": _of_curves(width_scale="scale_factor"),
    "ModOpScaleMaxIsometricForce": _stronger,
    **dict.fromkeys(UNCHANGED, lambda found, operator: None),
}
