"""OpenSim's path lengths and moment arms, computed in a process of its own, for `benchmarks.paths`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from myoquat.joints import euler_from_quaternion
from myoquat.muscle import Model


class OpensimPaths:
    """A model of ball joints and straight paths in OpenSim, at the poses q (n, nq)."""

    def __init__(self, model: Model, q: np.ndarray) -> None:
        self.model = model
        self._folder = tempfile.TemporaryDirectory()
        poses, self._results = (str(Path(self._folder.name, name)) for name in ("poses.npy", "results.npz"))
        balls = [q[:, s] for s in model.system.quaternion_slices()]
        np.save(poses, np.concatenate([euler_from_quaternion(Q, "XYZ") for Q in balls], axis=-1))
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._say(json.dumps(self._description() | {"poses": poses, "results": self._results}))

    def _description(self) -> dict:
        system = self.model.system
        keys = ("name", "parent", "position", "mass", "center_of_mass", "inertia")
        bodies = [{key: getattr(body, key) for key in keys} for body in system.bodies]
        muscles = [
            {"name": muscle.name, "path": [(p.body, list(p.position)) for p in muscle.path.points]}
            for muscle in self.model.muscles
        ]
        return {"ground": system.ground, "bodies": bodies, "muscles": muscles}

    def _say(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    def __call__(self) -> float:
        """Compute all poses once; the seconds that it took there."""
        assert self._process.stdout is not None
        self._say("again")
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("OpenSim's process has ended")
        return float(answer)

    def results(self) -> tuple[np.ndarray, np.ndarray]:
        """(n, m) lengths and (n, m, nu) moment arms of the last call."""
        with np.load(self._results) as found:
            return found["lengths"], found["arms"]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()
