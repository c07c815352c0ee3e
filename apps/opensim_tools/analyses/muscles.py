"""MuscleAnalysis: lengths, forces and powers of muscles, fibers and tendons, moment arms and moments.

Powers are those of OpenSim 4. With p1 the elastic and p2 the damping part of the passive force:

    active fiber   -(active + p2) dl_M/dt
    passive fiber  -p1 dl_M/dt
    tendon         -F dl_T/dt
    whole muscle   -F dl/dt
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from myoquat.analysis.recruitment.moment_arms import moment_arms
from myoquat.apps.opensim_tools.analyses.moving import Moving, note
from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.core.arguments import indices_of
from myoquat.core.typing import Array
from myoquat.data.setups.analyses import MuscleAnalysisSetup
from myoquat.joints.vectors import matvec
from myoquat.muscle import path_jacobian, path_lengths
from myoquat.muscle.laws.hill import HillLaw
from myoquat.muscle.states import state_names

__all__ = ["muscle_analysis"]


def muscle_analysis(moving: Moving, setup: MuscleAnalysisSetup, outputs: Outputs) -> None:
    """Note the files of what is known: forces only where the states of the muscles are."""
    model = moving.model
    names = [m.name for m in model.muscles if isinstance(m.law, HillLaw)]
    chosen = names if setup.muscles == ("all",) else [name for name in setup.muscles if name in names]
    for name in setup.muscles:
        if setup.muscles != ("all",) and name not in names:
            note(f"the muscle {name!r} is left out: the model has none of that name with a fiber")
    if not chosen:
        note("nothing is written: the model has no muscle with a fiber that is asked for")
        return
    rows = moving.rows(setup.interval)
    columns = indices_of("muscle", chosen, model.muscle_names)
    found, tensions = _of_paths(moving, rows), moving.tensions
    if tensions is None:
        note("forces, fibers and tendons of the muscles are left out: their states are not in the file")
    else:
        found |= _of_fibers(moving, rows, columns, found["Length"])
    arms = _arms(moving, setup, rows) if setup.moments else {}
    found |= {f"MomentArm_{name}": values for name, values in arms.items()}
    if tensions is not None:
        found |= {f"Moment_{name}": values * tensions[rows] for name, values in arms.items()}
    index = pd.Index(moving.motion.time[rows], name="time")
    for title, values in found.items():
        path = moving.file(setup.name, title)
        outputs.table(path, pd.DataFrame(values[:, columns], index, pd.Index(chosen)), title, False)


def _of_paths(moving: Moving, rows: Array) -> dict[str, Array]:
    return {"Length": path_lengths(moving.model, moving.motion.q[rows])}


def _arms(moving: Moving, setup: MuscleAnalysisSetup, rows: Array) -> Mapping[str, Array]:
    """(k, m) moment arms by coordinate of the file."""
    table = moment_arms(moving.model, moving.motion.q[rows], sequence="file")
    wanted = list(map(str, table.columns)) if setup.coordinates == ("all",) else list(setup.coordinates)
    indices_of("coordinate", wanted, [str(name) for name in table.columns])
    return {name: table[name].to_numpy().reshape(len(rows), -1) for name in wanted}


def _of_fibers(moving: Moving, rows: Array, columns: list[int], lengths: Array) -> dict[str, Array]:
    """(k, m) of muscles, fibers and tendons."""
    model, motion = moving.model, moving.motion
    assert motion.u is not None
    q, activation = motion.q[rows], moving.activation
    assert activation is not None
    speeds = matvec(path_jacobian(model, q), motion.u[rows])
    found: dict[str, Array] = {}
    for i in columns:
        law = model.muscles[i].law
        assert isinstance(law, HillLaw)
        if (activation[rows, i] == 0).any():
            law.check_rates(f"muscle {model.muscle_names[i]!r}")
        state_columns = [k for k, name in enumerate(state_names(model)) if name.startswith(f"{model.muscle_names[i]}.")]
        state = (
            None if moving.muscle_states is None or not state_columns else moving.muscle_states[rows][:, state_columns]
        )
        given = lengths[:, i], speeds[:, i], activation[rows, i]
        for name, values in _of_fiber(law, *given, state).items():
            found.setdefault(name, np.zeros(lengths.shape))[:, i] = values
    return found


def _of_fiber(law: HillLaw, length: Array, speed: Array, activation: Array, state: Array | None) -> dict[str, Array]:
    """(k,) of one muscle, by the names of OpenSim's files."""
    l, cosine, rate = law.fiber(length, speed, activation, state)
    norm, v = l / law.optimal_fiber_length, rate / (law.max_contraction_velocity * law.optimal_fiber_length)
    active, elastic, damping = (law.max_isometric_force * x for x in law.fiber_parts(norm, v, activation))
    passive = elastic + damping
    tension = law.force(length, speed, activation, state)
    turn = -rate / l * law.width / (l * cosine)
    return {
        "TendonLength": length - l * cosine,
        "FiberLength": l,
        "NormalizedFiberLength": norm,
        "PennationAngle": np.arccos(cosine),
        "FiberVelocity": rate,
        "NormFiberVelocity": v,
        "PennationAngularVelocity": turn,
        "TendonForce": tension,
        "FiberForce": active + passive,
        "ActiveFiberForce": active,
        "PassiveFiberForce": passive,
        "ActiveFiberForceAlongTendon": active * cosine,
        "PassiveFiberForceAlongTendon": passive * cosine,
        "FiberActivePower": -(active + damping) * rate,
        "FiberPassivePower": -elastic * rate,
        "TendonPower": -tension * (speed - rate / cosine),
        "MuscleActuatorPower": -tension * speed,
    }
