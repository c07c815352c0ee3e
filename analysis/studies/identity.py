"""Inputs of the bits of results beside the study: the processor's instructions, and the code with its version.

The code is identified by its fingerprint. It has a digest of all sources that can affect the numbers
(`SOURCE_FOLDERS`), and the versions of the libraries that compute with them. The digest is of bytes, so a changed
comment changes it too. Reading files is no part of it: the model that was read is described with the study, and
compared.
"""

import functools
import hashlib
import importlib.util
import json
import platform
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from myoquat.core import FOREIGN, content_digest, digest, version_of
from myoquat.data.toml import model_text, parse_model
from myoquat.joints import ModelError
from myoquat.kernels.runtime.settings import target
from myoquat.muscle import Model

from .specification import Specification
from .study_files import MuscleTrial, plain

# folders whose sources can reach the numbers; trials need those of motions and muscles, problems control and fits
SOURCE_FOLDERS = (
    "core",
    "kernels",
    "joints",
    "muscle",
    "dynamics",
    "analysis/control",
    "analysis/fits",
    "analysis/motion",
    "analysis/recruitment",
    "analysis/studies",
)


DRAWN = ("figures.py", "display.py")  # modules that draw numbers and change none


def machine() -> dict[str, str]:
    """The processor that kernels are compiled for, as far as it changes results."""
    built_for = target()
    return {"cpu": built_for.cpu, "features": _short_digest(built_for.features), "fma": str(built_for.fma)}


