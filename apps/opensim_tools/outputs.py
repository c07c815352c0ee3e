"""Files that are written together or not at all."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from myoquat.apps.report import Drawn, Numbers
from myoquat.data.files import check_output, write_text
from myoquat.data.storage import write_motion
from myoquat.joints.errors import ModelError


@dataclass
class Outputs:
    """What is to be written where: each file goes into a folder beside its place first; all are moved at the end.
    For a report, `tables` are those among the files, and `sections` make what comes before them.

    tell       called with every line about the progress
    rotations  of ball joints meanwhile
    """

    overwrite: bool
    tell: Callable[[str], None] = lambda line: None
    rotations: str = "file"
    files: list[tuple[Path, Callable[[Path], object]]] = field(default_factory=list)
    tables: list[tuple[Path, pd.DataFrame]] = field(default_factory=list)
    sections: list[Callable[[], Sequence[Numbers | Drawn]]] = field(default_factory=list)

    def add(self, path: Path | None, write: Callable[[Path], object]) -> None:
        """A file that `write` writes, none for None. FileExistsError for one that exists, unless it is replaced."""
        if path is None:
            return
        if path.parent.is_dir():
            check_output(path, self.overwrite)
        self.files.append((path, write))

    def table(self, path: Path | None, frame: pd.DataFrame, name: str, in_degrees: bool = False) -> None:
        """A .mot or .sto file of a table."""
        if path is not None:
            self.tables.append((path, frame))
        self.add(path, lambda to: write_motion(frame, to, in_degrees=in_degrees, name=name))

    def xml(self, path: Path | None, text: Callable[[], str]) -> None:
        """An .xml file with the text; ModelError for another ending."""
        if path is not None and path.suffix.lower() != ".xml":
            raise ModelError("sets of markers and of factors are written into files that end in .xml", file=path)
        self.add(path, lambda to: write_text(to, text()))

    def write(self, read: Collection[Path] = ()) -> list[Path]:
        """Write all and return their paths; where one cannot be written, all is as it was.

        Raises ModelError, before anything is written, where two files have one place or one would replace a file that
        was `read`. FileExistsError or NotADirectoryError where there is no place.
        """
        self._check(read)
        with tempfile.TemporaryDirectory(prefix=".myoquat-", dir=self._folder()) as folder:
            made = []
            for k, (path, write) in enumerate(self.files):
                place = Path(folder) / str(k) / path.name
                place.parent.mkdir()
                write(place)
                made.append((place, path))
            _move(made, Path(folder))
        return [path for path, _ in self.files]

    def _check(self, read: Collection[Path]) -> None:
        """Errors of `write` that are known before anything is written."""
        taken: set[str] = set()
        for path, _ in self.files:
            above = next(folder for folder in path.absolute().parents if os.path.lexists(folder))
            if not above.is_dir():
                raise NotADirectoryError(f"{above} is not a folder: {path.name} cannot be written into it")
            if above == path.absolute().parent:
                check_output(path, self.overwrite)
            place = path.resolve()
            if place in read:
                raise ModelError(
                    "this file was read, and the results would replace it; give them another name in the setup",
                    file=path,
                )
            if str(place).casefold() in taken:
                raise ModelError("two results would have this place, names in capitals or not; rename one", file=path)
            taken.add(str(place).casefold())

    def _folder(self) -> Path | None:
        """A folder that exists beside the first file."""
        above = [folder for path, _ in self.files[:1] for folder in path.absolute().parents if folder.is_dir()]
        return above[0] if above else None


def _move(made: Sequence[tuple[Path, Path]], folder: Path) -> None:
    """Move files to their final paths; if one cannot be moved, restore all files that were moved or replaced."""
    replaced: list[tuple[Path, Path | None]] = []
    new_folders: list[Path] = []
    try:
        for k, (place, path) in enumerate(made):
            new_folders += [above for above in reversed(path.absolute().parents) if not above.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            kept = _kept(path, folder / f"kept-{k}")
            place.replace(path)
            replaced.append((path, kept))
    except BaseException:
        for path, kept in reversed(replaced):
            path.unlink() if kept is None else kept.replace(path)
        for above in reversed(new_folders):
            with contextlib.suppress(OSError):
                above.rmdir()
        raise


def _kept(path: Path, beside: Path) -> Path | None:
    """What is at a path under another name too; None for nothing."""
    if not os.path.lexists(path):
        return None
    try:
        os.link(path, beside, follow_symlinks=False)
    except (OSError, NotImplementedError):  # of file systems without links
        shutil.copy2(path, beside, follow_symlinks=False)
    return beside
