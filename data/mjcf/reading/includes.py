"""<include>: the elements of other files in place of it."""

from collections.abc import Callable
from pathlib import Path

from myoquat.data.files import MAX_BYTES
from myoquat.data.xml import BASE, Element, complain, parse
from myoquat.joints.errors import ModelError

__all__ = ["follow_includes"]

MAX_INCLUDED = 1000  # files

Mend = Callable[[str], str]  # makes the text of a file XML


def follow_includes(root: Element, path: Path, mend: Mend, anywhere: bool) -> None:
    """Put the elements of included files in place of every <include>, those of files that they include too.

    As in MuJoCo, a file is searched from the folder of the model's file, then from that of the including file. It may
    be included once, so that there are no cycles. It must lie in the folder of the model's file or below, unless
    `anywhere`. All files together hold no more bytes than one may. Raises ModelError with file and line.
    """
    _Includer(path, mend, anywhere).follow(root, path)


class _Includer:
    def __init__(self, path: Path, mend: Mend, anywhere: bool) -> None:
        self._main, self._mend, self._anywhere = path, mend, anywhere
        self._seen = {path.resolve()}
        self._bytes = path.stat().st_size

    def follow(self, root: Element, path: Path) -> None:
        for element in list(root.iter("include")):
            if len(element):  # type: ignore[arg-type]
                complain(element, "<include> has no elements of its own")
            self._replace(element, self._file(element, path))

    def _replace(self, element: Element, path: Path) -> None:
        """The elements of a file in place of the one that includes it."""
        included = parse(path, self._mend)
        for child in included.iterchildren("*"):
            child.set(BASE, str(path))
        self.follow(included, path)
        parent = element.getparent()
        if parent is None:
            complain(element, "<include> stands in another element")
        place = parent.index(element)
        parent[place : place + 1] = list(included.iterchildren("*"))

    def _file(self, element: Element, including: Path) -> Path:
        name = element.get("file")
        if not name:
            complain(element, "<include> needs the attribute 'file'")
        folders = dict.fromkeys((self._main.parent, including.parent))
        try:
            path = next((found for folder in folders if (found := folder / name).is_file()), None)
            real = None if path is None else path.resolve()
        except (OSError, ValueError):  # a name that no file can have
            path = real = None
        if path is None or real is None:
            complain(element, f"<include> names {name!r}, which does not exist in {self._main.parent}")
        if not self._anywhere and not real.is_relative_to(self._main.parent.resolve()):
            outside = f"<include> names {name!r}, outside the folder of this file"
            complain(element, f"{outside}; load_model(..., anywhere=True) reads it")
        if real in self._seen or len(self._seen) > MAX_INCLUDED:
            many = f"<include> names {name!r}, and at most {MAX_INCLUDED} files are included"
            complain(element, f"{name!r} is included already" if real in self._seen else many)
        self._seen.add(real)
        self._bytes += path.stat().st_size
        if self._bytes > MAX_BYTES:
            raise ModelError(f"with all included files it holds more than {MAX_BYTES // 2**20} MiB", file=self._main)
        return path
