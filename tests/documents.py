"""The code in the documents: excerpts of the project's source, and blocks that run.

    python -m tests.documents             says which excerpts are out of date
    python -m tests.documents --write     brings them up to date

An excerpt is a Python block under a line `<!-- excerpt: FILE NAME -->`: the function, class or assignment NAME of FILE
as it stands there. All other Python blocks of a document run in order, in one namespace.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXCERPT = re.compile(r"<!-- excerpt: (\S+) (\S+) -->\n```python\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"(<!-- excerpt: [^\n]*-->\n)?```python\n(.*?)```", re.DOTALL)


def source_of(file: str, name: str) -> str:
    """The lines of a top-level function, class or assignment, decorators included."""
    text = (ROOT / file).read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if name in _names(node):
            first = min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", []))])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno]) + "\n"
    raise KeyError(f"{file} defines no {name}")


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def with_excerpts(text: str) -> str:
    """A document with its excerpts as the source has them now."""

    def fresh(found: re.Match[str]) -> str:
        file, name = found[1], found[2]
        return f"<!-- excerpt: {file} {name} -->\n```python\n{source_of(file, name)}```"

    return EXCERPT.sub(fresh, text)


def running_blocks(text: str) -> list[tuple[int, str]]:
    """(line, code) of the blocks that run."""
    return [(text.count("\n", 0, m.start(2)), m[2]) for m in BLOCK.finditer(text) if not m[1]]


if __name__ == "__main__":
    for path in DOCUMENTS:
        old = path.read_text(encoding="utf-8")
        new = with_excerpts(old)
        if new != old:
            print(f"{path.relative_to(ROOT)}: excerpts are out of date")
            if "--write" in sys.argv[1:]:
                path.write_text(new, encoding="utf-8")
