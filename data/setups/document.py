"""The document of a setup: its entries, files named from its folder, and sets that stand in files of their own."""

import os
from collections.abc import Callable
from dataclasses import field, fields
from pathlib import Path
from typing import Any, TypeVar

from myoquat.core import difflib, frozen
from myoquat.data.files import beside, existing, file_name, near_file
from myoquat.data.osim.document import FIRST_RELEASE, complete
from myoquat.data.reports import UnsupportedElements
from myoquat.data.xml import Element, complain, number, numbers, objects, parse_opensim, text
from myoquat.joints import ModelError

RecordT = TypeVar("RecordT")

NOTHING = ("", "Unassigned")
MEMBERS = "objects/*"  # of a set


@frozen
class SetupDocument:
    """The element of the tool and its file. `anywhere`: it may write outside the folder of that file. `model`: a model
    file in place of that of the setup."""

    root: Element
    path: Path
    anywhere: bool = False
    model: Path | None = None

    @property
    def name(self) -> str:
        """The tool's name, by which OpenSim names results: no path."""
        name = self.root.get("name") or ""
        return checked_name(self.root, name) if name else ""

    def model_file(self, parent: Element) -> Path:
        """The file of the model: the one given, else that of <model_file>."""
        if self.model is not None:
            return self.model
        if text(parent, "model_file", "") in NOTHING:
            complain(parent, "<model_file> names no model; --model FILE (model=FILE) gives one")
        return self.needed_file(parent, "model_file")

    def file(self, parent: Element, tag: str) -> Path | None:
        """The file that an entry names, None if it names none; ModelError where it does not exist."""
        name = text(parent, tag, "")
        return None if name in NOTHING else self.named(parent, tag, name)

    def needed_file(self, parent: Element, tag: str) -> Path:
        """The file that an entry names; ModelError where it names none, or does not exist."""
        found = self.file(parent, tag)
        if found is None:
            complain(parent, f"<{parent.tag}> needs <{tag}>")
        return found

    def named(self, parent: Element, tag: str, name: str) -> Path:
        """The file of a name in an entry; ModelError where it does not exist."""
        path = beside(self.path.parent, name)
        if not os.path.isfile(path):  # nor names that no file can have
            complain(parent.find(tag), f"<{tag}> names {name!r}, which does not exist ({path}){near_file(path)}")
        return path

    def output(self, parent: Element, tag: str, folder: Path | None = None) -> Path | None:
        """The file that is to be written, None if the entry names none; ModelError where it lies elsewhere."""
        name = text(parent, tag, "")
        return None if name in NOTHING else self._inside(parent, tag, beside(folder or self.path.parent, name))

    def _inside(self, parent: Element, tag: str, path: Path) -> Path:
        """The path, if something may be written there."""
        for part in path.relative_to(self.path.parent).parts if path.is_relative_to(self.path.parent) else ():
            if part != "..":
                checked_name(parent if parent.find(tag) is None else parent.find(tag), part)
        if not self.anywhere and not path.resolve().is_relative_to(self.path.parent.resolve()):
            outside = f"<{tag}> names {path}, outside the folder of this setup; --anywhere (anywhere=True) writes there"
            complain(parent.find(tag), outside)
        return path

    @property
    def results(self) -> Path:
        """The folder of results."""
        name = text(self.root, "results_directory", "")
        return self._inside(self.root, "results_directory", beside(self.path.parent, "" if name in NOTHING else name))

    def times(self, parent: Element) -> tuple[float, float]:
        """(first, last) time of <time_range>; without limits where it has none."""
        given = numbers(parent, "time_range", None, (), infinite=True) if text(parent, "time_range", "") else ()
        if len(given) not in (0, 2):
            complain(parent.find("time_range"), f"<time_range> must be two numbers, not {len(given)}")
        if not given or given == (-1.0, -1.0):
            return float("-inf"), float("inf")
        if given[0] > given[1]:
            complain(parent.find("time_range"), f"<time_range> ends before it begins: {given[0]:g} > {given[1]:g}")
        return given[0], given[1]

    def named_files(self, parent: Element, tag: str) -> tuple[Path, ...]:
        """The files that the words of an entry name."""
        names = text(parent, tag, "").split()
        return tuple(self.named(parent, tag, name) for name in names if name not in NOTHING)

    def set_of(self, parent: Element, tag: str) -> "tuple[list[Element], SetupDocument]":
        """The elements of a set in the setup or in a file that it names, and the document that they stand in."""
        holder = parent.find(tag)
        if holder is None:
            return [], self
        name = (holder.get("file") or "").strip()
        if name in NOTHING:
            return objects(parent, tag), self
        return set_in(self.named(parent, tag, name), tag)


