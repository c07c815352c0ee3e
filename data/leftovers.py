"""What does not pass between a model and a file: counted by kind, told in one warning."""

import warnings
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from myoquat.joints.errors import ModelError, shortened

__all__ = ["Census", "Doubts", "ImplausibleWarning", "Leftovers", "Tally", "UnsupportedWarning", "UnwrittenWarning"]

SHOWN = 5  # of each kind that are told
MAX_KINDS = 200  # that are told


class UnsupportedWarning(UserWarning):
    """Parts of a model file that were not read.

    >>> import tempfile
    >>> import warnings
    >>> from pathlib import Path
    >>> import myoquat as mq
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     path = Path(folder) / "arm.urdf"
    ...     written = path.write_text('<robot><link name="arm"/><transmission name="drive"/></robot>')
    ...     model = mq.load_model(path)
    >>> str(told[0].message).split(": ")[-1]
    '1 transmission (of another tool), line 1'
    """


class UnwrittenWarning(UserWarning):
    """Parts of a model that a file does not hold.

    >>> import tempfile
    >>> import warnings
    >>> import myoquat as mq
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     mq.load_model("two_link").save(f"{folder}/arm.xml")
    >>> told[0].category.__name__, "law 'B'" in str(told[0].message)
    ('UnwrittenWarning', True)
    """


class ImplausibleWarning(UserWarning):
    """Numbers of a file that cannot be, read as the program whose file it is reads them.

    >>> import warnings
    >>> import myoquat as mq
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", mq.data.ImplausibleWarning)  # files with such numbers are refused
    ...     model = mq.load_model("two_link")
    """


class Tally(ABC):
    """Things by kind, and where or what each of them is."""

    warning: ClassVar[type[UserWarning]]
    opening: ClassVar[str]

    def __init__(self) -> None:
        self._found: dict[str, list[Any]] = defaultdict(list)  # the first SHOWN of each kind
        self._counts: Counter[str] = Counter()

    def _note(self, kind: str, place: Any) -> None:
        self._counts[kind] += 1
        if self._counts[kind] <= SHOWN:
            self._found[kind].append(place)

    @abstractmethod
    def described(self, kind: str, count: int, shown: str) -> str:
        """The words for `count` things of a kind, of which the first are `shown`."""

    def report(self, path: Path | str, strict: bool) -> None:
        """One warning with counts and places, or, where `strict`, a ModelError; nothing if nothing was left out."""
        if not self._found:
            return
        parts = []
        for kind, count in islice(self._counts.items(), MAX_KINDS):
            shown = ", ".join(map(str, self._found[kind])) + (", ..." if count > SHOWN else "")
            parts.append(self.described(shortened(kind), count, shown))
        if len(self._counts) > MAX_KINDS:
            parts.append(f"{len(self._counts) - MAX_KINDS} other kinds")
        message = f"{self.opening}: " + "; ".join(parts)
        if strict:
            raise ModelError(message, file=path)
        warnings.warn(f"{path}: {message}", self.warning, stacklevel=4)


class Leftovers(Tally):
    """Parts of a model that are not written, by their names."""

    warning = UnwrittenWarning
    opening = "the file cannot hold"

    def count(self, what: str, name: str) -> None:
        """Note a part."""
        self._note(what, name)

    def described(self, kind: str, count: int, shown: str) -> str:
        return f"{count} {kind} ({shown})"


class Doubts(Tally):
    """Numbers that cannot be and are kept, by the names of what they belong to."""

    warning = ImplausibleWarning
    opening = "read as it stands, though it cannot be"

    def count(self, what: str, name: str) -> None:
        """Note a number."""
        self._note(what, name)

    def described(self, kind: str, count: int, shown: str) -> str:
        return f"{kind} ({shown})"


class Census(Tally):
    """Elements of a file that are not read, by their lines."""

    warning = UnsupportedWarning
    opening = "not supported and left out"

    def count(self, element: Any, what: str) -> None:
        """Note an element, by its line, or by its name where it stands in no file."""
        line, file = element.sourceline, element.base
        name = repr(element.get("name") or element.tag)
        self._note(f"{element.tag} ({what})", name if line is None else f"{Path(file).name}:{line}" if file else line)

    def described(self, kind: str, count: int, shown: str) -> str:
        lines = f"line{'s' * (count > 1)} " if shown[:1].isdigit() else ""
        return f"{count} {kind}, {lines}{shown}"
