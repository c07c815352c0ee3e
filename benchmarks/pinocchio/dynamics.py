"""Pinocchio's algorithms in a compiled C++ loop, for `benchmarks.chains`.

Built from Pinocchio's headers with the machine's compiler and its own instructions. Its templates are thus inlined and
optimized for this processor. Eigen's headers come with CasADi. Pinocchio writes quaternions scalar last; its
free-flyer's velocities are (linear, angular) in the child frame, as here.
"""

import ctypes
from pathlib import Path
from typing import Any

import casadi
import numpy as np
import pinocchio

from benchmarks.native import load, pointer
from myoquat.joints import ArticulatedSystem

DERIVATIVES = "ABA_DERIVATIVES"  # of udot by q, by u and by tau

_DEFINITIONS = (  # those of Pinocchio's own CMake target
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)
_AXES = {(1.0, 0.0, 0.0): 2, (0.0, 1.0, 0.0): 3, (0.0, 0.0, 1.0): 4}


def _library() -> ctypes.CDLL:
    prefix = next(p for p in Path(pinocchio.__file__).parents if p.name == "cmeel.prefix")
    eigen = Path(casadi.__file__).parent / "include" / "eigen3"
    flags = [f"-I{prefix / 'include'}", f"-I{eigen}", f"-L{prefix / 'lib'}", "-lpinocchio_default"]
    source = Path(__file__).with_name("loop.cpp")
    library = load(source, ["-std=c++17", *_DEFINITIONS, *flags, f"-Wl,-rpath,{prefix / 'lib'}"], "c++")
    library.make.restype = ctypes.c_void_p
    return library


class DynamicsLoop:
    """Pinocchio on one system whose bodies are numbered depth first; states in Pinocchio's conventions."""

    def __init__(self, system: ArticulatedSystem) -> None:
        self.system = system
        self._library = _library()
        names = list(system.body_names)
        joint_types = np.array([_joint_type(body.joint) for body in system.bodies], dtype=np.int32)
        above = [0 if body.parent == system.ground else names.index(body.parent) + 1 for body in system.bodies]
        parents = np.array(above, dtype=np.int32)
        numbers = np.array([(*b.position, b.mass, *b.center_of_mass, *b.inertia) for b in system.bodies])
        self._loop = ctypes.c_void_p(
            self._library.make(ctypes.c_int(len(names)), pointer(joint_types), pointer(parents), pointer(numbers))
        )

    def out(self, algorithm: str, count: int) -> np.ndarray:
        """Memory for the results of `count` states."""
        nu = self.system.nu
        shapes = {"CRBA": (count, nu, nu), DERIVATIVES: (count, 3, nu, nu)}
        return np.empty(shapes.get(algorithm, (count, nu)))

    def __call__(self, algorithm: str, q: np.ndarray, v: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
        function = getattr(self._library, algorithm.lower())
        function(self._loop, pointer(q), pointer(v), pointer(x), pointer(out), ctypes.c_long(len(q)))

    def state(self, algorithm: str, q: np.ndarray, u: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """(q, u, x) of `myoquat` in Pinocchio's conventions."""
        turned = q.copy()
        for s in self.system.quaternion_slices():
            turned[:, s] = np.roll(q[:, s], -1, axis=1)
        return turned, u, x

    def filled(self, algorithm: str, out: np.ndarray) -> np.ndarray:
        """The entries of `out` that mean something: Pinocchio fills the upper triangles of M and M^-1, by columns."""
        if algorithm == DERIVATIVES:
            return np.concatenate([out[:, :2], np.tril(out[:, 2:])], axis=1)
        return np.tril(out) if algorithm == "CRBA" else out

    def result(self, algorithm: str, q: np.ndarray, u: np.ndarray, value: np.ndarray) -> np.ndarray:
        """What a kernel computed, as Pinocchio stores it."""
        if algorithm == DERIVATIVES:
            return self.filled(algorithm, value.reshape((len(q), -1, 3, self.system.nu)).transpose(0, 2, 3, 1))
        return np.tril(value) if algorithm == "CRBA" else value


def _joint_type(joint: Any) -> int:
    if joint.facts.quaternion == 0:
        return 0
    if joint.span == "all":
        return 1
    return _AXES[joint.axis]
