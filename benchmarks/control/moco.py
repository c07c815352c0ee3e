"""OpenSim Moco itself on the problems here, each in a process of its own, since its CasADi and ours share none.

`MYOQUAT_MOCO_RUNS` names which, such as track,inverse; none by default. The folders are those of our rows. Times are of
the wall, with all threads that Moco takes.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDERS = {"track": "MYOQUAT_MOCO", "inverse": "MYOQUAT_MOCO_INVERSE"}
TIME_LIMIT = 3600  # s


def rows() -> list[dict[str, Any]]:
    """A row per problem that is asked for."""
    return [_row(name) for name in filter(None, os.environ.get("MYOQUAT_MOCO_RUNS", "").split(","))]


def _row(name: str) -> dict[str, Any]:
    if name not in FOLDERS:
        raise ValueError(f"MYOQUAT_MOCO_RUNS: {name!r} is none of {', '.join(FOLDERS)}")
    folder = os.environ.get(FOLDERS[name], "")
    if not (folder and Path(folder).is_dir()):
        return {"work": f"{FOLDERS[name]} names no folder", "route": "Moco"}
    command = [sys.executable, "-m", "benchmarks.control.moco_runs", name, str(Path(folder).resolve())]
    with tempfile.TemporaryDirectory() as place:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [os.getcwd(), *sys.path]))}
        done = subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
        )
    if done.returncode:
        return {"work": f"moco_{name}", "route": "Moco", "error": done.stderr[-300:]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {"work": f"moco_{name}", "route": "Moco", **found}
