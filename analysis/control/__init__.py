"""Optimal control: motions and controls that minimise goals, by collocation on the group and IPOPT."""

from myoquat.analysis.control.conditions import BoundaryConstraint, PathConstraint, Periodic
from myoquat.analysis.control.explanation import Explanation, Finding
from myoquat.analysis.control.forward import Forward
from myoquat.analysis.control.goals.base import EndGoal, Goal, IntegralGoal
from myoquat.analysis.control.goals.effort import Effort
from myoquat.analysis.control.goals.ends import Duration
from myoquat.analysis.control.goals.muscles import TendonForceRates
from myoquat.analysis.control.goals.own import OwnEndGoal, OwnGoal
from myoquat.analysis.control.goals.tracking import TrackCoordinates, TrackMarkers, TrackPose, TrackSpeeds
from myoquat.analysis.control.ipopt import Ipopt
from myoquat.analysis.control.moco import MocoTrajectory, load_moco_trajectory, moco_trajectory
from myoquat.analysis.control.plants import Equations
from myoquat.analysis.control.points import Point
from myoquat.analysis.control.problem import Problem
from myoquat.analysis.control.solution import Solution
from myoquat.analysis.control.statuses import Status
from myoquat.analysis.control.transcriptions import (
    TRANSCRIPTIONS,
    Gauss,
    HermiteSimpson,
    Midpoint,
    Radau,
    Transcription,
    Trapezoid,
)

__all__ = [
    "TRANSCRIPTIONS",
    "BoundaryConstraint",
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
    "IntegralGoal",
    "Ipopt",
    "Midpoint",
    "MocoTrajectory",
    "OwnEndGoal",
    "OwnGoal",
    "PathConstraint",
    "Periodic",
    "Point",
    "Problem",
    "Radau",
    "Solution",
    "Status",
    "TendonForceRates",
    "TrackCoordinates",
    "TrackMarkers",
    "TrackPose",
    "TrackSpeeds",
    "Transcription",
    "Trapezoid",
    "load_moco_trajectory",
    "moco_trajectory",
]
