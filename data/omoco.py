"""Solutions and problems of OpenSim Moco, .omoco."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from myoquat.core import frozen
from myoquat.joints import ModelError

from .files import existing
from .osim.document import read_root
from .reports import ImplausibleValues
from .setups.document import NOTHING, SetupDocument
from .xml import Element, checked_numbers, complain, text

# ---- Regular expressions of a file: matched only where that takes a limited time ----------------------------------
#
# Python tries the ways in which an expression can match one after the other. Their number is bounded by a product: the
# length of the text for every repetition, over their order, and 2 for every choice.


MAX_TRIES = 1e8  # of an expression on all texts: some seconds
UNIT = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|\(\?(?:<?[=!]|:)?", re.DOTALL
)  # an escape, a set, how a group begins


def matching(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Whether each text as a whole matches a regular expression.

    Raises ValueError for an expression that is none, and for one that may take too long.

    >>> from myoquat.data.omoco import matching
    >>> matching(".*/value", ["/jointset/knee/angle/value", "/jointset/knee/angle/speed"])
    [True, False]
    """
    plain = UNIT.sub(lambda unit: "(" if unit[0][0] == "(" else "x", pattern)
    repeated = sum(map(plain.count, "*+{"))
    choices = sum(map(plain.count, "?|"))
    longest = max(map(len, texts), default=0) + 1
    size = repeated * math.log(longest) - math.lgamma(repeated + 1) + choices * math.log(2) + math.log(len(texts) + 1)
    if re.search(r"\)[*+{]", plain) or size > math.log(MAX_TRIES):
        raise ValueError(
            f"the pattern {pattern[:60]!r} may take too long: it repeats a group, or has too many repetitions"
        )
    try:
        known = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern {pattern[:60]!r} is no regular expression: {error}") from None
    return [known.fullmatch(text) is not None for text in texts]


# --------------------------------------------------------------------------------------------------------------
#
# From a file of Moco to records: files, bounds and operators; goals and constraints as elements with their lines.


TOOLS = ("MocoStudy", "MocoTrack", "MocoInverse")
IN_MEMORY = "no file of {}: Moco does not write what was set in memory. Save it, and name the file in {}"
Interval = tuple[float, float]


@frozen(eq=False)
class Processor:
    """A ModelProcessor or TableProcessor: a file, or the element of a model in the document, and operators in order.
    Both are None where the file holds neither, such as a table that was set by a program."""

    element: Element
    file: Path | None
    inside: Element | None
    operators: tuple[Element, ...]


@frozen(eq=False)
class VariableInfo:
    """Bounds of a state or a control by name, or of all whose names match a regular expression; None where it says
    nothing."""

    element: Element
    name: str
    is_pattern: bool
    bounds: Interval | None
    initial: Interval | None
    final: Interval | None


@frozen(eq=False)
class MocoFile:
    """A file of Moco: which tool, its name, and the document; version: that of the document."""

    tool: str
    name: str
    document: SetupDocument
    version: int

    @property
    def root(self) -> Element:
        """The element of the tool."""
        return self.document.root

    @property
    def phase(self) -> Element:
        """The only phase of a study; ModelError for none, and for several, which Moco does not solve either."""
        problem = property_of(self.root, "problem", "MocoProblem")
        phases = [] if problem is None else list(problem.iter("MocoPhase"))
        if len(phases) != 1:
            complain(problem if phases else self.root, f"a <MocoProblem> needs one <MocoPhase>, not {len(phases)}")
        return phases[0]

    def processor(self, parent: Element, name: str, tag: str) -> Processor | None:
        """The processor that a property holds; None where it has neither file, model nor operators."""
        element = property_of(parent, name, tag)
        if element is None:
            return None
        given = text(element, "filepath", "")
        file = None if given in NOTHING else self.document.named(element, "filepath", given)
        holder = element.find("model")
        inside = None if holder is None else holder.find("Model")
        operators = tuple(children(element, "operators"))
        if file is None and inside is None and not operators:
            return None
        return Processor(element, file, inside, operators)

    def table(self, parent: Element, name: str) -> Processor:
        """The TableProcessor of a name; ModelError where it has no file."""
        found = self.processor(parent, name, "TableProcessor")
        if found is None or found.file is None:
            complain(parent, IN_MEMORY.format("its table", f'<TableProcessor name="{name}"><filepath>'))
        return found

    def infos(self, tag: str) -> list[VariableInfo]:
        """Bounds of the variables in <tag_pattern> and in <tag>, in the order in which they apply."""
        return [
            VariableInfo(
                element, str(element.get("name") or ""), pattern,
                *(interval(element, name) for name in ("bounds", "initial_bounds", "final_bounds")),
            )
            for pattern in (True, False)
            for element in children(self.phase, f"{tag}_pattern" if pattern else tag)
        ]  # fmt: skip


def read_moco(path: str | Path) -> MocoFile:
    """The MocoStudy, MocoTrack or MocoInverse in a file.

    ModelError with file and line for another document, and for a file that is missing or broken.
    """
    path = existing(path)
    implausible = ImplausibleValues()
    document = read_root(path, implausible)
    implausible.report(path, strict=False)
    root = next(iter(document.iterchildren("*")), document)
    if root.tag not in TOOLS:
        raise ModelError(f"one of {', '.join(TOOLS)} is wanted, not <{root.tag}>", file=path, line=root.sourceline)
    return MocoFile(
        root.tag, root.get("name") or path.stem, SetupDocument(root, path), int(document.get("Version", "0"))
    )


def property_of(parent: Element, name: str, tag: str = "") -> Element | None:
    """The child of a name: <name>, or an element of a type with that name, such as <TableProcessor name="reference">.
    If none has it, it is the only one of a type that has no name."""
    named = parent.find(name)
    if named is not None:
        return named if not tag else next(iter(named.iterchildren(tag)), named)
    typed = list(parent.iterchildren(tag)) if tag else list(parent.iterchildren("*"))
    return next((child for child in typed if child.get("name") == name or (tag and child.get("name") is None)), None)


def children(parent: Element, tag: str) -> list[Element]:
    """The elements in <tag>, none where it is missing."""
    holder = parent.find(tag)
    return [] if holder is None else list(holder.iterchildren("*"))


def interval(parent: Element, tag: str) -> Interval | None:
    """(lower, upper) of bounds, which may be infinite: twice the one number that is given, None without any."""
    ends = checked_numbers(parent.find(tag), f"<{tag}>", text(parent, tag, ""), 0, 2, infinite=True)
    return (ends[0], ends[-1]) if ends else None


def weights(parent: Element, name: str) -> dict[str, float]:
    """The weights in a MocoWeightSet by name."""
    holder = property_of(parent, name, "MocoWeightSet")
    found = {}
    for element in [] if holder is None else children(holder, "objects"):
        low_high = interval(element, "weight")
        found[str(element.get("name"))] = 1.0 if low_high is None else low_high[0]
    return found