def checked_name(element: Element | None, name: str) -> str:
    """The name of an element, which becomes part of a file's name; ModelError for one that cannot."""
    try:
        return file_name(name)
    except ModelError as error:
        complain(element, error.message)


def set_in(path: Path, tag: str, *older: str) -> tuple[list[Element], SetupDocument]:
    """The elements of the set in a file of its own, by its tag or those of older versions."""
    root = parse_opensim(path)
    if root.tag == "OpenSimDocument":
        root = next(iter(root.iterchildren("*")), root)
    if root.tag not in (tag, *older):
        raise ModelError(f"<{tag}> is wanted, not <{root.tag}>", file=path, line=root.sourceline)
    complete(root, FIRST_RELEASE)
    drop_unknown(root, path)
    return root.findall(MEMBERS), SetupDocument(root, path)


def open_setup(path: Path, anywhere: bool = False, model: Path | None = None) -> SetupDocument:
    """The document in a file; ModelError with file and line for anything else."""
    root = parse_opensim(existing(path))
    if root.tag == "OpenSimDocument":
        tools = list(root.iterchildren("*"))
        if not tools:
            raise ModelError("<OpenSimDocument> holds no tool", file=path, line=root.sourceline)
        root = tools[0]
    if model is not None and not os.path.isfile(model):
        raise ModelError("no such model file", file=model)
    drop_unknown(root, path)
    return SetupDocument(root, path, anywhere, model)


# --------------------------------------------------------------------------------------------------------------
#
# Elements that no version of OpenSim knows, or that come twice.


TOOL = """model_file replace_force_set force_set_files results_directory output_precision initial_time final_time
    solve_for_equilibrium_for_auxiliary_states maximum_number_of_integrator_steps maximum_integrator_step_size
    minimum_integrator_step_size integrator_error_tolerance AnalysisSet ControllerSet external_loads_file"""
FOLLOWING = f"""{TOOL} desired_points_file desired_kinematics_file task_set_file constraints_file rra_controls_file
    lowpass_cutoff_frequency cmc_time_window use_fast_optimization_target optimizer_algorithm optimizer_print_level
    numerical_derivative_step_size optimization_convergence_tolerance optimizer_max_iterations use_verbose_printing
    optimizer_convergence_criterion optimizer_derivative_dx use_curvature_filter"""
TRACKING = """results_directory input_directory model_file constraint_weight accuracy time_range output_motion_file
    report_errors marker_file"""
ANALYSIS = "on start_time end_time step_interval in_degrees"
SET_MEMBERS = {"MeasurementSet": "Measurement", "MarkerPairSet": "MarkerPair", "BodyScaleSet": "BodyScale",
               "ScaleSet": "Scale", "OrientationWeightSet": "OrientationWeight"}  # fmt: skip
