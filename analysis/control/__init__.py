"""Optimal control: motions and controls that minimise goals, by collocation on the group and IPOPT."""

from .conditions import BoundaryConstraint, PathCondition, PathConstraint, Periodic
from .goals.base import (
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
from .goals.forces import InsideCone, JointLoad, JointMoments, TrackContactForces, TrackMoments
from .goals.muscles import Effort, MetabolicEnergy, TendonForceRates
from .goals.tracking import TrackCoordinates, TrackMarkers, TrackOrientations, TrackPose, TrackSpeeds
from .ipopt import Ipopt, IterateHistory, Progress, SolutionStatus
from .moco import MocoTrajectory, load_moco_trajectory, moco_trajectory, reserve_torques
from .plants import Equations
from .points import Point
from .problem import Join, PhasedSolution, Phases, Problem
from .solution import Explanation, Finding, Forward, MeasuredMesh, Refinement, Solution
from .transcriptions import (
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
