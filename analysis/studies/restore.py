"""From plain data back to a study."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from myoquat.analysis.studies.describe import PLAIN
from myoquat.analysis.studies.study import Study
from myoquat.data import load_model
from myoquat.muscle import Model

__all__ = ["restore"]


def restore(found: Mapping[str, Any], model: Model | None = None) -> Study:
    """The study that `description` described; `model` where the description could not hold its own.

    Raises ValueError if the model is missing or is another one.
    """
    model = _model_of(found["model"]) if model is None else model
    if model.content_key != found["model"]["content"]:
        raise ValueError(
            f"the model {found['model']['name']!r} is not the one that the results were computed with: its contents, "
            "or what this version makes of them, have changed"
        )
    activation = found["activation"]
    return Study(
        model,
        dict(found["vary"]),
        activation=activation if not activation or not isinstance(activation[0], list) else tuple(activation),
        start_q=found["start_q"],
        start_u=found["start_u"],
        limits=found["limits"],
        times=found["times"],
        summaries=found["summaries"],
        **{key: found[key] for key in PLAIN},
    )


def _model_of(found: Mapping[str, Any]) -> Model:
    if not found["file"]:
        raise ValueError(f"the results do not hold the model {found['name']!r}: give it as `model`")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{found['name'] or 'model'}.toml"
        path.write_text(found["file"], encoding="utf-8")
        return load_model(path)
