"""The mass matrix by the composite-rigid-body algorithm.

Source: [RBDA] R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, table 6.2, with inertias as mass, first
moment and rotational inertia about the link's origin.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from myoquat.core import Array, Pair
from myoquat.joints import ArticulatedSystem
from myoquat.joints.motion import Motion, carried_sums, kinematics, world_poses
from myoquat.joints.multibody.tree import WORLD, Tree
from myoquat.joints.vectors import congruent, dot, full, joined, joined_matrices, matvec, mirrored, row_cross, transpose
from myoquat.kernels.control_flow.table_loop import Rows
from myoquat.kernels.symbolic.arrays import as_array, may_be_nonzero
from myoquat.kernels.tracing.context import becomes_loops

from .inverse import rotor_inertia

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
    tree, links = system.tree, system.tree.links
    inertias, blocks = composites(tree, motion, own), dict[tuple[int, int], Any]()
    pairs = moving_pairs(tree)
    products = sum(6 * motion.subspaces[j][0].shape[-1] * motion.subspaces[i][0].shape[-1] for j, i in pairs)
    plain = wrenches is None and not any(link.follows for link in links)
    if plain and _pays_in_loops(products, [R for R, _ in motion.transforms]):
        poses, forces = world_poses(tree, motion, in_branch=True), list(map(force_columns, inertias, motion.subspaces))
        found = pair_products(pairs, list(map(to_branch_motions, poses, motion.subspaces)),
                              list(map(to_branch_forces, poses, forces)))  # fmt: skip
        blocks = {(links[j].u.start, links[i].u.start): block for (j, i), block in found.items()}
        for link, S, F in zip(links, motion.subspaces, forces, strict=True):
            if link.u.stop > link.u.start:
                blocks[link.u.start, link.u.start] = mirrored(work(S, F))
    else:
        for i, link in enumerate(links):
            if link.u.stop > link.u.start:
                _fill(blocks, tree, motion, i, inertias[i], None if wrenches is None else wrenches[i])
    result = dense(system, {(j, i): transpose(block) for (i, j), block in blocks.items()} | blocks)
    return result if rotors is None or not may_be_nonzero(rotors) else result + np.diag(rotors)


def composites(tree: Tree, motion: Motion, own: list[Inertia]) -> list[Inertia]:
    """Inertia of every link and all that it carries, as if welded together, from the inertias of the links."""
    return carried_sums(tree, motion, own, inertia_to_parent)


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
    return transpose(motions[0]) @ forces[0] + transpose(motions[1]) @ forces[1]


def dense(system: ArticulatedSystem, blocks: dict[tuple[int, int], Any]) -> Array:
    """(..., nu, nu) matrix of its blocks, by their first indices in u; zero elsewhere."""
    if not blocks:
        return np.zeros((system.nu, system.nu))
    moving = sorted((s for s in system.u_slices if s.stop > s.start), key=lambda s: s.start)
    rows = [
        [blocks.get((a.start, b.start), np.zeros((a.stop - a.start, b.stop - b.start))) for b in moving] for a in moving
    ]
    return joined_matrices(list(map(joined_matrices, rows)), -2)


# ---- Blocks of joints that carry each other, in the axes of the first link of their branch ------------------------
#
# There each block is a product of columns by itself, such as S_j^T (I_i S_i) of the mass matrix. Many of them are
# computed in a loop. `matrix` writes out the pairs of a small system in the axes of their links.


MIN_LOOPED_PRODUCTS = 12_000  # multiplications from which blocks are rows of a table: longer code leaves the caches


def moving_pairs(tree: Tree) -> list[tuple[int, int]]:
    """(j, i) of every link i and link j that carries it, where the joints of both move."""
    moving = {i for i, link in enumerate(tree.links) if link.u.stop > link.u.start}
    return [(j, i) for i in sorted(moving) for j in tree.path(i)[:-1] if j in moving]


def to_branch_motions(pose: Pair, columns: Pair) -> Array:
    """(..., 6, k) columns (omega, v) of motions of a link in the axes and about the origin of its branch."""
    R, p = pose
    omega = R @ columns[0]
    return joined_matrices([omega, R @ columns[1] + row_cross(p, omega)], -2)


def to_branch_forces(pose: Pair, columns: Pair) -> Array:
    """(..., 6, k) the same of columns (n, f) of forces."""
    return joined_matrices(to_parent_columns(pose, columns), -2)


def pair_products(
    pairs: Sequence[tuple[int, int]], left: Sequence[Array], right: Sequence[Array]
) -> dict[tuple[int, int], Array]:
    """left[j]^T right[i] (..., a, b) by the pair (j, i), of matrices (..., r, a) and (..., r, b)."""
    shapes = {(j, i): (left[j].shape[-1], right[i].shape[-1]) for j, i in pairs}
    if not _pays_in_loops(sum(left[j].shape[-2] * a * b for (j, _), (a, b) in shapes.items()), left):
        return {(j, i): transpose(left[j]) @ right[i] for j, i in pairs}
    size = sum(a * b for a, b in shapes.values())
    rows, cells, blocks, found = Rows(), [0.0] * size, list[Block](), dict[tuple[int, int], Block]()
    for x in (*left, *right):
        blocks.append((len(cells), x.shape[-1], *x.shape[-2:]))
        cells += np.asarray(x).ravel().tolist()
    start = 0
    for (j, i), (a, b) in shapes.items():
        found[j, i] = start, b, a, b
        add_blocks(rows, _product, [blocks[j], blocks[len(left) + i]], found[j, i])
        start += a * b
    values = rows.looped(cells, size)
    return {pair: values[first : first + a * b].reshape(a, b) for pair, (first, _, a, b) in found.items()}


Block = tuple[int, int, int, int]  # of cells: the first one, the step from row to row, the numbers of rows and columns


def add_blocks(rows: Rows, formula: Callable[..., Array], takes: Sequence[Block], gives: Block) -> None:
    """A row of a loop next: the formula of matrices `takes` gives a matrix."""
    key, blocks = (formula, tuple(block[2:] for block in takes)), (*takes, gives)
    if key not in rows.types:
        *own, last = ((step * np.arange(h)[:, None] + np.arange(w)).ravel() for _, step, h, w in blocks)
        rows.types[key] = partial(_of_blocks, *key), own, [last]
    rows.add(key, tuple(block[0] for block in blocks))


def _of_blocks(formula: Callable[..., Array], shapes: Sequence[tuple[int, int]], *entries: Array) -> Array:
    """A formula of matrices on their entries."""
    return formula(*(x.reshape(shape) for x, shape in zip(entries, shapes, strict=True))).reshape(-1)


def _product(A: Array, B: Array) -> Array:
    return A.T @ B


def _pays_in_loops(products: int, arrays: Sequence[Array]) -> bool:
    """Whether so many multiplications are done in a loop: in a kernel, where arrays are symbols of its tracing."""
    return products >= MIN_LOOPED_PRODUCTS and any(map(becomes_loops, arrays))
