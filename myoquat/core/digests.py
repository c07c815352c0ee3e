"""Digests of several parts, such as the text and the numbers that say what a kernel computes."""

import hashlib
import struct

__all__ = ["digest"]

_LENGTH = struct.Struct("<Q")


def digest(*parts: bytes | str) -> str:
    """Hexadecimal SHA-256 of the parts, each with its length, so that no two lists of parts share a digest."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(_LENGTH.pack(len(data)))
        total.update(data)
    return total.hexdigest()
