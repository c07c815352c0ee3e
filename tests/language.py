"""Words that this project replaces by the field's terms, found in names, docstrings, comments, messages and pages.

    python -m tests.language [PATHS]     prints every use with its file, line and replacement

`WORDS` are whole words of prose and code, and parts of names between underscores and capitals. `PHRASES` are patterns
of prose.
`ALLOWED` has patterns with another meaning, each with its reason.
"""

import ast
import re
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("myoquat/core", "kernels", "joints", "muscle", "data", "dynamics", "analysis", "apps", "environments")
FOLDERS += ("benchmarks", "tests", "validation")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md")

WORDS = {
    "stretches": "path segments",
    "rounds": "outer iterations",
    "patience": "maximum number of stalled iterations; delay",
    "rival": "alternative local minimum",
    "rivals": "alternative local minima",
    "courses": "geodesic segments",
    "chords": "planar initial guesses",
    "bow": "planar initial guess",
    "bows": "planar initial guesses",
    "places": "order along the path; points resolved in all frames",
    "kind": "type, law, surface type, equivalence class, argument type: whichever is meant",
    "kinds": "types, laws, surface types, equivalence classes: whichever are meant",
    "told": "reported",
    "settled": "converged",
    "settling": "warm-started sequential programming",
    "taut": "minimised, solved",
    "tightened": "minimised, solved",
    "enclosure": "bound tightening",
    "recorder": "tracer",
    "door": "argument validation",
    "census": "report of unsupported elements",
    "leftovers": "report of elements that could not be written",
    "doubts": "report of implausible values",
    "reel": "frame cache",
    "room": "package",
    "rooms": "packages",
    "house": "architecture",
    "honest": "(leave out)",
    "leisure": "(leave out)",
    "nowhere": "never; at no pose; in no file",
    "nobody": "no one; use the passive",
    "somebody": "a user; another program",
}
PHRASES = {
    r"goes round in circles": "cycles",
    r"refused by name": "raises an error that names it",
    r"for want of": "because there is no",
    r"a word while waiting": "progress message",
    r"such as are\b": "(rewrite)",
}
# (pattern, start of the path) -> reason: what the pattern matches in a line is not searched for words
ALLOWED: dict[tuple[str, str], str] = {
    (r"\bkind: (ClassVar\[str\]|str)|\.kind\b", ""): "`kind` is the registered name of a type, in files and in tables",
    (r"\bkind=\"stable\"", ""): "an argument of sorting in NumPy and pandas",
    (r"\bKINDS\b|\bkinds\b", "joints/multibody/sampling.py"): "`kinds` are such names",
    (r"`kind`|\bkind[,=]|['\"]kind['\"]", "joints/"): "the attribute",
    (r"'kind'|kind: ", "benchmarks/"): "the attribute of a joint",
    (r"\bkind\b", "tests/data/test_registered_types.py"): "the registered name is what these tests are about",
    (r"\"kind\"", "tests/joints/test_joint_types.py"): "the attribute",
    (r"`kind`|\*\*kind\*\*", "docs/"): "the same in model files",
    (r"`kind`|\"kind\"|\{ kind = ", "data/toml/"): "the attribute, and the key of shapes in model files",
    (r"\"kind\"", "data/motions/motion.py"): "the name of a level of columns in tables that users keep",
    (r"\bKINDS\b|\"kinds\"", "tests/"): "names of joint types, from joints/multibody/sampling.py",
}


@dataclass(frozen=True)
class Use:
    """A word at a line of a file."""

    path: str
    line: int
    word: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word} -> {WORDS.get(self.word) or PHRASES[self.word]}"


def uses(paths: tuple[Path, ...] = ()) -> list[Use]:
    """All uses in the given files and folders, or in the whole project."""
    return [use for file in files(paths) for use in _of_file(file)]


def files(paths: tuple[Path, ...] = ()) -> list[Path]:
    """Python files and Markdown pages below the paths, this file and the record of changes left out."""
    starts = paths or tuple(ROOT / name for name in (*FOLDERS, *PAGES, "docs"))
    every = [start if start.is_file() else start.rglob("*") for start in starts]
    flat = [file for item in every for file in ([item] if isinstance(item, Path) else item)]
    kept = [file for file in flat if file.suffix in (".py", ".md") and "_build" not in file.parts]
    return sorted(file for file in kept if file.resolve() != Path(__file__).resolve())


@cache
def parsed(file: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(file.read_text(encoding="utf-8"))


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """The module and all its statements, nested ones included, in the order of `ast.walk`: a fifth of its nodes."""
    queue: deque[ast.AST] = deque([tree])
    while queue:
        node = queue.popleft()
        yield node
        queue += [x for x in ast.iter_child_nodes(node) if isinstance(x, ast.stmt | ast.ExceptHandler | ast.match_case)]


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Words in small, mixed and capital letters, alone or between underscores and capitals, and all phrases."""
    forms = [rf"(?<![A-Za-z]){x}(?![a-z])|{x.capitalize()}(?![a-z])|(?<![A-Z]){x.upper()}(?![A-Za-z])" for x in words]
    return re.compile("|".join([*forms, *(f"(?i:{phrase})" for phrase in PHRASES)]))


def _of_file(file: Path) -> Iterator[Use]:
    path, text = file.resolve().relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")
    small = text.lower()
    sought = _pattern(tuple(word for word in WORDS if word in small))
    if sought.search(text):
        allowed = re.compile("|".join(f"(?:{pattern})" for pattern, start in ALLOWED if path.startswith(start)))
        for number, line in enumerate(text.split("\n"), start=1):
            for found in sought.finditer(allowed.sub(" ", line)):
                yield Use(path, number, next((x for x in PHRASES if re.fullmatch(x, found[0], re.I)), found[0].lower()))


def main() -> None:
    """Print all uses below the paths of the command line, and how many there are."""
    found = uses(tuple(Path(name).resolve() for name in sys.argv[1:]))
    for use in found:
        print(use)
    print(len(found), "uses")


if __name__ == "__main__":
    main()
