"""Blocks of results that are compared with their checksums as they are read, and named where they are damaged."""

from pathlib import Path

import google_crc32c
from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import LocalStore

from myoquat.analysis.studies.storage.errors import StoreError

__all__ = ["CHECKSUM_BYTES", "CheckedStore"]

CHECKSUM_BYTES = 4


class CheckedStore(LocalStore):
    """A folder of arrays, read only, of which those named in `checked` hold blocks that end with their CRC-32C.

    Zarr compares these checksums too, but names neither the file nor the array, and takes four bytes of zero for a
    block without numbers.
    """

    def __init__(self, root: Path | str, *, read_only: bool = True) -> None:
        super().__init__(root, read_only=read_only)
        self.checked: frozenset[str] = frozenset()

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """As LocalStore does. Raises StoreError with the array and the block."""
        found = await super().get(key, prototype, byte_range)
        name, _, place = key.partition("/c/")
        if found is not None and place and name in self.checked and not _intact(found.to_bytes()):
            raise StoreError(
                f"{self.root}: block {place.split('/')[0]} of {name!r} is not as it was written; `myoquat sweep "
                "--verify` lists what is damaged, `--repair` computes it again"
            )
        return found


def _intact(content: bytes) -> bool:
    numbers, checksum = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
    return bool(numbers) and google_crc32c.value(numbers).to_bytes(4, "little") == checksum
