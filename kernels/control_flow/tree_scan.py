"""Scans over a tree inside a formula: one function for every type of its members, in loops over tables of numbers.

`tree_scan` runs passes down and up a tree: downwards a member takes what its parent gives, upwards the sum of what its
children give. While a kernel is traced the members are not unrolled. The code of a member of each type is traced once,
with the numbers in which the members differ as further inputs. The kernel holds it once for every pass. A number that
is the same in all members of a type is a constant of their code.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.kernels.control_flow.tree_scan_members import Member, Pass, member_by_member
from myoquat.kernels.control_flow.tree_scan_tracing import PendingTreeScan
from myoquat.kernels.symbolic.arrays import SymbolArray, is_symbolic, symbols_of
from myoquat.kernels.symbolic.elements import is_term, is_traced
from myoquat.kernels.symbolic.terms import Tracer
from myoquat.kernels.tracing.context import pending_constructs, unrolls_constructs

__all__ = ["becomes_loops", "tree_scan"]


def tree_scan(
    members: Sequence[Member], parents: Sequence[int], passes: Sequence[Pass], result: Callable[[Any], Array],
    sizes: Sequence[int],
) -> list[Array]:  # fmt: skip
    """The (..., m) result of every member after all passes, where m is its size.

    Parents come before their children; `ROOT` is the parent of members without one. On floats, on symbols of SymPy and
    CasADi, and for derivatives, members are evaluated one by one. So they are in kernels where a member has a loop
    inside.
    """
    rows = [member.row for member in members]
    pending, tracer = pending_constructs.get(), _recording_of(rows)
    if pending is None or tracer is None or not becomes_loops(rows):
        return member_by_member(members, parents, passes, result)
    results = [symbols_of(tracer, (size,)) for size in sizes]
    given = [x for symbols in results for x in np.asarray(symbols).flat]
    pending.append(PendingTreeScan(tuple(members), tuple(parents), tuple(passes), result, given))
    return [symbols.view(SymbolArray) for symbols in results]


def becomes_loops(rows: Sequence[Array]) -> bool:
    """Whether a recursion over such rows becomes loops: in a kernel that is traced, and not differentiated."""
    return pending_constructs.get() is not None and not unrolls_constructs.get() and _recording_of(rows) is not None


def _recording_of(rows: Sequence[Array]) -> Tracer | None:
    """The tracing to which all symbols among the rows belong, None if there are none or others."""
    flat = [x for row in rows if is_symbolic(row) for x in np.asarray(row).flat]
    if not all(map(is_traced, flat)):
        return None
    return next((x.tracer for x in flat if is_term(x)), None)
