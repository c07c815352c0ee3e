"""Former names work, warn once per use, and are not among the public ones."""

import importlib

import pytest

from myoquat.core.deprecation import former_names

FORMER = {"myoquat.analysis.muscles": {"redundancy": "myoquat.analysis.recruitment.redundancy"}}


@pytest.mark.parametrize(
    ("package", "former", "new"), [(p, f, n) for p, names in FORMER.items() for f, n in names.items()]
)
def test_former_name_gives_the_object_of_the_new_one_and_warns(package, former, new):
    module, name = new.rsplit(".", 1)
    with pytest.warns(DeprecationWarning, match=f"{former} is now {new}"):
        found = getattr(importlib.import_module(package), former)
    assert found is getattr(importlib.import_module(module), name)


def test_unknown_name_raises_as_usual():
    with pytest.raises(AttributeError, match="'math' has no attribute 'radius'"):
        former_names("math", {})("radius")


def test_name_that_the_package_finds_itself_is_left_to_it():
    assert former_names("math", {}, otherwise=str.upper)("pi") == "PI"
