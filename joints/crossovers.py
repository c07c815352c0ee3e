"""From how many rows one code in a loop pays: the only place where this is decided.

Code of its own for each row is longer, and takes longer to trace and compile. One code in a loop reads its rows from a
table and writes results to one. It takes longer to run for few rows. Nothing is shared between rows, and the numbers of
a row are loaded instead of being constants of the code.
"""

from enum import IntEnum


class MinRows(IntEnum):
    """The least number of rows from which one code in a loop pays, by use.

    FORMULA         rows of `map_rows` inside a formula, such as force laws of a type or contacts of a surface type.
                    From here on the loop runs as fast and compiles faster
    DIFFERENTIATED  the same where the element contains a derivative, whose code is longer than its numbers
    SEGMENTS        muscles of a simulation step whose path segments become rows. Below, the Jacobian takes less time: a
                    step of two_link's six muscles takes a tenth longer by segments
    PATHS           muscles from which kernels of lengths and Jacobians have tables for types of path segments. For
                    gait2392 (92 muscles) and Rajagopal2016 (80), J takes as long per pose as muscle by muscle. It takes
                    2/3 as long to build; dl/dq takes 1/7 to 1/2 as long. For a shoulder (33), J takes 1/20 longer per
                    pose and 9/10 as long to build
    LINKS           links of a system whose passes may be loops over the tree. Below, a state of the measured chains
                    and trees takes up to a seventh longer by loops
    LINKS_PER_TYPE  links of a type, on the average, from which they are

    >>> MinRows.FORMULA.reached_by(3), MinRows.FORMULA.reached_by(4)
    (False, True)
    """

    FORMULA = 4
    DIFFERENTIATED = 5
    SEGMENTS = 13
    PATHS = 50
    LINKS = 48
    LINKS_PER_TYPE = 8

    def reached_by(self, rows: float) -> bool:
        """Whether so many rows are enough."""
        return rows >= self
