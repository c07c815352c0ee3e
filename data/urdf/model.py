"""URDF behind the verbs of every model format: a URDF file holds a system without muscles."""

from pathlib import Path

from myoquat.data.urdf.read import load_urdf
from myoquat.data.urdf.write import write_urdf
from myoquat.joints.errors import ModelError
from myoquat.muscle.model import Model

__all__ = ["read_model", "write_model"]


def read_model(path: str | Path, strict: bool = False) -> Model:
    """The system in a URDF file as a model without muscles, its root welded to the world; `load_urdf` has options."""
    system = load_urdf(path)
    return Model(system, name=system.name, file=Path(path))


def write_model(model: Model, path: str | Path, strict: bool = False, overwrite: bool = False) -> None:
    """Write the system of a model without muscles. ModelError for one with muscles, which URDF cannot hold."""
    if model.muscles:
        raise ModelError(
            "URDF holds no muscles; myoquat.data.write_urdf(model.system, path) writes the system alone", file=path
        )
    write_urdf(model.system, path, overwrite)
