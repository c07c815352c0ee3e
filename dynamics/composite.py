"""The mass matrix by the composite-rigid-body algorithm.

Source: [RBDA] R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008, table 6.2, with inertias as mass, first
moment and rotational inertia about the link's origin.
"""

from typing import Any

import numpy as np

from myoquat.core.typing import Array
from myoquat.dynamics.composite_walk import walked_matrix, walks
from myoquat.dynamics.passive import rotor_inertia
from myoquat.joints.motion import Motion, Pair, kinematics
from myoquat.joints.multibody.system import ArticulatedSystem
from myoquat.joints.multibody.tree import WORLD, Tree
from myoquat.joints.vectors import congruent, dot, full, matvec, mirrored, row_cross
from myoquat.kernels.symbolic.arrays import as_array, may_be_nonzero

__all__ = ["Inertia", "composites", "dense", "mass", "matrix"]

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
        forces = [_forces(motion.subspaces[i], inertias[i]) for i in range(len(tree.links))]
        own_blocks = [mirrored(_block(S, F)) for S, F in zip(motion.subspaces, forces, strict=True)]
        if rotors is not None:
            own_blocks = [M + np.diag(rotors[link.u]) for M, link in zip(own_blocks, tree.links, strict=True)]
        return walked_matrix(tree.links, motion, list(zip(forces, own_blocks, strict=True)), system.nu)
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
    return m, s, congruent(R, I) + np.concatenate(np.broadcast_arrays(diagonal, mixed, subok=True), axis=-1)


def _fill(
    blocks: dict[tuple[int, int], Any], tree: Tree, motion: Motion, i: int, inertia: Inertia, wrench: Pair | None
) -> None:
    """Add the blocks M_ji of link i and every link j that carries it, by their indices in u. M_ji is S_j^T of the force
    columns of joint i. Where there is a wrench W, S_i x* W / 2 is subtracted from these."""
    n, f = _forces(motion.subspaces[i], inertia)
    j = i
    while True:
        S_omega, S_v = motion.subspaces[j]
        block = _block((S_omega, S_v), (n, f))
        place = tree.links[j].u.start, tree.links[i].u.start
        own = mirrored(block) if i == j else block
        blocks[place] = blocks[place] + own if place in blocks else own
        if tree.links[j].parent == WORLD:
            return
        if i == j and wrench is not None:
            n = n + 0.5 * (row_cross(wrench[1], S_v) + row_cross(wrench[0], S_omega))
            f = f + 0.5 * row_cross(wrench[1], S_omega)
        n, f = _carried_to_parent(motion.transforms[j], (n, f))
        j = tree.links[j].parent


def _forces(subspace: Pair, inertia: Inertia) -> Pair:
    """The force columns I S of a joint."""
    m, h, I = inertia
    S_omega, S_v = subspace
    return full(I) @ S_omega + row_cross(h, S_v), as_array(m)[..., None] * S_v - row_cross(h, S_omega)


def _carried_to_parent(transform: Pair, force: Pair) -> Pair:
    """Forces in columns on a link as ones on its parent."""
    R, p = transform
    f = R @ force[1]
    return R @ force[0] + row_cross(p, f), f


def _block(subspace: Pair, force: Pair) -> Array:
    """S^T of force columns."""
    result: Array = np.swapaxes(subspace[0], -1, -2) @ force[0] + np.swapaxes(subspace[1], -1, -2) @ force[1]
    return result


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
    result: Array = np.concatenate(rows, axis=-2)
    return result
