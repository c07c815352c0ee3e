"""Activations of muscles and actuators, and states of muscles, in a recorded motion, as OpenSim's states files name
them.
"""

from typing import Any

import numpy as np

from myoquat.core.arguments import check_types, real_array
from myoquat.core.lazy_imports import pandas as pd
from myoquat.core.typing import Array, ArrayLike
from myoquat.muscle.actuators import delayed
from myoquat.muscle.model import Model
from myoquat.muscle.states import state_names

__all__ = ["actuation_from_motion", "actuator_columns", "muscle_columns", "muscle_states_from_motion"]

SET = "/forceset/"


def muscle_columns(
    model: Model, activation: ArrayLike | None = None, muscle_states: ArrayLike | None = None
) -> dict[str, Array]:
    """Columns '/forceset/<muscle>/activation' of activation (t, m) and '/forceset/<muscle>/fiber_length', and so on, of
    muscle_states (t, ns), as far as they are given."""
    columns: dict[str, np.ndarray] = {}
    if activation is not None:
        values = model.check_activation(activation)
        columns |= {f"{SET}{name}/activation": values[:, i] for i, name in enumerate(model.muscle_names)}
    if muscle_states is not None:
        values = real_array("muscle_states", muscle_states)
        columns |= {label: values[:, i] for i, label in enumerate(_labels(model))}
    return columns


def muscle_states_from_motion(model: Model, motion: "pd.DataFrame") -> tuple[Array | None, Array | None]:
    """(activation (t, m), muscle_states (t, ns)) of a motion: rows with which `simulate` can start.

    Columns are '/forceset/<muscle>/activation' and '/forceset/<muscle>/<state>', '<muscle>/...' or '<muscle>....'.
    Either is None if the motion has none of its columns; other columns are ignored. Raises ValueError if the motion has
    some but not all of them, and for activations outside [0, 1].

    >>> import myoquat as mq
    >>> from myoquat.data import motion_from_states, muscle_states_from_motion
    >>> model = mq.load_model("two_link", rotations="sequence")
    >>> table = motion_from_states(model, [0.0, 0.1], [model.start] * 2, activation=[[0.1] * 6, [0.2] * 6])
    >>> activation, states = muscle_states_from_motion(model, table)
    >>> activation[:, 0], states
    (array([0.1, 0.2]), None)
    """
    check_types(model=(model, Model), motion=(motion, "pandas.DataFrame"))
    found = {_bare(str(label)): label for label in motion.columns}
    activation = _gathered(motion, found, tuple(f"{name}.activation" for name in model.muscle_names))
    states = _gathered(motion, found, state_names(model))
    return None if activation is None else model.check_activation(activation), states


def actuator_columns(model: Model, actuation: Array) -> dict[str, Array]:
    """Columns '/forceset/<actuator>/activation' of the delayed actuators, actuation (t, k) what acts of all."""
    return {f"{SET}{actuator.name}/activation": actuation[:, k] for k, actuator in delayed(model).items()}


def actuation_from_motion(model: Model, motion: "pd.DataFrame") -> dict[str, Array]:
    """(t,) activations of the delayed actuators that a motion holds, by their names."""
    found = {_bare(str(label)): label for label in motion.columns}
    labels = {actuator.name: found.get(f"{actuator.name}.activation") for actuator in delayed(model).values()}
    return {name: motion[label].to_numpy(dtype=float) for name, label in labels.items() if label is not None}


def _labels(model: Model) -> list[str]:
    """The columns of the states."""
    return [SET + "/".join(name.rpartition(".")[::2]) for name in state_names(model)]


def _bare(label: str) -> str:
    """'/forceset/soleus/fiber_length' -> 'soleus.fiber_length'."""
    return label.removeprefix(SET).replace("/", ".")


def _gathered(motion: "pd.DataFrame", found: dict[str, Any], names: tuple[str, ...]) -> np.ndarray | None:
    missing = [name for name in names if name not in found]
    if len(missing) == len(names):
        return None
    if missing:
        raise ValueError(f"the motion holds some muscles' states, but lacks {', '.join(missing)}")
    return np.asarray(motion[[found[name] for name in names]].to_numpy(dtype=float))
