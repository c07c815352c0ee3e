"""Questions about a model's muscles: moment arms, and whether their powers balance."""

from analysis.muscles.moment_arms import moment_arms
from analysis.muscles.power import PowerCheck, power_check

__all__ = ["PowerCheck", "moment_arms", "power_check"]
