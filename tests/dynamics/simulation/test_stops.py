"""What simulations say that cannot start or go on, beside the numbers."""

import warnings

from myoquat.dynamics import simulate
from myoquat.dynamics.simulation import SimulationWarning
from myoquat.joints import ArticulatedSystem, Body, RevoluteJoint

SOLID = {"mass": 1.0, "center_of_mass": (0.02, 0.01, -0.2), "inertia": (0.1, 0.12, 0.05, 0.01, 0.0, 0.0)}


def test_a_stop_where_the_mass_matrix_is_singular_names_what_moves_together():
    """Three hinges of a ball joint, YZY, where the outer axes coincide."""
    y, z = RevoluteJoint((0.0, 1.0, 0.0)), RevoluteJoint((0.0, 0.0, 1.0))
    shoulder = (Body("a", "ground", y), Body("b", "a", z), Body("arm", "b", y, **SOLID))
    system = ArticulatedSystem(shoulder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulate(system, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 0.1, step=1e-3)
    (message,) = [str(warning.message) for warning in caught]
    assert "mass matrix is singular at this pose: 'a.speed', 'arm.speed' can move together" in message
    assert caught[0].category is SimulationWarning
    assert simulate(system, [0.1, 0.2, 0.3], [0.0] * 3, 0.1, step=1e-3).complete
