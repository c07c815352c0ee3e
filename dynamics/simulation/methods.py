"""The methods that simulations know, and the choice of one."""

from numbers import Real

from myoquat.core.records import dataclass
from myoquat.dynamics.integrators import FIXED_STEP, FixedStep

__all__ = ["ADAPTIVE", "BAUMGARTE_STEPS", "BY_ACCELERATION", "BY_SCIPY", "MethodChoice", "method_named"]

BY_SCIPY = {"dop853": "DOP853", "rk45": "RK45"}  # the classes of scipy.integrate
ADAPTIVE = (*BY_SCIPY, "radau")
BY_ACCELERATION = ("rk4", "lie_rk4", "semi_implicit_euler")  # methods that use the model only through its acceleration
BAUMGARTE_STEPS = 10.0  # Baumgarte's time constant in steps, where none is given
DEFAULT_RTOL = 1e-6  # relative tolerance of an adaptive method, where none is given


@dataclass(frozen=True)
class MethodChoice:
    """A method, how it keeps states on |Q| = 1 and on constraints, and, of an adaptive one, its relative tolerance."""

    name: str
    stabilization: str
    rtol: float | None = None

    @classmethod
    def of(cls, method: str, stabilization: str, rtol: float | None) -> "MethodChoice":
        """The choice that the arguments of `simulate` make: rtol asks for an adaptive method, dop853 if `method` is
        left at "rk4". Raises ValueError for what does not go together."""
        if method not in ADAPTIVE and rtol is None:
            return cls(method, stabilization)
        name = "dop853" if method == "rk4" else method
        if stabilization == "norm":
            raise ValueError(
                "stabilization 'norm' is for methods of fixed step; adaptive ones take projection, baumgarte or none"
            )
        if name not in ADAPTIVE:
            raise ValueError(f"rtol needs an adaptive method, one of {', '.join(ADAPTIVE)}, not {name!r}")
        rtol = DEFAULT_RTOL if rtol is None else rtol
        if not (isinstance(rtol, Real) and 1e-14 < rtol < 1):
            raise ValueError(f"rtol must lie between 1e-14 and 1, not {rtol!r}")
        return cls(name, stabilization, rtol)

    @property
    def adaptive(self) -> bool:
        """True for a method that chooses its steps."""
        return self.rtol is not None

    @property
    def projects(self) -> bool:
        """True if every step ends with a projection onto the constraints."""
        return self.stabilization == "projection"

    @property
    def baumgarte(self) -> bool:
        """True if the equations of motion pull the state back onto the constraints."""
        return self.stabilization == "baumgarte"

    def check_stabilization(self) -> None:
        """ValueError for a method or a stabilization that does not exist."""
        known = FIXED_STEP["rk4"].stabilizations if self.adaptive else method_named(self.name).stabilizations
        if self.stabilization not in known:
            raise ValueError(
                f"stabilization {self.stabilization!r} is unknown for method {self.name!r}; there are: "
                f"{', '.join(known)}"
            )


def method_named(name: str) -> FixedStep:
    """The fixed-step method of that name; ValueError, listing all, if there is none."""
    if name not in FIXED_STEP:
        raise ValueError(f"method {name!r} is unknown; there are: {', '.join((*FIXED_STEP, *ADAPTIVE))}")
    return FIXED_STEP[name]
