"""How a solution ended, in words."""

from enum import Enum

__all__ = ["Status", "status_of"]

UNBOUNDED = -1e10  # an objective below it falls without bound


class Status(Enum):
    """How the solver ended; `sentence` says it in words, `success` whether the result is a solution.

    >>> from myoquat.analysis.control import Status
    >>> Status.INFEASIBLE.success, Status.INFEASIBLE.sentence
    (False, 'no motion near this one satisfies all constraints: the constraints named below contradict each other')
    """

    sentence: str

    def __new__(cls, value: str, sentence: str) -> "Status":
        member = object.__new__(cls)
        member._value_, member.sentence = value, sentence
        return member

    SOLVED = "solved", "converged to the tolerance"
    ACCEPTABLE = "acceptable", "converged to the looser, acceptable tolerance of the solver"
    INFEASIBLE = (
        "infeasible",
        "no motion near this one satisfies all constraints: the constraints named below contradict each other",
    )
    ITERATIONS = "iterations", "stopped at the maximum number of iterations before it converged"
    TIME = "time", "stopped at the time limit before it converged"
    STUCK = "stuck", "the search direction became too small to go on"
    RESTORATION = "restoration", "could not get closer to the constraints from here (restoration failed)"
    DIVERGING = "diverging", "the unknowns grow without bound: a bound or a term of the objective is missing"
    UNBOUNDED = "unbounded", "the objective falls without bound: a bound or a term of the objective is missing"
    OVERDETERMINED = (
        "overdetermined",
        "there are more equations than unknowns: conditions at the ends repeat each other",
    )
    NOT_FINITE = "not finite", "a formula or a derivative gave a number that is not finite"
    INTERRUPTED = "interrupted", "interrupted; this is the last iterate"
    FAILED = "failed", "the solver failed"

    @property
    def success(self) -> bool:
        """Whether the result is a solution."""
        return self in (Status.SOLVED, Status.ACCEPTABLE)


IPOPT = {
    "Solve_Succeeded": Status.SOLVED,
    "Feasible_Point_Found": Status.SOLVED,
    "Solved_To_Acceptable_Level": Status.ACCEPTABLE,
    "Infeasible_Problem_Detected": Status.INFEASIBLE,
    "Maximum_Iterations_Exceeded": Status.ITERATIONS,
    "Maximum_CpuTime_Exceeded": Status.TIME,
    "Maximum_WallTime_Exceeded": Status.TIME,
    "Search_Direction_Becomes_Too_Small": Status.STUCK,
    "Error_In_Step_Computation": Status.STUCK,
    "Restoration_Failed": Status.RESTORATION,
    "Diverging_Iterates": Status.DIVERGING,
    "Not_Enough_Degrees_Of_Freedom": Status.OVERDETERMINED,
    "Invalid_Number_Detected": Status.NOT_FINITE,
    "User_Requested_Stop": Status.INTERRUPTED,
}  # of IPOPT's return status


def status_of(word: str, objective: float) -> Status:
    """The status by IPOPT's word for it. Where the objective fell too far that tells more than how IPOPT gave up."""
    status = IPOPT.get(word, Status.FAILED)
    ended = status.success or status in (Status.INTERRUPTED, Status.NOT_FINITE)
    return Status.UNBOUNDED if objective < UNBOUNDED and not ended else status
