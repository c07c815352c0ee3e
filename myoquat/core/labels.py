"""Names from model files as text elsewhere: terminals, figures, pages, comments and identifiers of generated code.

A name may hold anything: line breaks, markup, mathematics, the end of a comment. Each function here makes it harmless
for one place and leaves ordinary names as they are.
"""

import unicodedata
from collections.abc import Collection, Iterable, Sequence

from .lazy_imports import html

MAX_IDENTIFIER_CHARACTERS = 40  # MATLAB distinguishes names by their first 63, prefixes included
FULL_WIDTH = str.maketrans({"$": "\uff04", "\\": "\uff3c"})  # full-width: they start no mathematics


def printable(text: str) -> str:
    """The text on one line: line breaks, control and direction characters as escapes such as \\n and \\u202e.

    >>> printable("left\\nknee")
    'left\\\\nknee'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def figure_label(text: str) -> str:
    """The text as matplotlib shows it literally: no mathematics between dollar signs, and never left out of a legend.

    >>> figure_label("cost in $")
    'cost in \\\\$'
    """
    shown = printable(text).replace("$", r"\$")
    return "\u200b" + shown if shown.startswith("_") else shown  # a legend skips labels that begin with _


def with_unit(text: str, unit: str | None) -> str:
    """The text and its unit in brackets; the text alone for a number without a unit.

    >>> with_unit("force", "N"), with_unit("activation", "1")
    ('force [N]', 'activation')
    """
    return f"{text} [{unit}]" if unit and unit != "1" else text


def widget_label(text: str) -> str:
    """The text for labels of Jupyter widgets, which are plain text but typeset mathematics: $ and \\ in full width."""
    return printable(text).translate(FULL_WIDTH)


def markup(text: str) -> str:
    """The text for HTML, and for plotly's labels and templates, which know some of it.

    >>> markup("<b>")
    '&lt;b&gt;'
    """
    escaped = html.escape(widget_label(text), quote=False)
    return escaped.replace('"', "&#34;").replace("'", "&#39;").replace("%{", "%&#123;")


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table of texts as they are, with a row of headings.

    >>> html_table(("name",), [("<b>",)])
    '<table><tr><th>name</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    lines = [("th", head), *(("td", row) for row in rows)]
    cells = ("".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) for tag, texts in lines if texts)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"


def counted(count: int, singular: str, plural: str) -> str:
    """A number of things.

    >>> counted(1, "body", "bodies"), counted(2, "body", "bodies")
    ('1 body', '2 bodies')
    """
    return f"{count} {singular if count == 1 else plural}"


def unique(texts: Iterable[str]) -> list[str]:
    """The texts, those that stood before with a number behind them.

    >>> unique(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    return _numbered(texts, " ({})", ())


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with as many underscores behind it as it takes to be none of those that are taken.

    >>> free_name("ground", {"ground", "ground_"})
    'ground__'
    """
    while name in taken:
        name += "_"
    return name


def identifiers(names: Iterable[str], prefix: str, taken: Collection[str] = ()) -> list[str]:
    """Distinct identifiers `prefix_name`, of ASCII letters, digits and _, for names that may be anything.

    They differ from each other and from those in `taken`. The prefix keeps them from being keywords; it must be
    an identifier itself.

    >>> identifiers(["for", "m 1", "m-1"], "a")
    ['a_for', 'a_m_1', 'a_m_1_2']
    """
    return _numbered((f"{prefix}_{_word(name)}" for name in names), "_{}", taken)


def _word(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name[: 4 * MAX_IDENTIFIER_CHARACTERS]).encode("ascii", "ignore").decode()
    return "".join(c if c.isalnum() else "_" for c in plain)[:MAX_IDENTIFIER_CHARACTERS].strip("_") or "x"


def _numbered(texts: Iterable[str], ending: str, taken: Collection[str]) -> list[str]:
    found: list[str] = []
    used = set(taken)
    for text in texts:
        new, count = text, 1
        while new in used:
            count += 1
            new = text + ending.format(count)
        used.add(new)
        found.append(new)
    return found
