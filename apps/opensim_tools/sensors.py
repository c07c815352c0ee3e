"""IMUPlacer and IMUInverseKinematicsTool."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from myoquat.analysis.motion.inverse_kinematics import inverse_kinematics
from myoquat.analysis.motion.problem import Sensor
from myoquat.analysis.motion.sensors import calibrate_orientations
from myoquat.apps.opensim_tools.moved import tell_missing_times
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.data import load_model
from myoquat.data.files import file_name, write_text
from myoquat.data.motions import Orientations, load_orientations
from myoquat.data.osim.reading.sensor_frames import SensorFrame, model_with_sensors, read_sensor_frames
from myoquat.data.setups.sensors import SensorPlacerSetup, SensorTrackingSetup
from myoquat.joints.errors import ModelError, in_file
from myoquat.joints.euler import axis_rotation
from myoquat.muscle.model import Model

__all__ = ["run_sensor_placer", "run_sensor_tracking"]


def run_sensor_placer(setup: SensorPlacerSetup, outputs: Outputs, tell: Callable[[str], None]) -> None:
    """Place the sensors on their bodies, and note the model with them: the file as it is, with a frame for each."""
    model = load_model(setup.model)
    seen = _turned(setup.orientations, setup.turn)
    try:
        sensors = calibrate_orientations(model, seen, base=setup.base, heading=setup.heading or "z")
    except ValueError as error:
        raise in_file(error, setup.path) from None
    tell(f"{len(sensors)} sensors placed")
    centers = {body.name: body.center_of_mass for body in model.system.bodies}
    frames = [SensorFrame(s.name, s.body, s.orientation, tuple(centers[s.body])) for s in sensors]
    text = model_with_sensors(setup.model, frames)
    outputs.add(setup.output, lambda to: write_text(to, text))


def run_sensor_tracking(
    setup: SensorTrackingSetup, outputs: Outputs, rotations: str, tell: Callable[[str], None]
) -> None:
    """Fit the poses to the sensors, and note the angles and the errors. Where the model is stays where it starts."""
    model = load_model(setup.model, rotations)
    frames = read_sensor_frames(setup.model)
    if not frames:
        raise ModelError("the model has no sensors: frames of bodies called '..._imu'; IMUPlacer makes them",
                         file=setup.model)  # fmt: skip
    sensors = [Sensor(f.name, f.body, f.orientation) for f in frames]  # type: ignore[arg-type]
    seen = _turned(setup.orientations, setup.turn).between(*setup.times)
    if not len(seen.time):
        raise ModelError("no frame lies in <time_range>", file=setup.path)
    tell_missing_times(seen.time, setup.times, tell)
    weights = {sensor.name: setup.weights.get(sensor.name, 1.0) for sensor in sensors if sensor.name in seen.names}
    try:
        # OpenSim divides the part of the sensors by the sum of their weights
        pull = setup.constraint_weight * sum(weights.values()) if weights else np.inf
        fit = inverse_kinematics(model, seen, weights, sensors=sensors, locked=_held(model), constraint_weight=pull)
    except ValueError as error:
        raise in_file(error, setup.path) from None
    tell(f"{len(fit.time)} frames, {np.degrees(np.nanmax(fit.sensor_error)):.3g} degrees at most, "
         f"{int((~fit.converged).sum())} not converged")  # fmt: skip
    name = f"ik_{setup.orientations.stem}"
    motion = setup.motion or setup.results / file_name(f"{name}.mot")
    outputs.table(motion, fit.angles(in_degrees=True), name, True)
    if setup.errors:
        errors = pd.DataFrame(fit.sensor_error, pd.Index(fit.time, name="time"), pd.Index(fit.sensor_names))
        outputs.table(setup.results / file_name(f"{name}_orientationErrors.sto"), errors, "OrientationErrors", False)


def _turned(path: Path, angles: tuple[float, ...]) -> Orientations:
    """The sensors in the axes of the model."""
    x, y, z = (axis_rotation(np.asarray(angle), k) for k, angle in enumerate(angles))
    return load_orientations(path).turned(z @ y @ x)


def _held(model: Model) -> list[str]:
    """Coordinates that stay: those that are locked, and lengths of joints on the ground, which sensors do not see."""
    system = model.system
    names = [c.name for c in model.coordinates if c.locked]
    for body in system.bodies:
        if body.parent == system.ground and body.joint.facts.quaternion is None:
            units = body.joint.facts.coordinate_units
            names += [n for n, unit in zip(body.names_of_coordinates, units, strict=True) if unit == "m"]
    return list(dict.fromkeys(names))
