"""Reports of what is lost or doubtful between a model and a file: one warning each, with counts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from myoquat.core import warn_user
from myoquat.joints import ModelError
from myoquat.joints.errors import shortened

MAX_EXAMPLES = 5  # of each description, in a message
MAX_DESCRIPTIONS = 200  # in a message


class UnsupportedWarning(UserWarning):
    """Parts of a model file that were not read.

    >>> import tempfile
    >>> import warnings
    >>> from pathlib import Path
    >>> import myoquat as mq
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     path = Path(folder) / "arm.urdf"
    ...     written = path.write_text('<robot><link name="arm"/><transmission name="drive"/></robot>')
    ...     model = mq.load_model(path)
    >>> str(caught[0].message).split(": ")[-1]
    '1 transmission (of another tool), line 1'
    """


class UnwrittenWarning(UserWarning):
    """Parts of a model that a file format cannot represent.

    >>> import tempfile
    >>> import warnings
    >>> import myoquat as mq
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     mq.load_model("two_link").save(f"{folder}/arm.xml")
    >>> caught[0].category.__name__, "law 'B'" in str(caught[0].message)
    ('UnwrittenWarning', True)
    """


class ImplausibleWarning(UserWarning):
    """Impossible numbers of a file, read as the program of that format reads them.

    >>> import warnings
    >>> import myoquat as mq
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", mq.data.ImplausibleWarning)  # such files raise an error
    ...     model = mq.load_model("two_link")
    """


class Report:
    """Descriptions, how often each occurred, and the first examples of each; `remarks` are warnings of their own.

    warning   the class of the warning that reports them
    opening   how it begins
    counted   whether the number of occurrences is reported
    """

    warning: ClassVar[type[UserWarning]]
    opening: ClassVar[str]
    counted: ClassVar[bool] = True

    def __init__(self) -> None:
        self._found: dict[str, list[Any]] = defaultdict(list)  # the first MAX_EXAMPLES of each
        self._counts: Counter[str] = Counter()
        self.remarks: list[str] = []

    def count(self, what: Any, name: Any, /) -> None:
        """Note something by its description, and an example of it by name."""
        self._counts[what] += 1
        if self._counts[what] <= MAX_EXAMPLES:
            self._found[what].append(name)

    def described(self, count: int, shown: str) -> str:
        """How the examples that are shown, of so many, stand behind a description."""
        return f" ({shown})"

    def descriptions(self) -> list[str]:
        """What was noted, a line for each description with its count and the first examples."""
        lines = []
        for what, count in self._counts.items():
            shown = ", ".join(map(str, self._found[what])) + (", ..." if count > MAX_EXAMPLES else "")
            lines.append(f"{count} " * self.counted + shortened(what) + self.described(count, shown))
        return lines

    def report(self, path: Path | str, strict: bool) -> None:
        """Raise a ModelError if `strict`, else warn once, with counts and examples, of what was noted; then remark."""
        parts = self.descriptions()
        if len(parts) > MAX_DESCRIPTIONS:
            parts[MAX_DESCRIPTIONS:] = [f"{len(parts) - MAX_DESCRIPTIONS} others"]
        message = f"{self.opening}: " + "; ".join(parts)
        if strict and parts:
            raise ModelError(message, file=path)
        for text in ([message] if parts else []) + self.remarks:
            warn_user(f"{path}: {text}", self.warning)


class UnwrittenParts(Report):
    """Parts of a model that a file format cannot represent, by their names."""

    warning = UnwrittenWarning
    opening = "the file cannot hold"

    def count_parts(self, parts: Mapping[str, Iterable[Any]]) -> None:
        """Note all of some parts, by their descriptions."""
        for description, members in parts.items():
            for part in members:
                self.count(description, getattr(part, "label", part.name))


class ImplausibleValues(Report):
    """Impossible numbers that are kept, by the names of the elements that have them."""

    warning = ImplausibleWarning
    opening = "read as it stands, though it cannot be"
    counted = False


class UnsupportedElements(Report):
    """Elements of a file that are not read, by their lines."""

    warning = UnsupportedWarning
    opening = "not supported and left out"

    def count(self, element: Any, what: str, /) -> None:
        """Note an element, by its line, or by its name if it has no line."""
        line, file = element.sourceline, element.base
        name = repr(element.get("name") or element.tag)
        self.note(element.tag, what, name if line is None else f"{Path(file).name}:{line}" if file else line)

    def note(self, tag: str, what: str, place: Any) -> None:
        """Note an element by its type and its place: a line, a file and a line, or a name."""
        super().count(f"{tag} ({what})", place)

    def described(self, count: int, shown: str) -> str:
        return f", line{'s' * (count > 1)} {shown}" if shown[:1].isdigit() else f", {shown}"
