"""Models by name or by file."""

from importlib import resources
from pathlib import Path

from joints.errors import ModelError
from muscle.model import Model
from muscle.toml.read import read_model

__all__ = ["load_model", "published_models"]


def published_models() -> tuple[str, ...]:
    """Names of the models that come with the package."""
    return tuple(sorted(p.name.removesuffix(".toml") for p in _folder().iterdir() if p.name.endswith(".toml")))


def load_model(name_or_path: str | Path) -> Model:
    """A model that comes with the package, by its name, or the model in a file, by its path.

    Raises ModelError with file, element and line if the file does not describe a model, and for a name that is
    neither a published model nor a file.
    """
    if str(name_or_path) in published_models():
        with resources.as_file(_folder() / f"{name_or_path}.toml") as path:
            return read_model(path)
    path = Path(name_or_path)
    if not path.exists():
        raise ModelError(
            f"no such model file, and no model of this name; known: {', '.join(published_models())}", file=path
        )
    return read_model(path)


def _folder() -> resources.abc.Traversable:
    return resources.files("data") / "models"
