"""Curves of a trial under uncertain inputs: angles, torques, and muscle and joint forces."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd

from myoquat.analysis.motion import JointTorques, inverse_dynamics_of_motion
from myoquat.analysis.recruitment.convex import Solutions, are_met, solve_programs
from myoquat.analysis.recruitment.joint_loads import JointLoads
from myoquat.analysis.recruitment.redundancy import Effort
from myoquat.analysis.recruitment.redundancy.actuators import AnyReserve
from myoquat.analysis.recruitment.redundancy.affine_forces import secants
from myoquat.analysis.recruitment.redundancy.coupled import recruited
from myoquat.analysis.recruitment.redundancy.equations import Demands
from myoquat.analysis.recruitment.stability import StabilityRule
from myoquat.analysis.studies.execution.varied_demands import VariedDemands
from myoquat.analysis.studies.uncertainty.curves import UncertainCurves
from myoquat.analysis.studies.uncertainty.inputs import Samples, UncertainInputs
from myoquat.analysis.studies.uncertainty.motions import MotionSteps, RecordedTrial
from myoquat.analysis.studies.uncertainty.numbers import VariedNumbers
from myoquat.core.arguments import check_types
from myoquat.core.records import dataclass
from myoquat.core.typing import Array
from myoquat.data.motions import Forces, Markers, Motion
from myoquat.data.motions.motion import selected_frames
from myoquat.data.tables import column_units
from myoquat.joints.compiled import traced_once
from myoquat.muscle import Model

__all__ = ["LoadsWanted", "uncertain_angles", "uncertain_loads", "uncertain_torques"]

M = TypeVar("M")
OF_ANGLES = ("marker_placement", "marker_noise")
OF_TORQUES = (*OF_ANGLES, "inertias")


@dataclass(frozen=True)
class LoadsWanted:
    """What `uncertain_loads` computes.

    reserves      as in `redundancy`
    cones         stability rules, as in `redundancy`
    effort        as in `redundancy`
    joints        those with wanted loads, all if None
    on            "child" or "parent", the body on which the loads act
    frame         of the loads, as in `JointLoads.of`
    proportional  whether a force is the activation times the active fiber's force at 1, as in OpenSim's static
                  optimization

    >>> from myoquat.analysis.studies import LoadsWanted
    >>> LoadsWanted(reserves=1.0, joints=("knee_r",)).frame
    'ground'
    """

    reserves: float | Sequence[AnyReserve] = ()
    cones: Sequence[StabilityRule] = ()
    effort: Effort | None = None
    joints: Sequence[str] | None = None
    on: str = "child"
    frame: str = "ground"
    proportional: bool = False


def uncertain_angles(
    model: Model, recording: Markers | Motion, inputs: UncertainInputs | None = None, steps: MotionSteps | None = None
) -> UncertainCurves:
    """The coordinates of a trial [deg, m], with bands for the placement of the markers and their noise.

    recording  markers, or a motion, whose poses the model's own markers stand for (`RecordedTrial`).
    inputs     the deviations; those of muscles and bodies do not change angles.
    steps      how markers become poses; without filter, as `inverse_kinematics` finds them.

    ValueError for a motion of a model without markers, and as `inverse_kinematics` raises it.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import UncertainInputs, uncertain_angles
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint(), coordinate_names=("elbow",))
    >>> hand = mq.muscle.coordinates.Marker("hand", "arm", (1.0, 0.0, 0.0))
    >>> model = mq.Model(mq.ArticulatedSystem((arm,)), markers=(hand,))
    >>> motion = mq.data.Motion(model, [0.0, 0.1], [[0.2], [0.3]])
    >>> found = uncertain_angles(model, motion, UncertainInputs(marker_noise=0.01, marker_placement=0.0, samples=200))
    >>> found.shares()["standard deviation"].round(1).to_list()  # 0.01 m over 1 m [deg]
    [0.6]
    """
    trial, inputs, sources, missing = _begun(model, recording, inputs, steps, OF_ANGLES)
    rows = inputs.times(len(trial.poses.time))

    def evaluate(samples: Samples, keys: dict[str, int], motion: Motion) -> pd.DataFrame:
        return selected_frames(motion, rows).angles(in_degrees=True)

    nominal = selected_frames(trial.poses, rows).angles(in_degrees=True)
    units = {name: "deg" if unit == "rad" else unit for name, unit in model.system.coordinate_units.items()}
    return _curves(
        nominal, [units.get(str(n), "1") for n in nominal], (inputs, sources, missing), trial.poses_of, evaluate
    )


def uncertain_torques(
    model: Model, recording: Markers | Motion, loads: Forces | None = None, inputs: UncertainInputs | None = None,
    steps: MotionSteps | None = None,
) -> UncertainCurves:  # fmt: skip
    """The generalized forces of inverse dynamics [N m, N] of a trial, with bands for markers and inertias.

    They are those under external loads. Arguments as of `uncertain_angles`.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import UncertainInputs, uncertain_torques
    >>> arm = mq.Body("arm", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0),
    ...               coordinate_names=("elbow",))
    >>> motion = mq.data.Motion(mq.Model(mq.ArticulatedSystem((arm,))), 0.02 * np.arange(20), np.zeros((20, 1)))
    >>> model = mq.Model(mq.ArticulatedSystem((arm,)))
    >>> uncertain_torques(model, motion, inputs=UncertainInputs(samples=64)).sources
    ('inertias',)
    """
    trial, inputs, sources, missing = _begun(model, recording, inputs, steps, OF_TORQUES)
    bare, rows = replace(model, muscles=(), groups=()), inputs.times(len(trial.poses.time))
    bare = trial.poses.check_system(bare)
    numbers, moving = VariedNumbers.of(bare, sources), selected_frames(trial.steps.moving(model, trial.poses), rows)
    base = None if numbers is None else VariedDemands(bare, moving, loads, ((), ()), numbers.parameters)

    def needed_of(samples: Samples, keys: dict[str, int]) -> tuple[JointTorques, VariedDemands | None]:
        part = selected_frames(trial.moving(samples, keys), rows)
        varied = None if base is None else base.along(part)
        return (inverse_dynamics_of_motion(bare, part, loads) if varied is None else varied.needed), varied

    def evaluate(
        samples: Samples, keys: dict[str, int], of_motion: tuple[JointTorques, VariedDemands | None]
    ) -> pd.DataFrame:
        needed, varied = of_motion
        if varied is None or numbers is None:
            return needed.of_coordinates()
        return replace(needed, torque=varied.torque(numbers.drawn(samples, keys))).of_coordinates()

    nominal = inverse_dynamics_of_motion(bare, moving, loads).of_coordinates()
    return _curves(nominal, list(column_units(nominal).values()), (inputs, sources, missing), needed_of, evaluate)


@traced_once()
def uncertain_loads(
    model: Model, recording: Markers | Motion, loads: Forces | None = None, inputs: UncertainInputs | None = None,
    steps: MotionSteps | None = None, wanted: LoadsWanted | None = None,
) -> UncertainCurves:  # fmt: skip
    """Activations, tensions and joint loads of least effort, with bands for all sources.

    The curves are 'NAME.activation', 'NAME.force' [N], and those of `JointLoads.to_dataframe` [N, N m, m]. Arguments
    are those of `uncertain_angles`. Tendons are rigid. Of force laws that are not affine in the activation each sample
    has a local solution.

    >>> import numpy as np
    >>> import myoquat as mq
    >>> from myoquat.analysis.studies import LoadsWanted, UncertainInputs, uncertain_loads
    >>> model = mq.load_model("two_link")
    >>> still = mq.data.Motion(model, 0.02 * np.arange(20), np.tile(model.start_q, (20, 1)))
    >>> few, wanted = UncertainInputs(samples=16, frames=2), LoadsWanted(reserves=1.0)
    >>> uncertain_loads(model, still, inputs=few, wanted=wanted).sources
    ('strengths', 'attachments', 'inertias')
    """
    trial, inputs, sources, missing = _begun(model, recording, inputs, steps, None)
    wanted = wanted or LoadsWanted()
    rigid, rows = model.with_rigid_tendons(), inputs.times(len(trial.poses.time))
    rigid = trial.poses.check_system(rigid)
    numbers = VariedNumbers.of(rigid, sources)
    if numbers is None:
        raise ValueError("the model has no strengths, attachments or inertias that could vary")
    moving = selected_frames(trial.steps.moving(model, trial.poses), rows)
    base = VariedDemands(rigid, moving, loads, (wanted.reserves, wanted.cones), numbers.parameters)

    def evaluate(samples: Samples, keys: dict[str, int], motion: VariedDemands) -> pd.DataFrame:
        return _solved(motion, numbers.drawn(samples, keys), wanted)

    def demands_of(samples: Samples, keys: dict[str, int]) -> VariedDemands:
        return base.along(selected_frames(trial.moving(samples, keys), rows))

    nominal = _solved(base, numbers.parameters.defaults, wanted)
    units = {
        f"{m.name}.{suffix}": unit for m in model.muscles for suffix, unit in (("activation", "1"), ("force", "N"))
    }
    units = column_units(nominal) | units
    return _curves(nominal, [units[str(n)] for n in nominal], (inputs, sources, missing), demands_of, evaluate)


# ---- parts -----------------------------------------------------------------------------------------------------------


def _begun(
    model: Model, recording: Markers | Motion, inputs: UncertainInputs | None, steps: MotionSteps | None,
    relevant: Sequence[str] | None,
) -> tuple[RecordedTrial, UncertainInputs, tuple[str, ...], tuple[str, ...]]:  # fmt: skip
    """The trial, its inputs, the sources that it has of those that matter, and those that it lacks."""
    check_types(model=(model, Model), recording=(recording, (Markers, Motion)))
    inputs = inputs or UncertainInputs()
    trial = RecordedTrial(model, recording, steps or MotionSteps())
    matter = tuple(name for name in inputs.sources if relevant is None or name in relevant)
    sources = trial.usable(matter)
    if not model.muscles:
        sources = tuple(name for name in sources if name not in ("strengths", "attachments"))
    if not sources:
        raise ValueError(
            f"nothing is uncertain: the model lacks what {', '.join(matter) or 'the sources'} would change"
        )
    return trial, inputs, sources, tuple(name for name in matter if name not in sources)


def _solved(varied: VariedDemands, p: Array, wanted: LoadsWanted) -> pd.DataFrame:
    """Activations, tensions and loads of least effort with parameters p; NaN in frames without a solution."""
    effort = wanted.effort or Effort()
    demands = varied.of(p, stress=effort.of == "stress")
    model, motion = varied.base.model, varied.motion
    m, (found, force) = len(model.muscles), _recruited(demands, effort, motion.time, wanted.proportional)
    own = {f"{name}.activation": found.x[:, k] for k, name in enumerate(model.muscle_names)}
    own |= {f"{name}.force": force[:, k] for k, name in enumerate(model.muscle_names)}
    table = pd.DataFrame(own, index=pd.Index(motion.time, name="time"))
    if wanted.joints is None or wanted.joints:
        wrench = varied.joint_wrenches(force, found.x[:, m:], p)
        carried = JointLoads(
            model, motion, wrench, np.zeros(wrench.shape), np.zeros((len(motion.time), model.system.nu))
        )
        table = pd.concat([table, carried.to_dataframe(wanted.joints, on=wanted.on, frame=wanted.frame)], axis=1)
    table[~are_met(found.status)] = np.nan
    return table


def _recruited(demands: Demands, effort: Effort, time: Array, proportional: bool) -> tuple[Solutions, Array]:
    """The solutions of all frames, and the tensions (t, m) [N] of their activations."""
    m = demands.lengths.shape[1]
    if proportional:
        _, gain = secants(demands.tensions, np.zeros(m), len(time))
        found = solve_programs(demands.programs(np.zeros(gain.shape), gain, effort))
        return found, gain * found.x[:, :m]
    found = recruited(demands, effort, "kernel", time, certified=False).found
    return found, demands.tensions(found.x[:, :m])


def _curves(
    nominal: pd.DataFrame, units: Sequence[str],
    chosen: tuple[UncertainInputs, tuple[str, ...], tuple[str, ...]],
    motion_of: Callable[[Samples, dict[str, int]], M], evaluate: Callable[[Samples, dict[str, int], M], pd.DataFrame],
) -> UncertainCurves:  # fmt: skip
    """All samples, row by row: those of a row share what belongs to their motion."""
    inputs, sources, missing = chosen
    samples = Samples(inputs, sources)
    values = np.empty((samples.matrices, samples.rows, *nominal.shape))
    for row in range(samples.rows):
        motions: dict[tuple[int | None, ...], M] = {}
        for matrix in range(samples.matrices):
            keys = samples.keys(matrix, row)
            own = tuple(keys.get(name) for name in OF_ANGLES)
            if own not in motions:
                motions[own] = motion_of(samples, keys)
            values[matrix, row] = evaluate(samples, keys, motions[own]).to_numpy()
    solved = _solved_rows(values, nominal)
    if solved.sum() < 2:
        raise ValueError(f"{samples.rows - int(solved.sum())} of {samples.rows} rows have a sample without solution; "
                         "stronger reserves give every sample one")  # fmt: skip
    names = tuple(map(str, nominal.columns))
    return UncertainCurves(nominal.index.to_numpy(dtype=float), names, tuple(units), nominal.to_numpy(),
                           values[:, solved], sources, inputs.level, int((~solved).sum()), missing)  # fmt: skip


def _solved_rows(values: Array, nominal: pd.DataFrame) -> Array:
    """(rows,) whether all samples are known where the trial itself is."""
    known = np.isfinite(nominal.to_numpy())
    return np.asarray((np.isfinite(values) | ~known).all(axis=(0, 2, 3)))
