"""Files in the engines that own their formats: MuJoCo for MJCF, OpenSim for .osim. The engines read them themselves."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from myoquat.analysis.comparison.mujoco_side import MujocoSide
from myoquat.analysis.comparison.opensim_side import OpensimSide
from myoquat.core.lazy_imports import MissingExtraError
from myoquat.joints.errors import ModelError

__all__ = ["engine_of"]


def engine_of(path: Path) -> MujocoSide | OpensimSide:
    """The engine that owns the format of a file.

    ValueError for a format that none owns and a file that the engine rejects, MissingExtraError where the engine is not
    installed.
    """
    engines: dict[str, tuple[str, Callable[[Any, Path], MujocoSide | OpensimSide]]] = {
        ".xml": ("mujoco", _mujoco),
        ".mjcf": ("mujoco", _mujoco),
        ".osim": ("opensim", _opensim),
    }
    if path.suffix.lower() not in engines:
        raise ValueError(f"{path}: no engine owns this format; .xml is read by MuJoCo and .osim by OpenSim")
    if not path.is_file():  # engines say it less clearly
        raise ModelError(f"{path}: no such model file")
    library, side = engines[path.suffix.lower()]
    try:
        module = importlib.import_module(library)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{library} is not installed; python -m pip install {library}", name=library) from error
    except ImportError as error:
        reason = f"{library} cannot be imported in this process, which other libraries may prevent, such as casadi"
        raise ValueError(f"{reason}; `myoquat compare {path} --engine` has a process of its own: {error}") from error
    try:
        return side(module, path)
    except RuntimeError as error:
        raise ValueError(f"{path}: {library} rejects it: {error}") from error


def _mujoco(module: Any, path: Path) -> MujocoSide:
    return MujocoSide(module, module.MjModel.from_xml_path(str(path)), f"{path.name} in MuJoCo {module.__version__}")


def _opensim(module: Any, path: Path) -> OpensimSide:
    module.Logger.setLevelString("Off")
    return OpensimSide(module, module.Model(str(path)), f"{path.name} in OpenSim {module.GetVersion()}")
