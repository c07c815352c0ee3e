"""Questions about a model's muscles: moment arms, whether their powers balance, and how little they can do."""

from analysis.muscles.moment_arms import moment_arms
from analysis.muscles.power import PowerCheck, power_check
from analysis.muscles.static_optimization import StaticOptimization, static_optimization, torques_of_motion

__all__ = [
    "PowerCheck",
    "StaticOptimization",
    "moment_arms",
    "power_check",
    "static_optimization",
    "torques_of_motion",
]
