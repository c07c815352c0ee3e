"""The table of model formats: from the suffix of a file to the module that reads and writes it, imported on use."""

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from myoquat import muscle
from myoquat.core import frozen, unchecked
from myoquat.joints import ModelError

from .files import check_output, write_text
from .reports import ImplausibleValues, UnsupportedElements, UnwrittenParts


def reported(
    source: Path | str, strict: bool, read: "Callable[[UnsupportedElements, ImplausibleValues], muscle.Model]"
) -> "muscle.Model":
    """The model that `read` makes of a source, with reports of what it notes; `left_out` begins with what is not
    read."""
    unsupported, implausible = UnsupportedElements(), ImplausibleValues()
    model = read(unsupported, implausible)
    implausible.report(source, strict)
    unsupported.report(source, strict)
    complete: muscle.Model = unchecked(model, {"left_out": (*unsupported.descriptions(), *model.left_out)})
    return complete


# ---- What other programs give in memory instead of in a file ------------------------------------------------------


@runtime_checkable
class CompiledModel(Protocol):
    """A `mujoco.MjModel`, or what has its arrays."""

    nq: int
    nv: int
    nbody: int
    opt: Any


@runtime_checkable
class ModelSpec(Protocol):
    """A `mujoco.MjSpec`: what compiles into a `CompiledModel`."""

    def compile(self) -> CompiledModel: ...


@frozen
class ModelFormat:
    """A format of model files: its name, the module with its verbs `read_model` and `model_text`, and the `options`
    that `load_model` takes for it.

    >>> from myoquat.data import MODEL_FORMATS
    >>> {suffix: entry.name for suffix, entry in MODEL_FORMATS.items()}
    {'.toml': 'TOML', '.osim': 'OpenSim', '.xml': 'MuJoCo', '.urdf': 'URDF'}
    """

    name: str
    module: str
    options: tuple[str, ...] = ()

    def read(
        self, source: "Path | CompiledModel | ModelSpec", strict: bool, options: Mapping[str, Any]
    ) -> "muscle.Model":
        """The model in a file. ValueError for an option that this format does not have.

        One UnsupportedWarning reports what is not read with counts and lines, and one ImplausibleWarning impossible
        values that are kept; `strict` makes either an error. Another ImplausibleWarning names surfaces that hold a
        point of their own body."""
        for name in options:
            if name not in self.options:
                known = f"it has {', '.join(self.options)}" if self.options else "it has none"
                raise ValueError(f"{name}= is no option of the format {self.name}; {known}")
        described, doubtful = source if isinstance(source, Path) else "the compiled model", ImplausibleValues()
        model = reported(described, strict, partial(importlib.import_module(self.module).read_model, source, **options))
        for own in model.muscles:
            for wrap in own.path.holding:
                surface = f"{wrap.name} of {own.name}"
                doubtful.count("surfaces that hold a point of their body, passed over there", surface)
        doubtful.report(described, False)
        return model

    def write(self, model: "muscle.Model", path: Path, strict: bool, overwrite: bool) -> None:
        """Write a model. One UnwrittenWarning reports what the file cannot hold; `strict` makes it an error. If
        writing fails an existing file stays as it is."""
        path, unwritten = check_output(path, overwrite), UnwrittenParts()
        text = importlib.import_module(self.module).model_text(model, unwritten)
        unwritten.report(path, strict)
        write_text(path, text)


MODEL_FORMATS = {
    ".toml": ModelFormat("TOML", "myoquat.data.toml"),
    ".osim": ModelFormat("OpenSim", "myoquat.data.osim", options=("anywhere", "sets")),
    ".xml": ModelFormat("MuJoCo", "myoquat.data.mjcf", options=("wrapping", "anywhere", "contact")),
    ".urdf": ModelFormat("URDF", "myoquat.data.urdf", options=("base", "joint_order", "velocity_frame", "gravity")),
}


def format_of(formats: Mapping[str, Any], path: str | Path, what: str) -> Any:
    """The format of a file among those by suffix, in any case. ModelError for a suffix that is not among them."""
    suffix = Path(path).suffix
    if suffix.lower() not in formats:
        known = ", ".join(f"{ending} ({entry.name})" for ending, entry in formats.items())
        raise ModelError(f"the suffix {suffix!r} is not that of a {what} file; known: {known}", file=path)
    return formats[suffix.lower()]


def model_format(path: Path) -> ModelFormat:
    """The format of a model file."""
    return format_of(MODEL_FORMATS, path, "model")
