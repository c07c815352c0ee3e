"""What stores of results raise."""

from myoquat.joints.errors import shortened

__all__ = ["StoreError"]


class StoreError(ValueError):
    """A store that cannot take, or does not hold, the results of a study. Messages are shortened.

    >>> import tempfile
    >>> from myoquat.analysis.studies import StoreError, open_results
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         open_results(folder)
    ...     except StoreError as error:
    ...         print(str(error).replace(folder, "this folder"))
    this folder exists and is not a store of study results
    """

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))
