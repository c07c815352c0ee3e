"""What a room promises is what it has: `__all__` against reality, and the names that the design fixes."""

import importlib

import pytest

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
