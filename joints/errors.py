"""The errors of model files and descriptions, and of poses."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_CHARACTERS = {"message": 1000, "element": 200}  # characters: names and values of a file stand in both


def shortened(text: str, longest: int = MAX_CHARACTERS["message"]) -> str:
    """The text, its middle left out where it is longer than so many characters."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} ... ({len(text) - 2 * half} characters left out) ... {text[-half:]}"


class OffSphereError(ValueError):
    """A pose with a quaternion whose length is not 1, which a division by the length would mend."""


class CoordinateWarning(UserWarning):
    """A coordinate that may not be what is meant: so far from any pose of a body that it may be in degrees, or one of
    two triples of angles of a rotation. Or the model locks or prescribes it elsewhere than a motion has it.

    >>> import warnings
    >>> import myoquat as mq
    >>> gate = mq.ArticulatedSystem((mq.Body("gate", "ground", mq.joints.RevoluteJoint((0, 0, 1))),))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     p = mq.joints.point_position(gate, [90.0], "gate")
    >>> print(caught[0].message)
    coordinate 'gate.angle' is 90 rad, 14.3 turns: are these degrees? np.deg2rad(...) gives radians
    """


class ConstraintWarning(UserWarning):
    """Constraints that contradict each other: the motion comes as near to all of them as it can.

    >>> import warnings
    >>> import myoquat as mq
    >>> from myoquat.dynamics.constraints import CoordinateCoupler
    >>> from myoquat.joints.functions import Linear, Polynomial
    >>> slide = mq.joints.PrismaticJoint((1, 0, 0))
    >>> pair = mq.ArticulatedSystem(tuple(mq.Body(name, "ground", slide, mass=1.0) for name in "ab"))
    >>> both = [CoordinateCoupler("a.position", "b.position", f) for f in (Linear(1.0), Polynomial((0.0, 1.0, 1.0)))]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     motion = mq.simulate(pair, [0.0, 0.0], [1.0, 1.0], 0.01, constraints=both)
    >>> caught[0].category.__name__
    'ConstraintWarning'
    """


def in_file(error: ValueError, path: str | Path) -> "ModelError":
    """The error as a ModelError with a file: its own where it names one, else the one at `path`."""
    if isinstance(error, ModelError):
        return error if error.file else error.located(path, error.line)
    return ModelError(str(error), file=path)


@contextmanager
def errors_in(path: str | Path) -> Iterator[None]:
    """Raises every ValueError of the block as `in_file` has it."""
    try:
        yield
    except ValueError as error:
        raise in_file(error, path) from None


@contextmanager
def errors_about(label: str) -> Iterator[None]:
    """Raise every ValueError of the block as a ModelError about an element, unless it is about one already."""
    try:
        yield
    except ModelError as error:
        if error.element:
            raise
        raise ModelError(error.message, file=error.file, element=label, line=error.line) from None
    except ValueError as error:
        raise ModelError(str(error), element=label) from None


class ModelError(ValueError):
    """A model that cannot be: says what is wrong, in which file, element and line where there is one.

    Messages and names of elements are shortened to some hundred characters.

    >>> import myoquat as mq
    >>> try:
    ...     mq.load_model("two_links")
    ... except mq.ModelError as error:
    ...     print(type(error).__name__)
    ModelError
    """

    def __init__(
        self, message: str, *, file: str | Path | None = None, element: str | None = None, line: int | None = None
    ) -> None:
        message = shortened(message)
        element = element and shortened(element, MAX_CHARACTERS["element"])
        self.message, self.file, self.element, self.line = message, file, element, line
        place = f"{file}:{line}" if file and line else str(file) if file else f"line {line}" if line else ""
        super().__init__(": ".join(part for part in (shortened(place), element or "", message) if part))

    def located(self, file: str | Path | None, line: int | None) -> "ModelError":
        """The same error with its place in a file."""
        return ModelError(self.message, file=file, element=self.element, line=line)
