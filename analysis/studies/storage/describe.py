"""A study as plain data: what results depend on, nothing else. Stored with them, and compared before more are added."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from myoquat.analysis.studies.definition.plain import plain
from myoquat.analysis.studies.definition.specification import Specification
from myoquat.data.toml import model_text, parse_model
from myoquat.joints import ModelError
from myoquat.muscle import Model

__all__ = ["MODEL_FILE", "PLAIN", "description", "differences", "key_of"]

MODEL_FILE = Path("model.toml")  # what errors call the text of a model; nothing of this name is opened
PLAIN = ("design", "samples", "seed", "duration", "step", "method", "final", "summary_step")


def description(study: Specification) -> dict[str, Any]:
    """The study as JSON can hold it, every number exactly."""
    q, u = study.start
    keep = study.kept
    trial = {} if study.trial is None else {"trial": study.trial.plain()}
    return {
        **trial,
        **{key: getattr(study, key) for key in PLAIN},
        "vary": [[name, plain(given)] for name, given in study.vary.items()],
        "activation": plain(study.activations),
        "start_q": q.tolist(),
        "start_u": u.tolist(),
        "limits": {name: plain(ends) for name, ends in study.limits.items()},
        "times": [number * study.step for number in keep.time_steps],
        "summaries": list(keep.summaries),
        "model": {"name": study.model.name, "content": study.model.content_key, "file": _text_of(study.model)},
    }


def differences(old: Any, new: Mapping[str, Any]) -> list[str]:
    """Differences of two descriptions: "samples: 1000 -> 2000". The old one may be damaged, of any type."""
    if not isinstance(old, Mapping):
        return [f"{_short(old)} is no description"]
    found = []
    for key in sorted(old.keys() | new.keys()):
        a, b = old.get(key), new.get(key)
        if a == b:
            continue
        if key == "model":
            found.append(f"model: {_model_text(a)} -> {_model_text(b)}")
        elif key == "user_code":
            found += [f"user code: {line}" for line in differences(a or {}, b or {})]
        elif key == "vary" and (was := _table_of(a)) and (now := _table_of(b)):
            found += [f"vary.{line}" for line in differences(was, now)] or ["vary: the order"]
        else:
            found.append(f"{key}: {_short(a)} -> {_short(b)}")
    return found


def _model_text(model: Any) -> str:
    """A model in a few words."""
    name, content = (model.get("name"), model.get("content")) if isinstance(model, Mapping) else (None, None)
    return f"{name} ({content[:8]})" if isinstance(name, str) and isinstance(content, str) else _short(model)


def _table_of(pairs: Any) -> dict[str, Any] | None:
    """The dictionary of [name, value] pairs; None for anything else."""
    if not isinstance(pairs, list):
        return None
    whole = all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs)
    return dict(pairs) if whole else None


def key_of(found: Mapping[str, Any]) -> str:
    """SHA-256 of a description."""
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) < 80 else f"{text[:76]} ..."


def _text_of(model: Model) -> str:
    """The model as the text of a file that gives it back, "" if there is none."""
    try:
        text = model_text(model)
        return text if parse_model(text, MODEL_FILE).content_key == model.content_key else ""
    except (ModelError, NotImplementedError):
        return ""
