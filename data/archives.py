"""Archives of arrays, .npz, that may come from anybody: no pickle, and limited before they are read."""

import sys
import zipfile
from pathlib import Path

import numpy as np

from myoquat.core.typing import Array
from myoquat.data.files import regular_file
from myoquat.joints.errors import ModelError, shortened

__all__ = ["read_arrays"]

LARGE_BYTES, MAX_COMPRESSION = 2**30, 200  # a larger content must not be compressed more; numbers compress to a tenth


def read_arrays(path: Path, what: str) -> dict[str, Array]:
    """What an archive holds. ValueError, that it is no such `what`, for one that is damaged, or would be far larger
    than its file; FileNotFoundError for none."""
    try:
        with regular_file(path) as stream:
            with zipfile.ZipFile(stream) as archive:
                total = sum(info.file_size for info in archive.infolist())
            if total > max(LARGE_BYTES, MAX_COMPRESSION * path.stat().st_size):
                raise ValueError(f"its arrays would take {total / 2**30:.1f} GiB")
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as loaded:
                arrays = dict(loaded)
        if not all(_is_text(array) for array in arrays.values() if array.dtype.kind == "U"):
            raise ValueError("its texts hold numbers that are no characters")
        return arrays
    except FileNotFoundError:
        raise
    except Exception as error:  # also of tokenize, zlib and ast, which NumPy calls
        reason = error.message if isinstance(error, ModelError) else str(error)
        raise ValueError(f"{path}: this is no {what} ({shortened(reason, 300)})") from None


def _is_text(array: Array) -> bool:
    """Whether all characters are ones: NumPy makes of any others strings that Python cannot hold."""
    codes = np.frombuffer(array.tobytes(), dtype=np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    return bool((codes <= sys.maxunicode).all())
