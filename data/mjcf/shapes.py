"""The sizes of shapes: MJCF counts half the sides of a box and half the lengths of cylinders and capsules."""

__all__ = ["HALVED", "file_sizes", "whole_sizes"]

HALVED = {  # by the kind of a shape: which of its sizes are halved in a file
    "box": (True, True, True),
    "sphere": (False,),
    "cylinder": (False, True),
    "capsule": (False, True),
}


def file_sizes(kind: str, sizes: tuple[float, ...]) -> tuple[float, ...]:
    """The sizes as a file has them."""
    return tuple(x / 2 if half else x for x, half in zip(sizes, HALVED[kind], strict=True))


def whole_sizes(kind: str, sizes: tuple[float, ...]) -> tuple[float, ...]:
    """The sizes as a shape has them."""
    return tuple(2 * x if half else x for x, half in zip(sizes, HALVED[kind], strict=True))
