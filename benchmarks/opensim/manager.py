"""OpenSim's Manager on one model file, in a process of its own, for `benchmarks.opensim.osim_motion`.

    python manager.py MODEL START.npz FOUND.npz

START holds q, u, activation, excitation, the fiber lengths of the muscles that are `elastic`, `duration` and
`tolerances`. If there are any, it holds `controls` of the model's CoordinateActuators. FOUND gets names, and for every
tolerance the coordinates, activations and fiber lengths at the end. It also gets the processor's seconds of the fastest
of three runs, or of `repeats`.
"""

import sys
import time
from typing import Any

import numpy as np
import opensim


def main(file: str, start: str, found: str) -> None:
    """Read, integrate, write."""
    opensim.Logger.setLevelString("Off")
    with np.load(start) as archive:
        given = dict(archive)
    motion = Motion(file, given)
    repeats = int(given.get("repeats", 3))
    runs = [
        min((motion.run(accuracy) for _ in range(repeats)), key=lambda run: run[0]) for accuracy in given["tolerances"]
    ]
    seconds, states = zip(*runs, strict=True)
    np.savez(found, names=np.array(motion.names), seconds=np.array(seconds), states=np.array(states))


class Motion:
    """A model under constant excitations."""

    def __init__(self, file: str, given: dict[str, Any]) -> None:
        self.given, self.model = given, opensim.Model(file)
        muscles = self.model.getMuscles()
        self.muscles = [muscles.get(i) for i in range(muscles.getSize())]
        controller = opensim.PrescribedController()
        for muscle, e in zip(self.muscles, given["excitation"].tolist(), strict=True):
            controller.addActuator(muscle)
            controller.prescribeControlForActuator(muscle.getAbsolutePathString(), opensim.Constant(e))
        forces = self.model.getForceSet()
        found = (opensim.CoordinateActuator.safeDownCast(forces.get(i)) for i in range(forces.getSize()))
        actuators = [actuator for actuator in found if actuator]
        for actuator, control in zip(actuators, given.get("controls", np.zeros(0)).tolist(), strict=False):
            controller.addActuator(actuator)
            controller.prescribeControlForActuator(actuator.getAbsolutePathString(), opensim.Constant(control))
        self.model.addController(controller)
        self.model.initSystem()
        coordinates = self.model.getCoordinateSet()
        self.coordinates = [coordinates.get(i) for i in range(coordinates.getSize())]
        self.names = [c.getName() for c in self.coordinates]
        elastic = [m for m, yes in zip(self.muscles, given["elastic"], strict=True) if yes]
        self.fibers = [f"{muscle.getAbsolutePathString()}/fiber_length" for muscle in elastic]

    def run(self, accuracy: float) -> tuple[float, list[float]]:
        """Seconds, and the state at the end."""
        state = self._start()
        manager = opensim.Manager(self.model)
        manager.setIntegratorAccuracy(float(accuracy))
        manager.setWriteToStorage(False)
        manager.initialize(state)
        begin = time.process_time()
        state = manager.integrate(float(self.given["duration"]))
        seconds = time.process_time() - begin
        self.model.realizeVelocity(state)
        q = [c.getValue(state) for c in self.coordinates]
        activations = [muscle.getActivation(state) for muscle in self.muscles]
        return seconds, q + activations + [self.model.getStateVariableValue(state, name) for name in self.fibers]

    def _start(self) -> Any:
        state = self.model.initializeState()
        for c, value, speed in zip(self.coordinates, self.given["q"].tolist(), self.given["u"].tolist(), strict=True):
            c.setValue(state, value, False)
            c.setSpeedValue(state, speed)
        for muscle, a in zip(self.muscles, self.given["activation"].tolist(), strict=True):
            muscle.setActivation(state, a)
        for name, fiber in zip(self.fibers, self.given["fibers"].tolist(), strict=True):
            self.model.setStateVariableValue(state, name, fiber)
        return state


if __name__ == "__main__":
    main(*sys.argv[1:])
