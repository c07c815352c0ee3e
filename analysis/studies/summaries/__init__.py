"""Summaries of a run: one file each, all with the verbs of `myoquat.analysis.studies.summaries.base.Summary`."""

from myoquat.analysis.studies.summaries.base import Summary
from myoquat.analysis.studies.summaries.co_contraction import CoContraction
from myoquat.analysis.studies.summaries.joint_reaction import JointReaction
from myoquat.analysis.studies.summaries.peak_force import PeakForce
from myoquat.analysis.studies.summaries.peak_speed import PeakSpeed
from myoquat.analysis.studies.summaries.range_of_motion import RangeOfMotion
from myoquat.analysis.studies.summaries.work import Work

SUMMARIES: dict[str, Summary] = {
    summary.name: summary
    for summary in (PeakForce(), RangeOfMotion(), PeakSpeed(), Work(), CoContraction(), JointReaction())
}

__all__ = ["SUMMARIES", "Summary"]
