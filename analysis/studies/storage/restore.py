"""From plain data back to a study. The model comes from its text: nothing in the data becomes the path of a file."""

from collections.abc import Mapping
from typing import Any

from myoquat.analysis.studies.definition.trial import MuscleTrial
from myoquat.analysis.studies.storage.describe import MODEL_FILE, PLAIN
from myoquat.data.toml import parse_model
from myoquat.muscle import Model

__all__ = ["arguments_of"]


def arguments_of(found: Mapping[str, Any], model: Model | None = None) -> dict[str, Any]:
    """The arguments of the `Specification` that `description` described; `model` where it could not hold its own.

    Raises ValueError if the model is missing or is another one, or the description is damaged.
    """
    try:
        return _arguments(found, model)
    except (LookupError, TypeError, AttributeError):
        raise ValueError("the description of the study in the results is damaged") from None


def _arguments(found: Mapping[str, Any], model: Model | None) -> dict[str, Any]:
    model = _model_of(found["model"]) if model is None else model
    if model.content_key != found["model"]["content"]:
        raise ValueError(
            f"the model {found['model']['name']!r} is not the one that the results were computed with: its contents, "
            "or what this version makes of them, have changed"
        )
    if not all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in found["vary"]):
        raise TypeError("a parameter without a name")
    activation = found["activation"]
    over_time = bool(activation) and isinstance(activation[0], list)
    return {
        **({"trial": MuscleTrial.of_plain(found["trial"], model)} if "trial" in found else {}),
        "model": model,
        "vary": dict(found["vary"]),
        "activation": tuple(activation) if over_time else activation or None,
        **{key: found[key] for key in ("start_q", "start_u", "limits", "times", "summaries", *PLAIN)},
        "method": found["method"],
    }


def _model_of(found: Mapping[str, Any]) -> Model:
    if not found["file"]:
        raise ValueError(f"the results do not hold the model {found['name']!r}: give it as `model`")
    return parse_model(found["file"], MODEL_FILE)
