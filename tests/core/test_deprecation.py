"""Former names work, warn once per use, and are not among the public ones."""

import importlib
import warnings

import pytest

from myoquat.core.deprecation import former_argument, former_attribute, former_names

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


class Ball:
    def volume(self, radius):
        return 4 / 3 * radius**3

    size = former_attribute("size", "volume")
    capacity = former_argument("r", "radius")(volume)


def test_former_method_gives_the_new_one_and_warns_at_the_line_that_uses_it():
    with pytest.warns(DeprecationWarning, match=r"Ball.size is now Ball.volume") as caught:
        assert Ball().size(3.0) == 36.0
    assert caught[0].filename == __file__


def test_former_argument_is_handed_on_and_warns_at_the_line_that_uses_it():
    with pytest.warns(DeprecationWarning, match="volume: the argument r is now radius") as caught:
        assert Ball().capacity(r=3.0) == 36.0
    assert caught[0].filename == __file__


def test_new_argument_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Ball().capacity(radius=3.0) == Ball().capacity(3.0) == 36.0
