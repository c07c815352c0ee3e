"""A study as plain data: what results depend on, nothing else. Stored with them, and compared before more are added."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from myoquat.analysis.studies.machine import DIGEST
from myoquat.analysis.studies.plain import plain
from myoquat.analysis.studies.specification import Specification
from myoquat.data.toml import model_text, parse_model
from myoquat.muscle import Model, ModelError

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


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs between two descriptions: "samples: 1000 -> 2000"."""
    found = []
    for key in sorted(old.keys() | new.keys()):
        a, b = old.get(key), new.get(key)
        if a == b:
            continue
        if key == "model" and a and b:
            found.append(f"model: {a['name']} ({a['content'][:8]}) -> {b['name']} ({b['content'][:8]})")
        elif key == "user_code":
            lines = differences(a or {}, b or {})
            found += [f"user code: {line}" for line in lines if not line.startswith(f"{DIGEST}: ") or len(lines) == 1]
        elif key == "vary" and a and b:
            found += [f"vary.{line}" for line in differences(dict(a), dict(b))] or ["vary: the order"]
        else:
            found.append(f"{key}: {_short(a)} -> {_short(b)}")
    return found


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