PROPERTIES: dict[str, str] = {  # of OpenSim 4.6, with those of older versions
    "AnalyzeTool": f"{TOOL} states_file coordinates_file speeds_file lowpass_cutoff_frequency_for_coordinates",
    "CMCTool": f"{FOLLOWING} actuators_to_exclude",
    "RRATool": f"""{FOLLOWING} adjust_com_to_reduce_residuals initial_time_for_com_adjustment output_model_file
        final_time_for_com_adjustment adjusted_com_body""",
    "ForwardTool": f"{TOOL} states_file use_specified_dt",
    "InverseKinematicsTool": f"{TRACKING} IKTaskSet coordinate_file report_marker_locations",
    "IMUInverseKinematicsTool": f"{TRACKING} sensor_to_opensim_rotations orientations_file OrientationWeightSet",
    "IMUPlacer": """model_file base_imu_label base_heading_axis sensor_to_opensim_rotations output_model_file
        orientation_file_for_calibration""",
    "InverseDynamicsTool": """results_directory input_directory model_file time_range forces_to_exclude
        external_loads_file coordinates_file lowpass_cutoff_frequency_for_coordinates output_gen_force_file
        joints_to_report_body_forces output_body_forces_file coordinates_in_degrees""",
    "ScaleTool": "mass height age notes GenericModelMaker ModelScaler MarkerPlacer",
    "GenericModelMaker": "model_file marker_set_file",
    "ModelScaler": """apply scaling_order MeasurementSet ScaleSet marker_file time_range preserve_mass_distribution
        output_model_file output_scale_file""",
    "MarkerPlacer": """apply IKTaskSet marker_file coordinate_file time_range output_motion_file output_model_file
        output_marker_file max_marker_movement move_model_markers""",
    "Measurement": "apply MarkerPairSet BodyScaleSet",
    "MarkerPair": "markers",
    "BodyScale": "axes",
    "Scale": "scales segment apply",
    "IKMarkerTask": "apply weight",
    "IKCoordinateTask": "apply weight value_type value",
    "OrientationWeight": "weight",
    "CMC_Joint": "on weight wrt_body express_body active kp kv ka r0 r1 r2 coordinate limit",
    "Actuation": ANALYSIS,
    "StatesReporter": ANALYSIS,
    "ForceReporter": f"{ANALYSIS} include_constraint_forces",
    "Kinematics": f"{ANALYSIS} coordinates",
    "BodyKinematics": f"{ANALYSIS} bodies express_results_in_body_local_frame",
    "PointKinematics": f"{ANALYSIS} body_name relative_to_body_name point_name point",
    "MuscleAnalysis": f"{ANALYSIS} muscle_list moment_arm_coordinate_list compute_moments",
    "StaticOptimization": f"""{ANALYSIS} use_model_force_set activation_exponent use_muscle_physiology
        optimizer_convergence_criterion optimizer_max_iterations""",
    "JointReaction": f"{ANALYSIS} forces_file joint_names apply_on_bodies express_in_frame",
}


def drop_unknown(root: Element, path: Path) -> None:
    """Take out elements that OpenSim does not know, such as misspelt ones, and those that come again, with one warning
    that names them, their lines and the nearest known names."""
    unsupported = UnsupportedElements()
    for holder in list(root.iter(*PROPERTIES)):
        known, seen = [*PROPERTIES[holder.tag].split(), "defaults"], set[str]()
        for element in list(holder.iterchildren("*")):
            if element.tag not in known:
                near = difflib.get_close_matches(element.tag, known, n=1)
                unsupported.count(element, f"unknown in {holder.tag}" + (f"; nearest: {near[0]}" if near else ""))
            elif element.tag in seen:
                unsupported.count(element, f"comes again in {holder.tag}, where the first one counts")
            else:
                seen.add(element.tag)
                continue
            holder.remove(element)
    for holder in root.iter(*SET_MEMBERS):
        for element in holder.findall(MEMBERS):
            if element.tag != SET_MEMBERS[holder.tag]:
                unsupported.count(element, f"unknown in {holder.tag}; it holds {SET_MEMBERS[holder.tag]}")
                holder.find("objects").remove(element)  # type: ignore[union-attr]
    unsupported.report(path, False)


# --------------------------------------------------------------------------------------------------------------
#
# Records of elements as tables: every field says how it is read from the document and the record's element.


def entry(read: Callable[..., Any], *arguments: Any) -> Any:
    """A field whose value is read(document, element, *arguments)."""
    return field(metadata={"read": lambda document, element: read(document, element, *arguments)})


def value(read: Callable[..., Any], *arguments: Any) -> Any:
    """A field whose value is read(element, *arguments)."""
    return entry(lambda _, element: read(element, *arguments))


def named(element: Element, tag: str) -> str | None:
    """A name, None for none."""
    name = text(element, tag, "")
    return None if name in NOTHING else name


def words(element: Element, tag: str) -> tuple[str, ...]:
    """The words of an entry."""
    return tuple(text(element, tag, "").split())


def cutoff(element: Element, tag: str) -> float | None:
    """A frequency [Hz], None if negative."""
    frequency = number(element, tag, -1.0)
    return None if frequency < 0 else frequency


def read_record(record_type: type[RecordT], document: SetupDocument, element: Element) -> RecordT:
    """The record of an element."""
    found = {f.name: f.metadata["read"](document, element) for f in fields(record_type)}  # type: ignore[arg-type]
    return record_type(**found)


@frozen
class Setup:
    """The setup of a tool: its name, its file, the file of the model, and the folder of results."""

    name: str = entry(lambda document, _: document.name)
    path: Path = entry(lambda document, _: document.path)
    model: Path = entry(SetupDocument.model_file)
    results: Path = entry(lambda document, _: document.results)
