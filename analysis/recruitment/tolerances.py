"""Tolerances of muscle forces: when programs, frames and trials count as solved."""

PROGRAM_GAP = 1e-11  # of the objective: a program is solved if objective and bound are no farther apart
PROGRAM_RESIDUAL = 1e-11  # of equations and cones, relative to the row (of length 1) and to b
NEWTON_GAP = 1e-9  # of the effort: a solution by Newton's method exceeds the bound of its tangents by no more
GLOBAL_GAP = (
    1e-7  # of the effort: searches over parameters, envelopes and trials end if it exceeds its bound by no more
)
TORQUE_RESIDUAL = 1e-9  # of the greatest torque: residual of the equations for nonlinear laws
SMALL_OBJECTIVE = 1e-4  # of the greatest weight: gaps of smaller objectives are relative to this
