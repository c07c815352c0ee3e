"""Files that are written together or not at all."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from myoquat.data.files import check_output, write_text
from myoquat.data.motions import write_motion
from myoquat.joints.errors import ModelError

__all__ = ["Outputs"]


@dataclass
class Outputs:
    """What is to be written where: each file goes into a folder beside its place first; all are moved at the end.
    `tables` are those among the files, for a report."""

    overwrite: bool
    files: list[tuple[Path, Callable[[Path], object]]] = field(default_factory=list)
    tables: list[tuple[Path, pd.DataFrame]] = field(default_factory=list)

    def add(self, path: Path | None, write: Callable[[Path], object]) -> None:
        """A file that `write` writes, none for None. FileExistsError for one that exists, unless it is replaced."""
        if path is None:
            return
        if path.parent.is_dir():
            check_output(path, self.overwrite)
        self.files.append((path, write))

    def table(self, path: Path | None, frame: pd.DataFrame, name: str, in_degrees: bool) -> None:
        """A .mot or .sto file of a table."""
        if path is not None:
            self.tables.append((path, frame))
        self.add(path, lambda to: write_motion(frame, to, in_degrees=in_degrees, name=name))

    def xml(self, path: Path | None, text: Callable[[], str]) -> None:
        """An .xml file with the text; ModelError for another ending."""
        if path is not None and path.suffix.lower() != ".xml":
            raise ModelError("sets of markers and of factors are written into files that end in .xml", file=path)
        self.add(path, lambda to: write_text(to, text()))

    def write(self) -> list[Path]:
        """Write all and return their paths."""
        with tempfile.TemporaryDirectory(prefix=".myoquat-", dir=self._folder()) as folder:
            made = []
            for k, (path, write) in enumerate(self.files):
                place = Path(folder) / str(k) / path.name
                place.parent.mkdir()
                write(place)
                made.append((place, path))
            for place, path in made:
                path.parent.mkdir(parents=True, exist_ok=True)
                place.replace(path)
        return [path for path, _ in self.files]

    def _folder(self) -> Path | None:
        """A folder that exists beside the first file."""
        above = [folder for path, _ in self.files[:1] for folder in path.absolute().parents if folder.is_dir()]
        return above[0] if above else None
