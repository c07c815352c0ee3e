"""Models by name or by file."""

from importlib import resources
from pathlib import Path

from joints.errors import ModelError
from muscle.model import Model
from muscle.osim.read import read_osim
from muscle.toml.read import read_model

__all__ = ["load_model", "published_models"]


def published_models() -> tuple[str, ...]:
    """Names of the models that come with the package."""
    return tuple(sorted(p.name.removesuffix(".toml") for p in _folder().iterdir() if p.name.endswith(".toml")))


def load_model(name_or_path: str | Path, rotations: str | dict[str, str] = "file", strict: bool = False) -> Model:
    """A model that comes with the package, by its name, or the model in a file, by its path: TOML or OpenSim's .osim.

    rotations: "file" leaves the joints as the file has them; anything else is what `Model.with_rotations` takes, such
    as "quaternion". strict: refuse an .osim file with parts that are not supported, instead of warning.

    Raises ModelError with file, element and line if the file does not describe a model, and for a name that is
    neither a published model nor a file.
    """
    if str(name_or_path) in published_models():
        with resources.as_file(_folder() / f"{name_or_path}.toml") as path:
            return _described(read_model(path), rotations)
    path = Path(name_or_path)
    if not path.exists():
        raise ModelError(
            f"no such model file, and no model of this name; known: {', '.join(published_models())}", file=path
        )
    return _described(read_osim(path, strict) if path.suffix.lower() == ".osim" else read_model(path), rotations)


def _described(model: Model, rotations: str | dict[str, str]) -> Model:
    return model if rotations == "file" else model.with_rotations(rotations)


def _folder() -> resources.abc.Traversable:
    return resources.files("data") / "models"
