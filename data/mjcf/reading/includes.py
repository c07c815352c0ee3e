"""<include>: the elements of other files in place of it."""

from collections.abc import Callable
from pathlib import Path

from myoquat.data.included import IncludedFiles
from myoquat.data.xml import BASE, Element, complain, parse

__all__ = ["follow_includes"]

Mend = Callable[[str], str]  # makes the text of a file XML


def follow_includes(root: Element, path: Path, mend: Mend, anywhere: bool) -> None:
    """Put the elements of included files in place of every <include>, those of files that they include too.

    As in MuJoCo, a file is searched from the folder of the model's file, then from that of the including file. It may
    be included once, so that there are no cycles. It must lie in the folder of the model's file or below, unless
    `anywhere`. All files together hold no more bytes than one may. Raises ModelError with file and line.
    """
    _follow(root, path, mend, IncludedFiles(path, anywhere))


def _follow(root: Element, path: Path, mend: Mend, files: IncludedFiles) -> None:
    for element in list(root.iter("include")):
        if len(element):  # type: ignore[arg-type]
            complain(element, "<include> has no elements of its own")
        file = files.path(element, path)
        included = parse(file, mend)
        for child in included.iterchildren("*"):
            child.set(BASE, str(file))
        _follow(included, file, mend, files)
        parent = element.getparent()
        if parent is None:
            complain(element, "<include> stands in another element")
        place = parent.index(element)
        parent[place : place + 1] = list(included.iterchildren("*"))
