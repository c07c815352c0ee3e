"""Files that a model's file names as parts of itself, found safely."""

from pathlib import Path

from myoquat.data.files import MAX_BYTES, beside
from myoquat.data.xml import Element, complain
from myoquat.joints.errors import ModelError

__all__ = ["IncludedFiles"]

MAX_INCLUDED = 1000  # files


class IncludedFiles:
    """The files that the file of a model includes.

    Each must lie in the folder of that file or below, unless `anywhere`. It is included once, so that there are no
    cycles. All together hold no more bytes than one file may.
    """

    def __init__(self, main: Path, anywhere: bool) -> None:
        self._main, self._anywhere = main, anywhere
        self._seen = {main.resolve()}
        self._bytes = main.stat().st_size

    def path(self, element: Element, including: Path) -> Path:
        """The file that the attribute `file` of an element names, from the folder of the model's file or from that of
        the including file. ModelError with file and line for one that may not be read."""
        name = (element.get("file") or "").strip()
        what = f"<{element.tag}>"
        if not name:
            complain(element, f"{what} needs the attribute 'file'")
        folders = dict.fromkeys((self._main.parent, including.parent))
        try:
            path = next((found for folder in folders if (found := beside(folder, name)).is_file()), None)
            real = None if path is None else path.resolve()
        except (OSError, ValueError):  # a name that no file can have
            path = real = None
        if path is None or real is None:
            complain(element, f"{what} names {name!r}, which does not exist in {self._main.parent}")
        if not self._anywhere and not real.is_relative_to(self._main.parent.resolve()):
            outside = f"{what} names {name!r}, outside the folder of this file"
            complain(element, f"{outside}; load_model(..., anywhere=True) reads it")
        if real in self._seen or len(self._seen) > MAX_INCLUDED:
            many = f"{what} names {name!r}, and at most {MAX_INCLUDED} files are included"
            complain(element, f"{name!r} is included already" if real in self._seen else many)
        self._seen.add(real)
        self._bytes += path.stat().st_size
        if self._bytes > MAX_BYTES:
            raise ModelError(f"with all included files it holds more than {MAX_BYTES // 2**20} MiB", file=self._main)
        return path
