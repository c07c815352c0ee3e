"""The two-link model against equations of motion derived by other software (tests/data/two_link_equations.json)."""

import json
from pathlib import Path

import numpy as np
import pytest

from myoquat.dynamics import bias_force, forward_dynamics, mass_matrix
from myoquat.joints import ArticulatedSystem, Body, EulerJoint, SphericalJoint

STATES = json.loads((Path(__file__).parents[1] / "data" / "two_link_equations.json").read_text())
MASS, LENGTH, RADIUS = 5.0, 1.0, 0.1
ACROSS = MASS * (3 * RADIUS**3 + LENGTH**2) / 12  # r cubed, as in the muscle Jacobian study's code
INERTIA = (ACROSS, ACROSS, MASS * RADIUS**2 / 2, 0.0, 0.0, 0.0)


def _two_link(upper, lower):
    facts = {"mass": MASS, "center_of_mass": (0.0, 0.0, -0.5), "inertia": INERTIA, "damping": 1e-8}
    a = Body("A", "ground", upper, **facts)
    b = Body("B", "A", lower, position=(0.0, 0.0, -LENGTH), **facts)
    return ArticulatedSystem((a, b))


QUATERNION = _two_link(SphericalJoint(), SphericalJoint()), "q", "quat"
EULER = _two_link(EulerJoint("YZY"), EulerJoint("YZX")), "phi", "eul"


@pytest.mark.parametrize(("system", "coordinates", "rows"), [QUATERNION, EULER], ids=["quaternion", "euler"])
@pytest.mark.parametrize("backend", ["kernel", "numpy"])
def test_reproduces_kane(system, coordinates, rows, backend):
    q, u = np.array(STATES[coordinates]), np.array(STATES["u"])
    M, f = np.array(STATES[f"mm_{rows}"]), np.array(STATES[f"fo_{rows}"])
    n = system.nq
    _close(mass_matrix(system, q, backend=backend), M[:, n:, n:])
    _close(-bias_force(system, q, u, backend=backend), f[:, n:])
    _close(system.rates(q, u), f[:, :n])
    _close(M[:, :n, :n], np.broadcast_to(np.eye(n), (8, n, n)))
    udot = np.linalg.solve(M, f[..., None])[:, n:, 0]
    for method in ("aba", "crba"):
        _close(forward_dynamics(system, q, u, np.zeros(6), method=method, backend=backend), udot)


def _close(found, expected):
    assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()
