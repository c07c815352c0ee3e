"""The motion of the rapid muscle redundancy solver's scripts: their filter, central differences, and speeds as set.

Angles pass a Butterworth filter of fourth order forwards and backwards; rates are central differences of angles [I.
Belli and others, PLoS ONE 18, 2023; rmr-solver, RMR_analysis.m and loadFilterCropArray.m]. The scripts set these rates
as OpenSim's speeds. Those of a ScapulothoracicJoint are no rates of its angles, but the components of the angular
velocity along the axes of the ellipsoid. The solver's shoulder blade therefore moves at other speeds than the recorded
one (`as_set`).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from myoquat.core import Array, scipy
from myoquat.data import Motion
from myoquat.joints.vectors import matvec, vecmat
from myoquat.muscle.model import Model

ORDER = 4  # of each of the two passes
PADDING = 3 * ORDER  # frames at each end, as MATLAB's filtfilt adds them


def filtered(motion: Motion, cutoff: float) -> Array:
    """(t, nq) coordinates after the low-pass filter of the scripts with a cutoff [Hz]."""
    step = float(np.diff(motion.time).mean())
    b, a = scipy.signal.butter(ORDER, cutoff * 2 * step)
    return scipy.signal.filtfilt(b, a, motion.q, axis=0, padlen=PADDING)


def central_rates(motion: Motion) -> Motion:
    """The motion with u and udot by central differences of its coordinates, which are angles and lengths."""
    step = float(np.diff(motion.time).mean())
    u = np.gradient(motion.q, step, axis=0)
    return replace(motion, u=u, udot=np.gradient(u, step, axis=0))


def as_set(model: Model, motion: Motion) -> Motion:
    """The motion that the solver's model had.

    For joints on an ellipsoid, the solver reads u and udot as components of other vectors. They are the angular
    velocity w and its rate wdot, along the ellipsoid's axes. R turns from the child to the ellipsoid, and omega = B
    phidot in the child. Therefore, with c = Bdot phidot:

        phidot = B^-1 R^T w
        phiddot = B^-1 (R^T wdot - c)
    """
    assert motion.u is not None
    assert motion.udot is not None
    u, udot = motion.u.copy(), motion.udot.copy()
    layout = model.system
    for body, at, own in zip(model.system.bodies, layout.q_slices, layout.u_slices, strict=True):
        if body.joint.kind != "ellipsoid":
            continue
        joint: Any = body.joint
        phi, rotation = motion.q[:, at], joint.euler_joint
        R, _ = rotation.transform(phi)
        inverse = rotation.subspace_inverse(phi)
        u[:, own] = matvec(inverse, vecmat(motion.u[:, own], R))
        drift, _ = rotation.drift(phi, u[:, own])
        udot[:, own] = matvec(inverse, vecmat(motion.udot[:, own], R) - drift)
    return replace(motion, u=u, udot=udot)
