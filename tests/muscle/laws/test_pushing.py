"""Force laws that give forces below zero say so, and can be held at zero."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat.data import load_model
from myoquat.dynamics import simulate
from myoquat.joints.errors import ModelError
from myoquat.muscle import muscle_forces, path_lengths
from myoquat.muscle.laws import (
    CubicExponentialMuscle,
    DeGrooteFregly2016,
    ExponentialMuscle,
    Millard2012,
    PathSpring,
    PushWarning,
    RigidTendonMuscle,
    Thelen2003,
)

NUMBERS = (1000.0, 0.1, 0.2)
RIGID = [law_type(*NUMBERS, tendon="rigid") for law_type in (Thelen2003, DeGrooteFregly2016, Millard2012)]
OTHERS = [
    Millard2012(*NUMBERS, tendon="rigid", damping=0.0),
    RigidTendonMuscle(*NUMBERS),
    CubicExponentialMuscle(0.3, 1000.0),
    ExponentialMuscle(0.3, 1000.0),
    PathSpring(1000.0, 0.25),
    PathSpring(1000.0, 0.25, dissipation=0.5),
    *(replace(law, pull_only=True) for law in RIGID),
]


def grid():
    axes = np.linspace(0.2, 0.4, 41), np.linspace(-3.0, 3.0, 61), np.linspace(0.0, 1.0, 5)
    return np.meshgrid(*axes, indexing="ij")


@pytest.mark.parametrize("law", [*RIGID, *OTHERS], ids=lambda law: law.kind)
def test_a_law_says_whether_it_pushes(law):
    assert (law.force(*grid()).min() < 0) == law.can_push


@pytest.mark.parametrize("law", RIGID, ids=lambda law: law.kind)
def test_pull_only_is_the_law_held_at_zero(law, tmp_path):
    held = replace(law, pull_only=True)
    np.testing.assert_array_equal(held.force(*grid()), np.maximum(law.force(*grid()), 0.0))
    base = load_model("two_link")
    model = replace(base, muscles=(replace(base.muscles[0], law=held), *base.muscles[1:]))
    model.save(tmp_path / "m.toml")
    assert load_model(tmp_path / "m.toml").muscles[0].law == held
    with pytest.raises(ModelError, match=r"cannot have this .*pull_only"):
        model.save(tmp_path / "m.osim")


def test_a_motion_in_which_a_muscle_pushes_warns():
    base = load_model("two_link")
    length = path_lengths(base, base.start)[0] / 2
    law = Thelen2003(1000.0, length, length, max_contraction_velocity=0.1, tendon="rigid")
    u = np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    model = replace(base, muscles=(replace(base.muscles[0], law=law),))
    q, speeds = model.start, [u, -u]
    forces = [muscle_forces(model, q, speed, [0.5])[0] for speed in speeds]
    pushing = speeds[int(np.argmin(forces))]
    assert min(forces) < -10.0
    way = simulate(model, q, pushing, duration=0.002)
    with pytest.warns(PushWarning, match=r"'m1' pushes with up to .* N: law 'thelen2003' .* pull_only=True"):
        assert (way.forces < 0).any()
    still = replace(model, muscles=(replace(model.muscles[0], law=replace(law, pull_only=True)),))
    assert (simulate(still, q, pushing, duration=0.002).forces == 0).any()
