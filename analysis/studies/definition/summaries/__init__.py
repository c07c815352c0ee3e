"""Summaries of a run: one file each, all with the verbs of `Summary`."""

from myoquat.analysis.studies.definition.summaries.base import Moment, Summary
from myoquat.analysis.studies.definition.summaries.co_contraction import CoContraction
from myoquat.analysis.studies.definition.summaries.joint_reaction import JointReaction
from myoquat.analysis.studies.definition.summaries.peak_force import PeakForce
from myoquat.analysis.studies.definition.summaries.peak_speed import PeakSpeed
from myoquat.analysis.studies.definition.summaries.range_of_motion import RangeOfMotion
from myoquat.analysis.studies.definition.summaries.work import Work

SUMMARIES: dict[str, Summary] = {
    summary.name: summary
    for summary in (PeakForce(), RangeOfMotion(), PeakSpeed(), Work(), CoContraction(), JointReaction())
}

ALONG = ("muscle", "velocity", "coordinate", "body")


def register(summary: Summary) -> Summary:
    """Register a summary of one's own for the studies of this process, by its name; returns it.

    Results store it by that name: a process that resumes them must have registered it before, one that opens them need
    not. ValueError for a name that is taken by another class or is no identifier, or rows along something unknown.
    """
    if not isinstance(summary, Summary):
        raise TypeError(f"register takes a Summary, such as MySummary(), not {summary!r}")
    known = SUMMARIES.get(summary.name)
    if known is not None and type(known).__qualname__ != type(summary).__qualname__:
        raise ValueError(f"the name {summary.name!r} is taken by {type(known).__qualname__}")
    if not summary.name.isidentifier() or summary.along not in ALONG:
        raise ValueError(f"a summary needs an identifier as its name and rows along one of {', '.join(ALONG)}")
    SUMMARIES[summary.name] = summary
    return summary


__all__ = ["SUMMARIES", "Moment", "Summary", "register"]
