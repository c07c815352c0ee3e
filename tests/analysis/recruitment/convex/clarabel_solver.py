"""Programs of weighted squares as one program of Clarabel's."""

import clarabel
import numpy as np
from scipy import sparse

from myoquat.analysis.recruitment.convex import CouplingRows


def in_clarabel(p, rows=None, centre=0.0):
    """(status, objective, x (k, n)) of all programs together, whose squares are those of x - centre."""
    rows = CouplingRows.none() if rows is None else rows
    (k, n), l = p.A.shape[::2], len(rows.step)
    lower, upper, weights, centre = (np.broadcast_to(x, (k, n)).ravel() for x in (p.lower, p.upper, p.weights, centre))
    at = np.tile(np.arange(l), 2), np.concatenate([rows.step * n + rows.variable, (rows.step + 1) * n + rows.variable])
    C = sparse.csr_matrix((np.concatenate([rows.before, rows.after]), at), shape=(l, k * n))
    hard, eye = np.isinf(rows.weight), sparse.eye(k * n).tocsr()
    soft, low, high = C[~hard], np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    Q = sparse.diags(2 * weights) + 2 * soft.T @ sparse.diags(rows.weight[~hard]) @ soft
    every = sparse.vstack([sparse.block_diag(list(p.A)), -eye[low], eye[high], -C[hard],
                           -sparse.block_diag([g.reshape(-1, n) for g in p.G])]).tocsc()  # fmt: skip
    right = np.concatenate([p.b.ravel(), -lower[low], upper[high], -rows.least[hard], p.h.ravel()])
    cones = [clarabel.ZeroConeT(p.b.size), clarabel.NonnegativeConeT(len(low) + len(high) + int(hard.sum()))]
    cones += [clarabel.SecondOrderConeT(3)] * (p.h.size // 3)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-12
    found = clarabel.DefaultSolver(
        sparse.triu(Q).tocsc(), -2 * weights * centre, every, right, cones, settings
    ).solve()  # fmt: skip
    return str(found.status), found.obj_val + np.sum(weights * centre**2), np.reshape(found.x, (k, n))
