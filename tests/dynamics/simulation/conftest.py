"""The model of the independent trajectory."""

import pytest

from myoquat.data import load_model


@pytest.fixture(scope="session")
def model():
    return load_model("two_link")
