"""Files of published experiments, compared by content."""

import hashlib
from collections.abc import Mapping
from pathlib import Path


def file_states(folder: Path, hashes: Mapping[str, str]) -> dict[str, str]:
    """Of every file with a published hash: "as published", "other content" or "missing"."""
    found = {}
    for name, digest in hashes.items():
        path = folder / name
        if not path.is_file():
            found[name] = "missing"
        else:
            same = hashlib.sha256(path.read_bytes()).hexdigest() == digest
            found[name] = "as published" if same else "other content"
    return found
