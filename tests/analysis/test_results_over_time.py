"""Results over time have datasets with the same names of dimensions, which hold what their tables hold, and figures."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import myoquat as mq
from myoquat.analysis.control import Effort, Problem
from myoquat.analysis.motion import inverse_dynamics_of_motion, joint_angles
from myoquat.analysis.recruitment import joint_loads, metabolic_power, static_optimization
from myoquat.core import Curves
from myoquat.muscle.actuators import CoordinateActuator
from tests.analysis.motion.test_motion_like import LOADS, MAKE, MODEL, TIME, swing

LABELS = {
    "muscle": ["biceps"],
    "velocity": ["rod.speed"],
    "coordinate": ["rod.angle"],
    "joint": ["rod"],
    "axis": ["x", "y", "z"],
    "control": ["rod.speed.torque"],
}
TORQUES = inverse_dynamics_of_motion(MODEL, swing(), LOADS)
MOTOR = CoordinateActuator("rod.speed.torque", "rod.angle")
RESULTS = {
    **{name: make for name, make in MAKE.items() if "Motion" not in name},
    "Trajectory with controls": lambda: mq.simulate(mq.Model(MODEL.system, actuators=(MOTOR,)), controls=[0.1]),
    "JointTorques": lambda: TORQUES,
    "JointAngles": lambda: joint_angles(swing(), "rod", "helical"),
    "JointLoads": lambda: joint_loads(MODEL, swing()),
    "MetabolicPower": lambda: metabolic_power(MODEL, swing(), np.full((len(TIME), 1), 0.2)),
    "Solution": lambda: Problem(
        mq.Model(MODEL.system), 0.4, (Effort(),), 4, torques=("rod.speed",), initial={"rod.angle": 0.1}
    ).solve(),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_over_time_have_labelled_datasets_and_figures(name):
    found = RESULTS[name]()
    assert isinstance(found, Curves)
    data = found.to_xarray()
    assert data.time.dims == ("time",)
    assert data.time.units == "s"
    for axis, labels in LABELS.items():
        assert data.sizes.get(axis, 0) == 0 or list(data[axis].values) == labels
    for curve, (dims, values, _) in found.curves().items():
        assert data[curve].dims == dims
        np.testing.assert_array_equal(data[curve], values)
    figure = found.plot()
    assert isinstance(figure, Figure)
    assert all(axis.get_legend() for axis in figure.axes if axis.get_visible())


def test_datasets_hold_what_tables_hold():
    tensions = mq.simulate(MODEL, duration=0.1, step=0.02, activation=[0.3])
    table, data = tensions.to_dataframe(), tensions.to_xarray()
    np.testing.assert_array_equal(table["biceps.force"], data["force"].sel(muscle="biceps"))
    np.testing.assert_array_equal(table["rod.angle"], data["q"].sel(coordinate="rod.angle"))
    np.testing.assert_array_equal(TORQUES.to_dataframe()["rod.speed"], TORQUES.to_xarray().torque[:, 0])
    assert (data.length.units, TORQUES.to_xarray().torque.units) == ("m", "N m")


def test_poses_of_static_optimization_keep_their_batch():
    q, u = np.zeros((3, 2, 1)), np.zeros(1)
    found = static_optimization(MODEL, q, u, u + 1.0, reserves=5.0)
    data = found.to_xarray()
    assert dict(data.activation.sizes) == {"pose_0": 3, "pose_1": 2, "muscle": 1}
    np.testing.assert_array_equal(data.reserve.sel(velocity="rod.speed"), found.reserve[..., 0])


def test_batches_of_simulations_have_their_runs_first():
    model = mq.load_model("two_link")
    start = np.stack([model.start] * 2)
    data = mq.simulate(model, start, duration=0.02, step=0.01).to_xarray()
    assert data.q.dims == ("run_0", "time", "coordinate")
    assert (data.q.units, data.u.units, data.force.units) == ("1", "rad/s", "N")
