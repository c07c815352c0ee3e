"""What a room promises is what it has: `__all__` against reality, the names that the design fixes, and signatures."""

import difflib
import importlib
import subprocess
import sys
from pathlib import Path

import public_api
import pytest

import myoquat

FIXED = {
    "joints": (
        "rotation_matrix quaternion_from_matrix quaternion_multiply quaternion_conjugate normalize quaternion_exp "
        "quaternion_log random_quaternions quaternion_from_euler euler_from_quaternion euler_rate_matrix G G_parent T "
        "E E_inverse quaternion_to_spatial spatial_to_quaternion constrained_to_spatial spatial_to_constrained "
        "euler_to_spatial spatial_to_euler ArticulatedSystem"
    ),
    "data": "load_model load_urdf",
    "muscle": "Model path_lengths path_jacobian muscle_forces muscle_torques",
    "analysis": "mapping_analysis Study",
    "kernels": "compile Kernel",
    "dynamics": (
        "mass_matrix bias_force inverse_dynamics forward_dynamics kinetic_energy potential_energy simulate Trajectory"
    ),
}


@pytest.mark.parametrize("room", FIXED)
def test_rooms_have_what_they_promise(room):
    module = importlib.import_module(f"myoquat.{room}")
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    assert set(FIXED[room].split()) <= set(module.__all__)


FACE = "load_model path_lengths path_jacobian simulate mapping_analysis Study"


def test_the_face_has_what_it_promises():
    assert set(FACE.split()) <= set(myoquat.__all__)
    for name in myoquat.__all__:
        assert getattr(myoquat, name) is not None


def test_signatures_are_those_that_were_agreed():
    """A change of a public name or signature shows in `tests/public_api.txt`, where a reader of the change sees it."""
    written, found = public_api.FILE.read_text(encoding="utf-8"), public_api.text()
    difference = "\n".join(difflib.unified_diff(written.splitlines(), found.splitlines(), "written", "found", n=0))
    assert not difference, f"{difference}\nIf this is meant: python -m tests.public_api --write (and CHANGELOG.md)"


def test_the_signatures_are_written_by_the_command_that_the_message_names():
    call = [sys.executable, "-m", "tests.public_api"]
    root = Path(__file__).parents[1]
    done = subprocess.run(call, cwd=root, capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout == public_api.text()


def test_no_public_function_returns_anything_at_all():
    """`Any` is for arguments that may be anything; what comes back is known."""
    lines = public_api.FILE.read_text(encoding="utf-8").splitlines()
    functions = [line for line in lines if line.startswith("def ")]
    assert functions
    assert not [line for line in functions if " -> " not in line or line.endswith(" -> Any")]
