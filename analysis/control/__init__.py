"""Optimal control: motions and controls that minimise goals, by collocation on the group and IPOPT."""

from myoquat.analysis.control.conditions import BoundaryConstraint, PathCondition, PathConstraint, Periodic
from myoquat.analysis.control.explanation import Explanation, Finding
from myoquat.analysis.control.files.moco import MocoTrajectory, load_moco_trajectory, moco_trajectory
from myoquat.analysis.control.forward import Forward
from myoquat.analysis.control.goals.base import ChangeGoal, EndGoal, Goal, IntegralGoal
from myoquat.analysis.control.goals.effort import Effort
from myoquat.analysis.control.goals.ends import Duration
from myoquat.analysis.control.goals.forces import JointMoments, TrackContactForces, TrackMoments
from myoquat.analysis.control.goals.joints import InsideCone, JointLoad
from myoquat.analysis.control.goals.muscles import MetabolicPower, TendonForceRates
from myoquat.analysis.control.goals.own import OwnEndGoal, OwnGoal
from myoquat.analysis.control.goals.smoothness import Accelerations, ControlRates, Jerk
from myoquat.analysis.control.goals.tracking import (
    TrackCoordinates,
    TrackMarkers,
    TrackOrientations,
    TrackPose,
    TrackSpeeds,
)
from myoquat.analysis.control.phases.joins import Join
from myoquat.analysis.control.phases.phases import PhasedSolution, Phases
from myoquat.analysis.control.plants import Equations
from myoquat.analysis.control.points import Point
from myoquat.analysis.control.problem import Problem
from myoquat.analysis.control.refinement import MeasuredMesh, Refinement
from myoquat.analysis.control.solution import Solution
from myoquat.analysis.control.solvers.history import IterateHistory
from myoquat.analysis.control.solvers.ipopt import Ipopt
from myoquat.analysis.control.solvers.progress import Progress
from myoquat.analysis.control.solvers.statuses import Status
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
    "MetabolicPower",
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
    "Status",
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
]
