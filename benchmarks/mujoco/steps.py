"""MuJoCo's Runge-Kutta steps of a muscle model in a compiled loop, for `benchmarks.mujoco.simulation`."""

import ctypes

import mujoco
import numpy as np

from benchmarks.mujoco.model import engine, loop
from benchmarks.mujoco.paths import tendons
from myoquat.muscle import Model


class StepLoop:
    """MuJoCo's engine on one model; `muscles` adds its own muscle to every tendon, which has other curves than ours."""

    def __init__(self, model: Model, step: float, muscles: bool = True) -> None:
        sites, spatial = tendons(model)
        strength = "".join(f'<muscle tendon="t{i}" force="1"/>' for i in range(len(model.muscles)))
        self.model = engine(model.system, sites, spatial + (f"<actuator>{strength}</actuator>" if muscles else ""))
        self.model.opt.timestep = step
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        self.data = mujoco.MjData(self.model)
        self._function = loop().steps

    def start(self, q: np.ndarray, u: np.ndarray, activation: np.ndarray | None = None) -> None:
        """Put the state into the engine."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = q, u
        if activation is not None:
            self.data.act[:], self.data.ctrl[:] = activation, activation

    def __call__(self, steps: int) -> np.ndarray:
        """(nq,) coordinates after that many steps."""
        address = ctypes.c_void_p(self.model._address), ctypes.c_void_p(self.data._address)
        self._function(*address, ctypes.c_long(steps))
        return self.data.qpos.copy()
