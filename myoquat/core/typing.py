"""Types of arrays in signatures.

`ArrayLike` is what functions take: floats, nested sequences, NumPy arrays, and arrays of SymPy or CasADi symbols.
`Array` is what they give: a NumPy array of floats, or, where symbols went in, an array of symbols that follows NumPy.
"""

from typing import Any, TypeAlias

from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "ArrayLike"]

Array: TypeAlias = NDArray[Any]
