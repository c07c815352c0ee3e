"""What muscles cost: metabolic power from the state of their fibers, one file per model."""

from myoquat.muscle.metabolics.base import Fiber, MetabolicCost
from myoquat.muscle.metabolics.bhargava import Bhargava2004
from myoquat.muscle.metabolics.umberger import Umberger2010

__all__ = ["Bhargava2004", "Fiber", "MetabolicCost", "Umberger2010"]
