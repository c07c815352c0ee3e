"""Derivatives of forward dynamics by recursions over the links, without the mass matrix.

A small motion or speed of joint j changes the columns m, n and the Coriolis matrices B of
`myoquat.dynamics.sensitivity.recursions`. In the links that it carries, this causes the accelerations beta and the
angular parts w of m. In all others it causes the force F that the joint passes on. All are in the axes of a link. X is
the transform from its parent, and Lambda its acceleration by a force on it. P is the sum of the Coriolis matrices 2 B
of all that it carries where their joints yield:

    du = -W (X beta_p) - D^-1 S^T P w,    beta = X beta_p + S du,    w = R^T w_p    in links that joint j carries,
    beta = n - X Lambda_p F + S du,       du = -W (n - X Lambda_p F) - D^-1 (S^T P w + t)          in its own link,
    F = X^T (I_A (n + S du) + P w + Phi x* f),    du, t without the parent's acceleration,  what it passes on.

By the same rules, a unit of torque at joint i gives the force F_i = X^T W^T. It gives each link an acceleration V. A
force F at a link accelerates joint i by -V . F. So columns of forces, on their way to the ground, give all entries.
With the V of a joint they give those above the diagonal. As the covectors of the rows du, with beta and w of a joint,
they give those below.

Sources: J. Carpentier, N. Mansard, Analytical derivatives of rigid body dynamics algorithms, RSS 2018; S. Singh, R.
P. Russell, P. M. Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra, IEEE
Robot. Autom. Lett. 7, 2022. The response of a tree to forces is that of [RBDA] R. Featherstone, Rigid Body Dynamics
Algorithms, Springer 2008, chapter 7. Here M^-1 is not multiplied: each entry takes a product of 6 or 9 numbers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.sensitivity.column_walk import walked_derivatives, walks
from myoquat.dynamics.sensitivity.columns import transposed, work
from myoquat.dynamics.sensitivity.crossings import Carried, about_origin, at_point, beside
from myoquat.dynamics.sensitivity.sources import Source, sources_of
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD

__all__ = ["forward_derivatives"]


def forward_derivatives(system: ArticulatedSystem, q: Array, u: Array, tau: Array, f_ext: Array | None = None) -> Array:
    """(..., nu, 3 nu) of udot by a small motion, by u and by tau, the last M^-1."""
    sources = sources_of(system, q, u, tau, f_ext)
    if walks(system, q):
        return walked_derivatives(system, sources)
    entries = _Entries(system.nu)
    arrived: list[list[_Group]] = [[] for _ in sources]
    for i in reversed(range(len(sources))):
        source, groups = sources[i], arrived[i]
        entries.put(source.indices, source.indices, source.own)
        entries.put_apart(source, groups)
        passed = [_Group(source.indices, source.passed, source.origin)] if source.indices else []
        for group in groups:
            passed += entries.put_carried(source, group)
        if source.link.parent != WORLD and passed:
            indices = [place for group in passed for place in group.indices]
            arrived[source.link.parent].append(
                _Group(indices, beside([group.carried for group in passed]), source.origin)
            )
    return entries.dense(q)


class _Group(NamedTuple):
    """Columns that came to a link through one joint: their indices in u, and the joint's origin p."""

    indices: list[int]
    carried: Carried
    p: Any


class _Entries:
    """Blocks of the result, by lists of rows and columns."""

    def __init__(self, nu: int) -> None:
        self.nu = nu
        self.blocks: list[tuple[list[int], list[int], Any]] = []

    def put(self, rows: list[int], columns: list[int], blocks: Sequence[Any]) -> None:
        """The blocks by dq, du and tau, as many as there are."""
        for turn, block in enumerate(blocks):
            self.blocks.append((rows, [turn * self.nu + k for k in columns], block))

    def put_carried(self, source: Source, group: _Group) -> list[_Group]:
        """Of a joint and columns on its link; what of these goes on."""
        edge = source.crossing.edge(group.p)
        if source.indices:
            above, below = edge.entries(group.carried)
            self.put(source.indices, group.indices, above)
            self.put(group.indices, source.indices, below)
        return (
            [] if edge.passage is None else [_Group(group.indices, edge.passage.passed(group.carried), source.origin)]
        )

    def put_apart(self, source: Source, groups: Sequence[_Group]) -> None:
        """Of groups that one link carries, each on its own."""
        if len(groups) < 2:
            return
        moved = [source.mobility.times(about_origin(group.carried.tau, group.p)) for group in groups]
        for k, (one, own) in enumerate(zip(groups, moved, strict=True)):
            for other, theirs in zip(groups[:k], moved[:k], strict=True):
                here, there = at_point(own, other.p), at_point(theirs, one.p)
                both = work(here, other.carried.tau)
                self.put(one.indices, other.indices, [*(work(here, F) for F in other.carried[:2]), both])
                self.put(other.indices, one.indices, [*(work(there, F) for F in one.carried[:2]), transposed(both)])

    def dense(self, like: Array) -> Array:
        """(..., nu, 3 nu) the matrix; zero where there is no block."""
        batch = np.broadcast_shapes(like.shape[:-1], *(block.shape[:-2] for *_, block in self.blocks))
        D: Array = 0.0 * like[..., :1, None] + np.zeros((*batch, self.nu, 3 * self.nu))  # of floats or symbols
        for rows, columns, block in self.blocks:
            D[..., np.array(rows, dtype=int)[:, None], np.array(columns, dtype=int)] = block
        return D
