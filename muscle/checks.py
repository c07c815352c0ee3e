"""What a model must have before forces of its muscles are computed."""

from collections.abc import Collection

from myoquat.core.arguments import check_types
from myoquat.joints.errors import ModelError
from myoquat.muscle.model import Model

__all__ = ["check_laws"]


def check_laws(model: Model, given: Collection[str] = ()) -> None:
    """ModelError for a muscle without a force law, or with a law that leaves a parameter open.

    given: full names "muscles.<muscle>.<parameter>" of the parameters whose values come from outside the model, such as
    those that a study varies. These may stay open.

    >>> import myoquat as mq
    >>> from myoquat.muscle import PathPoint, check_laws
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> check_laws(mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path),)))
    Traceback (most recent call last):
        ...
    myoquat.joints.errors.ModelError: muscle 'biceps': no force law is given
    """
    check_types(model=(model, Model))
    for name, left_open in model.open_laws.items():
        element = f"muscle {name!r}"
        if left_open is None:
            raise ModelError("no force law is given", element=element, file=model.file)
        lacking = [key for key in left_open if f"muscles.{name}.{key}" not in given]
        if lacking:
            raise ModelError(f"no {', '.join(lacking)} is given", element=element, file=model.file)
