"""What all results of solvers share: whether they are solutions, and an error that says why not."""

from typing import Self


class NotSolvedError(RuntimeError):
    """A result that was checked is no solution; the message is what the result says of itself.

    >>> import warnings
    >>> import myoquat as mq
    >>> ball = mq.Body("ball", "ground", mq.joints.PrismaticJoint((1, 0, 0)), mass=1e-9, damping=10.0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     way = mq.simulate(mq.ArticulatedSystem((ball,)), [0.0], [1.0], duration=0.1)
    >>> try:
    ...     way.check()
    ... except mq.NotSolvedError as error:
    ...     print(str(error)[:11])
    <Trajectory
    """


class Solved:
    """Base of results of solvers: `success`, and `check` for programs that go on with solutions alone."""

    @property
    def success(self) -> bool:
        """Whether all of it is a solution."""
        raise NotImplementedError

    def reasons(self) -> list[str]:
        """Why parts of it are no solution, in sentences, where the solver knows."""
        return []

    def check(self) -> Self:
        """The result itself; NotSolvedError, which says how it ended and why, if it is no solution."""
        if not self.success:
            raise NotSolvedError("\n".join([repr(self), *self.reasons()]))
        return self
