"""Types of arrays in signatures.

`ArrayLike` is what functions take: floats, nested sequences, NumPy arrays, and arrays of SymPy or CasADi symbols.
`Array` is what they give: a NumPy array of floats, or, where symbols went in, an array of symbols that follows NumPy.
`Pair` is two of them.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Pair: TypeAlias = tuple[Array, Array]

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
else:

    class ArrayLike:
        """What numpy.asarray takes: one word in signatures that `help` shows, where NumPy's is half a page."""

        __module__ = "builtins"  # signatures show names of built-in types without a module
