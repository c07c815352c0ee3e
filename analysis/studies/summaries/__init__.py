"""Summaries of a run: one file each, all with the verbs of `analysis.studies.summaries.base.Summary`."""

from analysis.studies.summaries.base import Summary
from analysis.studies.summaries.co_contraction import CoContraction
from analysis.studies.summaries.joint_reaction import JointReaction
from analysis.studies.summaries.peak_force import PeakForce
from analysis.studies.summaries.peak_speed import PeakSpeed
from analysis.studies.summaries.range_of_motion import RangeOfMotion
from analysis.studies.summaries.work import Work

SUMMARIES: dict[str, Summary] = {
    summary.name: summary
    for summary in (PeakForce(), RangeOfMotion(), PeakSpeed(), Work(), CoContraction(), JointReaction())
}

__all__ = ["SUMMARIES", "Summary"]
