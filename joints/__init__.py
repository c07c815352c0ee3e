"""Rotations and their maps, joint types, and the articulated system that carries the muscles.

Conventions. Q = (Q0, Q1, Q2, Q3) is scalar first with the Hamilton product. R takes components in a child frame to its
parent frame. The child's origin in the parent frame is p: x_parent = R x_child + p

Where two frames meet, the name says which one is meant: `R_parent`, `p_frame` (the joint frame, fixed to the parent),
`S_omega`. All of a joint's motion is in child-frame components unless `velocity_frame` says "parent". The angular
velocity omega is that of the child relative to the parent. Vectors of `frame_*` functions are in world axes, or in the
frame's own with `axes="local"`. SI units, radians. Arrays have leading batch axes, and symbols of SymPy or CasADi are
accepted wherever floats are.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
