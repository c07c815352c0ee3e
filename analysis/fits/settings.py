"""Settings of a fit of paths."""

from myoquat.core.records import Record, dataclass
from myoquat.joints.ranges import Positive, check_ranges

__all__ = ["FitSettings"]


@dataclass(frozen=True)
class FitSettings(Record):
    """How paths are fitted. ValueError for numbers that are not positive.

    length_error    [m] wanted root mean square of the error of lengths on held-out poses; terms are added until it and
                    `arm_error` are reached
    arm_error       [m] the same of moment arms: of J along motions of unit size that the constraints allow
    terms           the most terms of one path
    candidates      the most terms from which they are chosen: it decides the degree
    degree          the highest degree, None for the one that `candidates` allow
    weight          positive weight of the sum of c^2 mean(phi^2) beside the mean square error, in the wanted errors
    near            [m] how near a jump of the length poses are left out, as for `path_flags`
    polynomials     polynomials alone, which `.osim` files of scalar coordinates can hold. Without it, where polynomials
                    miss the wanted errors, the straight path and terms of the surfaces (`SurfaceTerm`) are added
    held_out        share of the poses that choose the terms and are not fitted

    >>> from myoquat.analysis.fits import FitSettings
    >>> FitSettings(length_error=1e-3).arm_error
    0.0003
    """

    length_error: Positive = 6e-5
    arm_error: Positive = 3e-4
    terms: int = 400
    candidates: int = 500
    degree: int | None = None
    weight: Positive = 1e-9
    near: Positive = 1e-3
    held_out: Positive = 0.3
    polynomials: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ranges(self, "FitSettings")
        if self.terms < 1 or self.candidates < 1 or not self.held_out < 1:
            raise ValueError("FitSettings: terms and candidates are at least 1, and held_out is less than 1")
