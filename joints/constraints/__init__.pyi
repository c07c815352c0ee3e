from .base import (
    Constraint as Constraint,
    Holonomic as Holonomic,
    NonHolonomic as NonHolonomic,
    PositionFormula as PositionFormula,
    VelocityFormula as VelocityFormula,
)
from .coordinates import (
    CoordinateCoupler as CoordinateCoupler,
    Locked as Locked,
    PolynomialCoupler as PolynomialCoupler,
    Prescribed as Prescribed,
)
from .loops import (
    Distance as Distance,
    OnSurface as OnSurface,
    ParallelAxes as ParallelAxes,
    PointLoop as PointLoop,
    PointOnLine as PointOnLine,
    Rolling as Rolling,
    Weld as Weld,
)
