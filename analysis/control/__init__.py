"""Optimal control: motions and controls that minimise goals, by collocation on the group and IPOPT."""

from myoquat.analysis.control.conditions import BoundaryConstraint, PathCondition, PathConstraint, Periodic
from myoquat.analysis.control.explanation import Explanation, Finding
from myoquat.analysis.control.forward import Forward, MeasuredMesh, Refinement
from myoquat.analysis.control.goals.base import (
    Accelerations,
    ChangeGoal,
    ControlRates,
    Duration,
    EndGoal,
    Goal,
    IntegralGoal,
    Jerk,
    OwnEndGoal,
    OwnGoal,
)
from myoquat.analysis.control.goals.forces import InsideCone, JointLoad, JointMoments, TrackContactForces, TrackMoments
from myoquat.analysis.control.goals.muscles import Effort, MetabolicEnergy, TendonForceRates
from myoquat.analysis.control.goals.tracking import (
    TrackCoordinates,
    TrackMarkers,
    TrackOrientations,
    TrackPose,
    TrackSpeeds,
)
from myoquat.analysis.control.moco import MocoTrajectory, load_moco_trajectory, moco_trajectory, reserve_torques
from myoquat.analysis.control.phases import Join, PhasedSolution, Phases
from myoquat.analysis.control.plants import Equations
from myoquat.analysis.control.points import Point
from myoquat.analysis.control.problem import Problem
from myoquat.analysis.control.solution import Solution
from myoquat.analysis.control.solvers.ipopt import Ipopt, IterateHistory, Progress, SolutionStatus
from myoquat.analysis.control.transcriptions import (
    TRANSCRIPTIONS,
    Gauss,
    HermiteSimpson,
    Midpoint,
    MultipleShooting,
    Radau,
    Transcription,
    Trapezoid,
)

__all__ = [
    "TRANSCRIPTIONS",
    "Accelerations",
    "BoundaryConstraint",
    "ChangeGoal",
    "ControlRates",
    "Duration",
    "Effort",
    "EndGoal",
    "Equations",
    "Explanation",
    "Finding",
    "Forward",
    "Gauss",
    "Goal",
    "HermiteSimpson",
    "InsideCone",
    "IntegralGoal",
    "Ipopt",
    "IterateHistory",
    "Jerk",
    "Join",
    "JointLoad",
    "JointMoments",
    "MeasuredMesh",
    "MetabolicEnergy",
    "Midpoint",
    "MocoTrajectory",
    "MultipleShooting",
    "OwnEndGoal",
    "OwnGoal",
    "PathCondition",
    "PathConstraint",
    "Periodic",
    "PhasedSolution",
    "Phases",
    "Point",
    "Problem",
    "Progress",
    "Radau",
    "Refinement",
    "Solution",
    "SolutionStatus",
    "TendonForceRates",
    "TrackContactForces",
    "TrackCoordinates",
    "TrackMarkers",
    "TrackMoments",
    "TrackOrientations",
    "TrackPose",
    "TrackSpeeds",
    "Transcription",
    "Trapezoid",
    "load_moco_trajectory",
    "moco_trajectory",
    "reserve_torques",
]
