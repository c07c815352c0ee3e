"""OpenSim in a process of its own: its CasADi and ours do not share one. See `benchmarks.opensim.paths`.

Reads one line of JSON, the model and a file of poses. Then, for every line, it computes all poses and answers with the
seconds it took. The results of the last repetition are in the file named in the first line.
"""

import json
import sys
import time
from typing import Any

import numpy as np
import opensim


def main() -> None:
    """Answer until the input ends."""
    description = json.loads(sys.stdin.readline())
    worker = Worker(description)
    phi = np.load(description["poses"])
    for _ in sys.stdin:
        start = time.perf_counter()
        lengths, arms = worker.evaluate(phi)
        seconds = time.perf_counter() - start
        np.savez(description["results"], lengths=lengths, arms=arms)
        print(seconds, flush=True)


class Worker:
    """A model of ball joints and straight paths, made through OpenSim's interface."""

    def __init__(self, description: dict[str, Any]) -> None:
        opensim.Logger.setLevelString("Off")
        self.model = opensim.Model()
        frames = {description["ground"]: self.model.getGround()}
        for body in description["bodies"]:
            frames[body["name"]] = self._body(body)
        for body in description["bodies"]:
            self._joint(body, frames)
        self.actuators = [self._muscle(muscle, frames) for muscle in description["muscles"]]
        self.state = self.model.initSystem()
        coordinates = self.model.getCoordinateSet()
        self.coordinates = [coordinates.get(i) for i in range(coordinates.getSize())]
        self.paths = [actuator.getGeometryPath() for actuator in self.actuators]

    def _body(self, body: dict[str, Any]) -> Any:
        center, inertia = opensim.Vec3(*body["center_of_mass"]), opensim.Inertia(*body["inertia"])
        made = opensim.Body(body["name"], body["mass"], center, inertia)
        self.model.addBody(made)
        return made

    def _joint(self, body: dict[str, Any], frames: dict[str, Any]) -> None:
        parent, child, zero = frames[body["parent"]], frames[body["name"]], opensim.Vec3(0)
        place = opensim.Vec3(*body["position"])
        self.model.addJoint(opensim.BallJoint(f"{body['name']}_joint", parent, place, zero, child, zero, zero))

    def _muscle(self, muscle: dict[str, Any], frames: dict[str, Any]) -> Any:
        actuator = opensim.PathActuator()
        actuator.setName(muscle["name"])
        for k, (body, position) in enumerate(muscle["path"]):
            actuator.addNewPathPoint(f"p{k}", frames[body], opensim.Vec3(*position))
        self.model.addForce(actuator)
        return actuator

    def evaluate(self, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, m) lengths and (n, m, nu) moment arms at the coordinates phi (n, nu), turns about x, y, z."""
        lengths = np.empty((len(phi), len(self.paths)))
        arms = np.empty((*lengths.shape, len(self.coordinates)))
        for i, pose in enumerate(phi.tolist()):
            for coordinate, value in zip(self.coordinates, pose, strict=True):
                coordinate.setValue(self.state, value, False)
            self.model.realizePosition(self.state)
            for k, path in enumerate(self.paths):
                lengths[i, k] = path.getLength(self.state)
                for j, coordinate in enumerate(self.coordinates):
                    arms[i, k, j] = path.computeMomentArm(self.state, coordinate)
        return lengths, arms


if __name__ == "__main__":
    main()
