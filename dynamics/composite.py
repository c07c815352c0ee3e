"""The mass matrix by the composite-rigid-body algorithm.

Source: [RBDA] R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, table 6.2, with inertias as mass, first
moment and rotational inertia about the link's origin.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.inverse import rotor_inertia
from myoquat.joints.crossovers import MinRows
from myoquat.joints.motion import Motion, Pair, kinematics, world_poses
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD, Link, Tree
from myoquat.joints.vectors import congruent, dot, full, joined, matvec, mirrored, row_cross
from myoquat.kernels.control_flow.table_loop import Rows
from myoquat.kernels.symbolic.arrays import SymbolArray, as_array, may_be_nonzero
from myoquat.kernels.tracing.context import becomes_loops

__all__ = [
    "Inertia",
    "composites",
    "dense",
    "force_columns",
    "mass",
    "matrix",
    "to_parent_columns",
    "walks",
    "work",
]


Inertia = tuple[Any, Any, Any]  # mass, a number or (..., 1), first moment (..., 3), rotational inertia (..., 6)


def mass(system: ArticulatedSystem, q: Array) -> Array:
    """(..., nu, nu) M(q), rotor inertias on its diagonal."""
    motion = kinematics(system.tree, q)
    own: list[Inertia] = [(link.mass, link.moment, link.inertia) for link in system.tree.links]
    return matrix(system, motion, own, rotors=rotor_inertia(system))


def matrix(
    system: ArticulatedSystem, motion: Motion, own: list[Inertia], wrenches: list[Pair] | None = None,
    rotors: Array | None = None,
) -> Array:  # fmt: skip
    """(..., nu, nu) sum of J_i^T I_i J_i over the links, of inertias I_i about their origins, in their axes. Rotor
    inertias (nu,) are added on the diagonal.

    wrenches: W_j = (n, f) that each joint transmits, in its link's axes at its origin. They add W_j . (S_j x S_i) / 2
    to the entries of every joint i that carries another joint j, S their subspaces and x the cross product of motions.
    """
    tree = system.tree
    inertias = composites(tree, motion, own)
    if rotors is not None and not may_be_nonzero(rotors):
        rotors = None
    if wrenches is None and walks(system.nu, tree.links, motion):
        forces = [force_columns(inertias[i], motion.subspaces[i]) for i in range(len(tree.links))]
        own_blocks = [mirrored(work(S, F)) for S, F in zip(motion.subspaces, forces, strict=True)]
        if rotors is not None:
            own_blocks = [M + np.diag(rotors[link.u]) for M, link in zip(own_blocks, tree.links, strict=True)]
        return _walked_matrix(tree, motion, list(zip(forces, own_blocks, strict=True)), system.nu)
    blocks: dict[tuple[int, int], Any] = {}
    for i, link in enumerate(tree.links):
        if link.u.stop > link.u.start:
            _fill(blocks, tree, motion, i, inertias[i], None if wrenches is None else wrenches[i])
    result: Array = _matrix(system, blocks)
    return result if rotors is None else result + np.diag(rotors)


def composites(tree: Tree, motion: Motion, own: list[Inertia]) -> list[Inertia]:
    """Inertia of every link and all that it carries, as if welded together, from the inertias of the links."""
    total = list(own)
    for i in reversed(range(len(tree.links))):
        parent = tree.links[i].parent
        if parent != WORLD:
            m, h, I = total[parent]
            m_child, h_child, I_child = inertia_to_parent(motion.transforms[i], total[i])
            total[parent] = m + m_child, h + h_child, I + I_child
    return total


def inertia_to_parent(transform: Pair, inertia: Inertia) -> Inertia:
    """The child's inertia about the parent's origin, in the parent's axes.

    With r = R h and s = r + m p:

        I' = R I R^T + (p . s + p . r) 1 - p s^T - r p^T
    """
    R, p = transform
    m, h, I = inertia
    r = matvec(R, h)
    s = r + m * p
    trace = dot(p, s + r)[..., None]
    diagonal = trace - p * s - r * p
    mixed = -p[..., [0, 0, 1]] * s[..., [1, 2, 2]] - r[..., [0, 0, 1]] * p[..., [1, 2, 2]]
    return m, s, congruent(R, I) + joined([diagonal, mixed])


def _fill(
    blocks: dict[tuple[int, int], Any], tree: Tree, motion: Motion, i: int, inertia: Inertia, wrench: Pair | None
) -> None:
    """Add the blocks M_ji of link i and every link j that carries it, by their indices in u. M_ji is S_j^T of the force
    columns of joint i. Where there is a wrench W, S_i x* W / 2 is subtracted from these."""
    n, f = force_columns(inertia, motion.subspaces[i])
    j = i
    while True:
        S_omega, S_v = motion.subspaces[j]
        block = work((S_omega, S_v), (n, f))
        place = tree.links[j].u.start, tree.links[i].u.start
        own = mirrored(block) if i == j else block
        blocks[place] = blocks[place] + own if place in blocks else own
        if tree.links[j].parent == WORLD:
            return
        if i == j and wrench is not None:
            n = n + 0.5 * (row_cross(wrench[1], S_v) + row_cross(wrench[0], S_omega))
            f = f + 0.5 * row_cross(wrench[1], S_omega)
        n, f = to_parent_columns(motion.transforms[j], (n, f))
        j = tree.links[j].parent


def force_columns(inertia: Inertia, columns: Pair) -> Pair:
    """(n, f) in columns of a composite inertia and columns of motions, such as I S of a joint."""
    m, h, I = inertia
    S_omega, S_v = columns
    return full(I) @ S_omega + row_cross(h, S_v), as_array(m)[..., None] * S_v - row_cross(h, S_omega)


def to_parent_columns(transform: Pair, force: Pair) -> Pair:
    """Forces in columns on a link as ones on its parent."""
    R, p = transform
    f = R @ force[1]
    return R @ force[0] + row_cross(p, f), f


def work(motions: Pair, forces: Pair) -> Array:
    """(..., k, l) of columns of motions and of forces, such as S^T I S."""
    return np.swapaxes(motions[0], -1, -2) @ forces[0] + np.swapaxes(motions[1], -1, -2) @ forces[1]


def _matrix(system: ArticulatedSystem, blocks: dict[tuple[int, int], Any]) -> Array:
    """(..., nu, nu) symmetric matrix of its blocks, by their first indices (carrier, carried) in u."""
    return dense(system, {(j, i): np.swapaxes(block, -1, -2) for (i, j), block in blocks.items()} | blocks)


def dense(system: ArticulatedSystem, blocks: dict[tuple[int, int], Any]) -> Array:
    """(..., nu, nu) matrix of its blocks, by their first indices in u; zero elsewhere."""
    if not blocks:
        return np.zeros((system.nu, system.nu))
    batch = np.broadcast_shapes(*(block.shape[:-2] for block in blocks.values()))
    moving = sorted((s for s in system.u_slices if s.stop > s.start), key=lambda s: s.start)
    rows = []
    for a in moving:
        row = []
        for b in moving:
            block = blocks.get((a.start, b.start), np.zeros((a.stop - a.start, b.stop - b.start)))
            row.append(np.broadcast_to(block, (*batch, *block.shape[-2:]), subok=True))
        rows.append(np.concatenate(row, axis=-1))
    return np.concatenate(rows, axis=-2)


# ---- The mass matrix as a walk over cells: the code of each type of pair of joints stands once --------------------
#
# Subspaces S_i, origins p_i and forces F_j = I_j S_j of the joints are put into the axes of the world. Then every block
# is by itself M_ij = S_i^T (F_j moved from p_j to p_i), where link i carries link j.
# `matrix` writes out the pairs of a small system.


_SIMPLE = (0.0, 1.0, -1.0)  # products with these vanish from the code


def walks(nu: int, links: Sequence[Link], motion: Motion) -> bool:
    """Whether the blocks of a system with so many velocities are computed in loops."""
    if not MinRows.CARRIED.reached_by(nu) or any(link.follows for link in links):
        return False
    return any(becomes_loops(R) for R, _ in motion.transforms)


def _walked_matrix(tree: Tree, motion: Motion, forces: Sequence[tuple[Pair, Array]], nu: int) -> Array:
    """(nu, nu) of the forces (..., 3, k) in columns of every joint on its own link and its own block (k, k)."""
    walk, links = _Walk(nu), tree.links
    moving = sorted((i for i, link in enumerate(links) if link.u.stop > link.u.start), key=lambda i: links[i].u.start)
    poses = world_poses(tree, motion)
    for i in moving:
        (R, p), (pair, own) = poses[i], forces[i]
        S, F = ((R @ part[0], R @ part[1]) for part in (motion.subspaces[i], pair))
        walk.put_joint(i, links[i].u, (_Numbers.of(*S, p), _Numbers.of(*F, p)), own)
    for k in moving:
        carriers = {*tree.path(k)} - {k}
        for i in moving:
            if i in carriers:
                walk.visit(i, k)
    return walk.result()


class _Numbers(NamedTuple):
    """Of a joint: two parts (3, k) of its subspace or its forces, and its origin; key: which numbers are constants."""

    key: tuple[Any, ...]
    row: list[Any]

    @classmethod
    def of(cls, first: Array, second: Array, p: Array) -> "_Numbers":
        """In the axes of the world."""
        row = [x for part in (first, second, p) for x in np.asarray(part).flat]
        key = tuple(x if isinstance(x, float) and x in _SIMPLE else None for x in row)
        return cls(key, [x for x, known in zip(row, key, strict=True) if known is None])

    @property
    def columns(self) -> int:
        """k."""
        return (len(self.key) - 3) // 6


class _PairBlock:
    """(numbers of the joint that carries the other, of that one) -> the block in the rows of the first and the columns
    of the other, and the same mirrored."""

    __name__ = "pair_block"

    def __init__(self, carrier: Sequence[Any], carried: Sequence[Any]) -> None:
        self.keys = carrier, carried

    def __call__(self, carrier: Array, carried: Array) -> Array:
        S_omega, S_v, p = self._parts(self.keys[0], carrier)
        n, f, p_carried = self._parts(self.keys[1], carried)
        n = n + row_cross(p_carried - p, f)
        block = np.swapaxes(S_omega, -1, -2) @ n + np.swapaxes(S_v, -1, -2) @ f
        return np.concatenate([block.reshape(-1), block.T.reshape(-1)])

    @staticmethod
    def _parts(key: Sequence[Any], numbers: Array) -> tuple[Array, Array, Array]:
        row = np.array([0.0 if x is None else x for x in key], dtype=object)
        row[[k for k, x in enumerate(key) if x is None]] = np.asarray(numbers)
        size = (len(key) - 3) // 2
        first, second, p = row[:size].reshape(3, -1), row[size:-3].reshape(3, -1), row[-3:]
        return first.view(SymbolArray), second.view(SymbolArray), p.view(SymbolArray)


class _Walk:
    """Cells: the matrix by rows, then the numbers of the joints."""

    def __init__(self, nu: int) -> None:
        self.nu = nu
        self.cells: list[Any] = [0.0] * (nu * nu)
        self.joints: dict[int, tuple[slice, tuple[tuple[_Numbers, int], tuple[_Numbers, int]]]] = {}
        self.rows = Rows()

    def put_joint(self, i: int, u: slice, numbers: tuple[_Numbers, _Numbers], own: Array) -> None:
        """A joint's subspace and forces, each with its place, and the entries of the joint itself."""
        first = len(self.cells)
        self.joints[i] = u, ((numbers[0], first), (numbers[1], first + len(numbers[0].row)))
        self.cells += [*numbers[0].row, *numbers[1].row]
        for k, row in enumerate(np.asarray(own), start=u.start):
            self.cells[k * self.nu + u.start : k * self.nu + u.stop] = list(row)

    def visit(self, i: int, k: int) -> None:
        """The blocks of joint i and joint k that it carries."""
        (rows, ((carrier, S_at), _)), (columns, (_, (carried, F_at))) = self.joints[i], self.joints[k]
        key, nu = (carrier.key, carried.key), self.nu
        if key not in self.rows.types:
            takes = [np.arange(own.count(None)) for own in key]
            blocks = [(nu * np.arange(own.columns)[:, None] + np.arange(other.columns)).ravel()
                      for own, other in ((carrier, carried), (carried, carrier))]  # fmt: skip
            self.rows.types[key] = _PairBlock(*key), takes, blocks
        firsts = rows.start * nu + columns.start, columns.start * nu + rows.start
        self.rows.add(key, [(S_at, F_at, *firsts)])

    def result(self) -> Array:
        """(nu, nu) after the walk."""
        return self.rows.looped(self.cells, self.nu * self.nu).reshape(self.nu, self.nu)
