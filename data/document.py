"""The values of a document's elements."""

from myoquat.data.xml import Element, checked_numbers, complain

__all__ = ["boolean", "last_name", "number", "numbers", "objects", "positive", "span", "text", "triple"]


def objects(parent: Element | None, tag: str) -> list[Element]:
    """The elements in <tag><objects> of a parent, in order; none where the set is missing."""
    found = parent.find(f"{tag}/objects") if parent is not None else None
    return [] if found is None else [element for element in found if isinstance(element.tag, str)]


def text(parent: Element, tag: str, default: str | None = None) -> str:
    """The text of a child; ModelError where it is missing or empty and there is no default."""
    child = parent.find(tag)
    value = "" if child is None else _content(child)
    if not value:
        if default is None:
            complain(parent, f"<{parent.tag}> needs <{tag}>")
        return default
    return value


def _content(element: Element) -> str:
    """The text of an element, without the comments in it."""
    tails = (child.tail for child in element if not isinstance(child.tag, str))
    return " ".join(filter(None, (element.text, *tails))).strip()


def numbers(
    parent: Element,
    tag: str,
    count: int | None = None,
    default: tuple[float, ...] | None = None,
    *,
    infinite: bool = False,
) -> tuple[float, ...]:
    """Numbers of a child, `count` of them if given, finite unless `infinite`; the default where there is no child."""
    child = parent.find(tag)
    if child is None:
        if default is None:
            complain(parent, f"<{parent.tag}> needs <{tag}>")
        return default
    return checked_numbers(child, f"<{tag}>", _content(child), count or 0, count, infinite=infinite)


def number(parent: Element, tag: str, default: float | None = None, *, infinite: bool = False) -> float:
    """One number of a child, finite unless `infinite`."""
    return float(numbers(parent, tag, 1, None if default is None else (default,), infinite=infinite)[0])


def positive(parent: Element, tag: str, default: float) -> float:
    """One positive number of a child."""
    value = number(parent, tag, default)
    if not value > 0:
        complain(parent.find(tag), f"<{tag}> must be positive, not {value:g}")
    return value


def span(parent: Element, tag: str, default: tuple[float, float] | None = None) -> tuple[float, float]:
    """The ends of a range in a child, of which infinite ones mean no limit."""
    x, y = numbers(parent, tag, 2, default, infinite=True)
    return x, y


def triple(parent: Element, tag: str, default: tuple[float, float, float] | None = None) -> tuple[float, float, float]:
    """Three finite numbers of a child."""
    x, y, z = numbers(parent, tag, 3, default)
    return x, y, z


def boolean(parent: Element, tag: str, default: bool = False) -> bool:
    """true or false of a child."""
    value = text(parent, tag, "true" if default else "false").lower()
    if value not in ("true", "false", "1", "0"):
        complain(parent.find(tag), f"<{tag}> must be true or false, not {value!r}")
    return value in ("true", "1")


def last_name(path: str) -> str:
    """'/jointset/hip_r/hip_flexion_r' -> 'hip_flexion_r'."""
    return path.rstrip("/").rpartition("/")[2]
