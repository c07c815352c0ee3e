"""ScaleTool: sizes and masses, then the positions of the markers."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from lxml import etree

from myoquat.analysis.motion.inverse_kinematics import MotionWarning
from myoquat.analysis.motion.scaling import Measurement, mean_pose, moved_markers, scale_factors
from myoquat.apps.opensim_tools.kinematics import fitted_to_tasks
from myoquat.apps.opensim_tools.moved import tell_missing_times
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.apps.opensim_tools.sections import scaling_sections
from myoquat.core.typing import Array
from myoquat.data import load_model
from myoquat.data.marker_set import with_markers
from myoquat.data.motions import Markers, load_markers
from myoquat.data.motions.series import TIME_TOLERANCE_S, row_at
from myoquat.data.setups import ScaleSetup
from myoquat.data.setups.scale import PlacerSetup, ScalerSetup
from myoquat.joints.errors import in_file
from myoquat.muscle.model import Model
from myoquat.muscle.scaling import scaled

__all__ = ["run_scale"]


def run_scale(setup: ScaleSetup, outputs: Outputs, tell: Callable[[str], None]) -> None:
    """Scale the model, place its markers, and note the files."""
    model = generic = with_markers(load_model(setup.model), setup.markers)
    if setup.scaler is not None:
        scaler = setup.scaler
        factors = _factors(setup, model, scaler, tell)
        model = scaled(model, factors, setup.mass, scaler.keep_masses)
        tell(f"scaled, {sum(body.mass for body in model.system.bodies):.6g} kg")
        outputs.add(scaler.model, model.save)
        outputs.xml(scaler.factor_file, lambda: _scale_set(factors))
    trial = next((part.trial for part in (setup.scaler, setup.placer) if part is not None and part.trial), None)
    static, sized = None if trial is None else load_markers(trial), model
    outputs.sections.append(lambda: scaling_sections(generic, sized, static))
    if setup.placer is not None:
        _place(setup, setup.placer, model, outputs, tell)


def _place(setup: ScaleSetup, placer: PlacerSetup, model: Model, outputs: Outputs, tell: Callable[[str], None]) -> None:
    trial = mean_pose(_cut(load_markers(placer.trial), placer.times, tell))
    model = replace(model, markers=tuple(m for m in model.markers if m.name in trial.names))
    fit = fitted_to_tasks(model, trial, placer.tasks, placer.coordinates, setup.path)
    if placer.move:
        model = moved_markers(model, trial, fit.q[0], {m.name for m in model.markers if m.fixed})
    tell(f"markers placed, RMS {fit.marker_rms[0] * 1e3:.3g} mm before")
    outputs.add(placer.model, model.save)
    outputs.xml(placer.marker_file, lambda: _marker_set(model))
    if placer.motion is not None:
        outputs.table(placer.motion, fit.angles(in_degrees=True), "static pose", True)


def _factors(setup: ScaleSetup, model: Model, scaler: ScalerSetup, tell: Callable[[str], None]) -> dict[str, Array]:
    """The factors. Measurements with missing markers, and missing bodies, are reported and left out, as in OpenSim."""
    trial = None if scaler.trial is None else _cut(load_markers(scaler.trial), scaler.times, tell)
    bodies = (model.system.ground, *model.system.body_names)
    own, seen = {m.name for m in model.markers}, set(trial.names) if trial is not None else set()
    measurements = []
    for entry in scaler.measurements:
        missing = sorted({name for pair in entry.pairs for name in pair if name not in own or name not in seen})
        unknown = [name for name, _ in entry.bodies if name not in bodies]
        if unknown:
            _warn(f"the measurement {entry.name!r} names bodies that the model lacks: {', '.join(unknown)}")
        if missing or not entry.pairs:
            _warn(f"the measurement {entry.name!r} is not used; markers are missing: {', '.join(missing)}")
            continue
        axes = {name: word for name, word in entry.bodies if name in bodies}
        measurements.append(Measurement(entry.name, entry.pairs, axes))
    factors = {name: values for name, values in scaler.factors if name in bodies}
    for name, _ in scaler.factors:
        if name not in bodies:
            _warn(f"the model has no body {name!r}, whose factors are given")
    try:
        return scale_factors(model, trial, measurements, factors=factors, order=scaler.order)
    except ValueError as error:
        raise in_file(error, setup.path) from None


def _warn(message: str) -> None:
    warnings.warn(message, MotionWarning, stacklevel=3)


def _cut(markers: Markers, times: tuple[float, float], tell: Callable[[str], None]) -> Markers:
    """The frames from the last not later than the first time, to the first not earlier than the last time."""
    time = markers.time
    end = min(int(np.searchsorted(time, times[1] - TIME_TOLERANCE_S, side="left")), len(time) - 1)
    rows = slice(row_at(time, times[0]), end + 1)
    tell_missing_times(time[rows], times, tell)
    return Markers(time[rows], markers.names, markers.positions[rows], markers.frame)


def _scale_set(factors: dict[str, Array]) -> str:
    return _document("ScaleSet", [("Scale", "", [("scales", _words(s)), ("segment", name), ("apply", "true")])
                                  for name, s in factors.items() if not name.endswith("_frame")])  # fmt: skip


def _marker_set(model: Model) -> str:
    ground = model.system.ground
    path = {m.name: "/ground" if m.body == ground else f"/bodyset/{m.body}" for m in model.markers}
    return _document("MarkerSet", [("Marker", m.name, [("socket_parent_frame", path[m.name]),
                                    ("location", _words(m.position)), ("fixed", str(m.fixed).lower())])
                                   for m in model.markers])  # fmt: skip


def _words(values: Sequence[float] | Array) -> str:
    return " ".join(repr(float(x)) for x in values)


def _document(tag: str, entries: list[tuple[str, str, list[tuple[str, str]]]]) -> str:
    """An OpenSim document of one set."""
    root = etree.Element("OpenSimDocument", Version="40000")
    holder = etree.SubElement(etree.SubElement(root, tag, name=tag.lower()), "objects")
    for tag_of_entry, name, values in entries:
        element = etree.SubElement(holder, tag_of_entry, **({"name": name} if name else {}))
        for key, text in values:
            etree.SubElement(element, key).text = text
    written: bytes = etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="UTF-8")
    return written.decode()
