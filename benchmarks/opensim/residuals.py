"""Residual reduction beside OpenSim's RRATool: what is left at the root, and how far the motion moves.

`MYOQUAT_RRA` names setup files of RRATool, separated as the paths in PATH. The published ones are
`Pipelines/Gait2354_Simbody/subject01_Setup_RRA.xml` and `Pipelines/Rajagopal/RRA/walk/rra_setup_walk_1.xml` of
opensim-models, the second after its scaling and inverse kinematics. Both programs follow the same filtered motion. All
numbers are of the files that each writes: residuals of `Actuation_force`, distances of `pErr`. Times are of the
processor.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from myoquat.apps.opensim_tools.outputs import Outputs
from myoquat.apps.opensim_tools.tools import RESIDUALS, run_rra
from myoquat.data import load_table
from myoquat.data.setups import RraSetup, read_setup

OPENSIM = """
import os
import sys

import opensim

opensim.Logger.setLevelString("Error")
os.chdir(os.path.dirname(sys.argv[1]))
tool = opensim.RRATool(os.path.basename(sys.argv[1]))
tool.setResultsDir(sys.argv[2])
tool.setOutputModelFileName(os.path.join(sys.argv[2], "adjusted.osim"))
tool.run()
"""


def run() -> list[dict[str, Any]]:
    """Two rows for every setup."""
    files = [Path(name).resolve() for name in os.environ.get("MYOQUAT_RRA", "").split(os.pathsep) if name]
    if not files:
        return [{"work": "MYOQUAT_RRA names no setups of RRATool", "route": "none"}]
    return [row for file in files for row in (_row(file, "myoquat", _ours), _row(file, "OpenSim", _theirs))]


def _ours(file: Path, results: Path) -> None:
    setup, outputs = read_setup(file), Outputs(True)
    assert isinstance(setup, RraSetup)
    run_rra(replace(setup, results=results, output=None), outputs)
    outputs.write()


def _theirs(file: Path, results: Path) -> None:
    subprocess.run([sys.executable, "-c", OPENSIM, str(file), str(results)], check=True, capture_output=True)


def _row(file: Path, route: str, solve: Callable[[Path, Path], None]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        begun = _processor_seconds()
        solve(file, Path(place))
        seconds = _processor_seconds() - begun
        force, error = (load_table(next(Path(place).glob(f"*_{name}.sto"))) for name in ("Actuation_force", "pErr"))
    residual = force[list(RESIDUALS)].abs()
    slides = [name for name in error if str(name).endswith(("_tx", "_ty", "_tz"))]
    angles, slid = np.degrees(error.drop(columns=slides).to_numpy()), 1e3 * error[slides].to_numpy()
    found: dict[str, Any] = {"work": file.stem, "route": route}
    found |= {f"{name} RMS": rms for name, rms in np.sqrt((residual**2).mean()).items()}
    found |= {f"{name} largest": most for name, most in residual.max().items()}
    for unit, values in (("deg", angles), ("mm", slid)):
        found |= {f"{unit} RMS": float(np.sqrt(np.mean(values**2))), f"{unit} largest": float(np.abs(values).max())}
    return found | {"seconds": seconds}


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
