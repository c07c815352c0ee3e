"""The sizes of shapes: MJCF counts half the sides of a box and half the lengths of cylinders and capsules."""

__all__ = ["HALVED", "file_sizes", "whole_sizes"]

HALVED = {  # by type of geom: which of its sizes are halved in a file
    "box": (True, True, True),
    "sphere": (False,),
    "ellipsoid": (False, False, False),
    "cylinder": (False, True),
    "capsule": (False, True),
}


def file_sizes(geom_type: str, sizes: tuple[float, ...]) -> tuple[float, ...]:
    """The sizes as a file has them."""
    return tuple(x / 2 if half else x for x, half in zip(sizes, HALVED[geom_type], strict=True))


def whole_sizes(geom_type: str, sizes: tuple[float, ...]) -> tuple[float, ...]:
    """The sizes as a shape has them."""
    return tuple(2 * x if half else x for x, half in zip(sizes, HALVED[geom_type], strict=True))
