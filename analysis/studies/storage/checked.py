"""Blocks of results that are compared with their checksums as they are read, and named where they are damaged."""

import json
import math
from pathlib import Path
from typing import Any

import google_crc32c
from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import LocalStore

from myoquat.analysis.studies.storage.errors import StoreError

__all__ = ["CHECKSUM_BYTES", "CheckedStore"]

CHECKSUM_BYTES = 4
COUNT_BYTES = 4  # of a count or a length in a block of texts
MAX_LABELS = 10**7  # numbers or texts of an array that is read at once, such as names and times


class CheckedStore(LocalStore):
    """A folder of arrays, read only, of which those named in `checked` hold blocks that end with their CRC-32C.

    Zarr compares these checksums too, but names neither the file nor the array, and takes four bytes of zero for a
    block without numbers. Labels take no more memory than their files can hold. Otherwise a description of a few bytes,
    or the count in a block of texts, could ask for any amount.
    """

    def __init__(self, root: Path | str, *, read_only: bool = True) -> None:
        super().__init__(root, read_only=read_only)
        self.checked: frozenset[str] = frozenset()
        self._texts: set[str] = set()  # arrays of texts without compression

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """As LocalStore does. Raises StoreError with the array and the block."""
        found = await super().get(key, prototype, byte_range)
        name, _, place = key.partition("/c/")
        if found is not None and key.endswith("/zarr.json"):
            self._describe(key.removesuffix("/zarr.json"), found.to_bytes())
        if found is not None and place and name in self._texts and not _holds_its_texts(found.to_bytes()):
            raise StoreError(f"{self.root}: the labels {name!r} are damaged")
        if found is not None and place and name in self.checked and not _intact(found.to_bytes()):
            raise StoreError(
                f"{self.root}: block {place.split('/')[0]} of {name!r} is not as it was written; `myoquat sweep "
                "--verify` lists what is damaged, `--repair` computes it again"
            )
        return found

    def _describe(self, name: str, content: bytes) -> None:
        """Note an array of texts; StoreError for labels of which there are too many. Zarr checks the rest."""
        try:
            found: Any = json.loads(content)
            shape, dims = found.get("shape", ()), found.get("dimension_names") or ()
            many = tuple(dims[:1]) != ("sample",) and math.prod(map(int, shape)) > MAX_LABELS
            texts = found.get("data_type") == "string" and [each["name"] for each in found["codecs"]] == ["vlen-utf8"]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError):
            return
        if many:
            raise StoreError(f"{self.root}: the description of the labels {name!r} is damaged: shape {shape}")
        if texts:
            self._texts.add(name)


def _holds_its_texts(content: bytes) -> bool:
    """Whether a block is as long as the texts that it counts, each of which begins with its length."""
    return COUNT_BYTES * (1 + int.from_bytes(content[:COUNT_BYTES], "little")) <= len(content)


def _intact(content: bytes) -> bool:
    numbers, checksum = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
    return bool(numbers) and google_crc32c.value(numbers).to_bytes(4, "little") == checksum
