"""The values of a document's elements."""

from myoquat.data.xml import Element, checked_numbers, complain

__all__ = ["boolean", "last_name", "number", "numbers", "objects", "pair", "positive", "text", "triple"]


def objects(parent: Element | None, tag: str) -> list[Element]:
    """The elements in <tag><objects> of a parent, in order; none where the set is missing."""
    found = parent.find(f"{tag}/objects") if parent is not None else None
    return [] if found is None else [element for element in found if isinstance(element.tag, str)]


def text(parent: Element, tag: str, default: str | None = None) -> str:
    """The text of a child; ModelError where it is missing or empty and there is no default."""
    child = parent.find(tag)
    value = "" if child is None or child.text is None else child.text.strip()
    if not value:
        if default is None:
            complain(parent, f"<{parent.tag}> needs <{tag}>")
        return default
    return value


def numbers(
    parent: Element, tag: str, count: int | None = None, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """Finite numbers of a child, `count` of them if given; the default where the child is missing."""
    child = parent.find(tag)
    if child is None:
        if default is None:
            complain(parent, f"<{parent.tag}> needs <{tag}>")
        return default
    return checked_numbers(child, f"<{tag}>", (child.text or "").strip(), count or 0, count)


def number(parent: Element, tag: str, default: float | None = None) -> float:
    """One finite number of a child."""
    return float(numbers(parent, tag, 1, None if default is None else (default,))[0])


def positive(parent: Element, tag: str, default: float) -> float:
    """One positive number of a child."""
    value = number(parent, tag, default)
    if not value > 0:
        complain(parent.find(tag), f"<{tag}> must be positive, not {value:g}")
    return value


def pair(parent: Element, tag: str, default: tuple[float, float] | None = None) -> tuple[float, float]:
    """Two finite numbers of a child."""
    x, y = numbers(parent, tag, 2, default)
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