def _short_digest(text: str) -> str:
    """Of the text alone: stores that other versions have begun hold it, and are resumed only where it is equal."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def fingerprint() -> dict[str, str]:
    """The code that computes: a digest of its "sources", the versions of myoquat and of the libraries it uses, the C
    library, and a digest of the instructions that NumPy chose. With other ones the last digits of elementary functions
    on arrays differ."""
    libraries = {name: version_of(name) for name in ("myoquat", "numpy", "scipy", "casadi", "llvmlite")}
    compiler = ".".join(map(str, llvm.llvm_version_info))
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    numpy_simd = _short_digest(" ".join(found))
    libc = " ".join(platform.libc_ver()).strip() or platform.platform(terse=True)
    return {"sources": _digest(), **libraries, "llvm": compiler, "libc": libc, "numpy_simd": numpy_simd}


def surroundings() -> dict[str, dict[str, str]]:
    """Processor and code: processes in which these are equal compute the same bits."""
    return {"machine": machine(), "code": fingerprint()}


def _digest() -> str:
    """SHA-256 of the sources in `SOURCE_FOLDERS` but those in `DRAWN`, line endings aside, by their paths in the
    package. The package knows where the folders are, as a clone without symbolic links has them elsewhere."""
    parts = list[bytes | str]()
    for name in SOURCE_FOLDERS:
        folder = _folder(name)
        sources = sorted(path for path in folder.rglob("*.py") if path.name not in DRAWN)
        if not sources:
            raise RuntimeError(f"no sources are in {folder}, so that results cannot name the code that computed them")
        for path in sources:
            parts += f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes().replace(b"\r\n", b"\n")
    return digest(*parts)[:32]


def _folder(name: str) -> Path:
    """The folder of a package of this one."""
    found = importlib.util.find_spec(f"myoquat.{name.replace('/', '.')}")
    folders = found.submodule_search_locations if found else None
    if not folders:
        raise RuntimeError(
            f"the package myoquat.{name} is missing, so that results cannot name the code that computed them"
        )
    return Path(folders[0])


MODEL_FILE = Path("model.toml")  # what errors call the text of a model; nothing of this name is opened
PLAIN = ("design", "samples", "seed", "duration", "step", "method", "final", "summary_step")


def description(study: Specification) -> dict[str, Any]:
    """The study as JSON can hold it, every number exactly. Its model is the text of a file that gives it back, "" if
    there is none."""
    model, (q, u) = study.model, study.start
    try:
        text = model_text(model)
        text = text if parse_model(text, MODEL_FILE).content_key == model.content_key else ""
    except (ModelError, NotImplementedError):
        text = ""
    trial = {} if study.trial is None else {"trial": study.trial.plain()}
    return {
        **trial,
        **{key: getattr(study, key) for key in PLAIN},
        "vary": [[name, plain(given)] for name, given in study.vary.items()],
        "activation": plain(study.activations),
        "start_q": q.tolist(),
        "start_u": u.tolist(),
        "limits": {name: plain(ends) for name, ends in study.limits.items()},
        "times": [number * study.step for number in study.time_steps],
        "summaries": list(study.summaries),
        "model": {"name": model.name, "content": model.content_key, "file": text, "numbers": numbers_of(model)},
    }


NOT_OF_NUMBERS = ("name", "description", "file", "left_out")  # fields of a model that change no result


def numbers_of(model: Model) -> str:
    """A digest of all of a model that can change a result: what it computes with, its start, locks, markers and groups,
    but not its name, its description and its looks."""
    others = {f.name: getattr(model, f.name) for f in fields(model) if f.name not in (*NOT_OF_NUMBERS, "system")}
    return content_digest(model.system.content_key, others)


def differences(old: Any, new: Mapping[str, Any]) -> list[str]:
    """Differences of two descriptions: "samples: 1000 -> 2000". The old one may be damaged, of any type."""
    if not isinstance(old, Mapping):
        return [f"{_short(old)} is no description"]
    found = []
    for key in sorted(old.keys() | new.keys()):
        a, b = old.get(key), new.get(key)
        if a == b or (key == "model" and _entry(a, "numbers") == _entry(b, "numbers") != ""):
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
    name, content = _entry(model, "name"), _entry(model, "numbers") or _entry(model, "content")
    return f"{name} ({content.removeprefix(FOREIGN)[:8]})" if name and content else _short(model)


def _entry(model: Any, key: str) -> str:
    """A text in the description of a model, "" for a damaged one."""
    found = model.get(key) if isinstance(model, Mapping) else None
    return found if isinstance(found, str) else ""


def _table_of(pairs: Any) -> dict[str, Any] | None:
    """The dictionary of [name, value] pairs; None for anything else."""
    if not isinstance(pairs, list):
        return None
    whole = all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs)
    return dict(pairs) if whole else None


def key_of(found: Mapping[str, Any]) -> str:
    """SHA-256 of a description."""
    return digest(json.dumps(found, sort_keys=True))


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) < 80 else f"{text[:76]} ..."


def arguments_of(found: Mapping[str, Any], model: Model | None = None) -> dict[str, Any]:
    """The arguments of the `Specification` that `description` described; `model` where it could not hold its own.

    Raises ValueError if the model is missing or is another one, or the description is damaged.
    """
    try:
        stored, activation = found["model"], found["activation"]
        if model is None and not stored["file"]:
            raise ValueError(f"the results do not hold the model {stored['name']!r}: give it as `model`")
        model = parse_model(stored["file"], MODEL_FILE) if model is None else model
        if model.content_key != stored["content"]:
            raise ValueError(
                f"the model {stored['name']!r} is not the one that the results were computed with: its contents, "
                "or what this version makes of them, have changed"
            )
        if (vary := _table_of(found["vary"])) is None:
            raise TypeError("a parameter without a name")
        over_time = bool(activation) and isinstance(activation[0], list)
        return {
            **({"trial": MuscleTrial.of_plain(found["trial"], model)} if "trial" in found else {}),
            "model": model,
            "vary": vary,
            "activation": tuple(activation) if over_time else activation or None,
            **{key: found[key] for key in ("start_q", "start_u", "limits", "times", "summaries", *PLAIN)},
        }
    except (LookupError, TypeError, AttributeError):
        raise ValueError("the description of the study in the results is damaged") from None
