"""The quick frozen dataclasses beside those of the standard library."""

import copy
import dataclasses
import inspect
from abc import ABC, abstractmethod
from dataclasses import FrozenInstanceError, field
from functools import cached_property, partial
from typing import Any, ClassVar

import pytest

from myoquat.core import frozen


def classes(decorator: Any) -> tuple[Any, ...]:
    """The same classes, made by one of the two decorators: defaults, factories, keywords, inheritance, own methods."""

    @decorator
    class Base(ABC):
        """A base."""

        count: ClassVar[int] = 3
        name: str
        values: tuple[float, ...] = ()
        items: list[int] = field(default_factory=list, compare=False)

        @property
        @abstractmethod
        def size(self) -> int: ...

    @decorator
    class Derived(Base):
        """With a default of its own, a hidden field and one by keyword."""

        values: tuple[float, ...] = (1.0,)
        hidden: float = field(default=2.0, repr=False)
        keyword: float = field(kw_only=True, default=0.0)
        made: list[str] = field(init=False, default_factory=list)

        def __post_init__(self) -> None:
            object.__setattr__(self, "made", [self.name])

        @cached_property
        def size(self) -> int:
            return len(self.values)

        def __hash__(self) -> int:
            return 7

    @decorator(eq=False, repr=False)
    class Bare:
        x: float

    @decorator(kw_only=True)
    class Keywords:
        x: float
        y: float = 1.0

    @decorator
    class Empty:
        pass

    return Base, Derived, Bare, Keywords, Empty


OURS, THEIRS = classes(frozen), classes(partial(dataclasses.dataclass, frozen=True))
Base, Derived, Bare, Keywords, Empty = OURS


@pytest.mark.parametrize("index", range(len(OURS)))
def test_signatures_and_fields_are_those_of_the_standard_library(index: int):
    ours, theirs = OURS[index], THEIRS[index]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert [str(f) for f in dataclasses.fields(ours)] == [str(f) for f in dataclasses.fields(theirs)]
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__init__.__annotations__ == theirs.__init__.__annotations__
    assert {*vars(theirs)} - {*vars(ours)} <= {"__abstractmethods__"}


@pytest.mark.parametrize(("index", "arguments", "keywords"), [
    (1, ("a",), {}),
    (1, ("a", (2.0, 3.0), [4], 5.0), {"keyword": 6.0}),
    (3, (), {"x": 1.0}),
    (4, (), {}),
])  # fmt: skip
def test_instances_behave_as_those_of_the_standard_library(index: int, arguments: Any, keywords: Any):
    ours, theirs = OURS[index](*arguments, **keywords), THEIRS[index](*arguments, **keywords)
    assert repr(ours) == repr(theirs)
    assert vars(ours) == vars(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert hash(ours) == hash(theirs)
    assert ours == OURS[index](*arguments, **keywords)
    assert ours != theirs
    assert copy.deepcopy(ours) == ours


def test_arguments_that_do_not_fit_raise_the_error_of_the_standard_library():
    for arguments, keywords in [((), {}), (("a", (), [], 1.0, 2.0), {}), (("a",), {"other": 1})]:
        messages = []
        for made in (Derived, THEIRS[1]):
            with pytest.raises(TypeError) as error:
                made(*arguments, **keywords)
            messages.append(str(error.value))
        assert messages[0] == messages[1]
    with pytest.raises(TypeError, match="abstract"):
        Base("a")


def test_fields_that_are_not_compared_do_not_count():
    assert Derived("a", items=[1]) == Derived("a", items=[2])
    assert Derived("a") != Derived("b")
    assert Bare(1.0) != Bare(1.0)
    assert Bare.__hash__ is object.__hash__


def test_a_frozen_record_does_not_change():
    record = Derived("a")
    for name in ("name", "new"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(record, name, "b")
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del record.name
    assert record.size == 1  # a cached property
    changed = dataclasses.replace(record, name="b")
    assert (changed.name, changed.made, record.name) == ("b", ["b"], "a")


def test_a_plain_subclass_may_hold_more_than_fields():
    class Plain(Derived):
        pass

    plain = Plain("a")
    plain.more = 1
    assert plain.more == 1
    with pytest.raises(FrozenInstanceError):
        plain.name = "b"
    assert plain == Plain("a")
    assert plain != Derived("a")


def test_a_class_of_the_standard_library_inherits_from_a_quick_one():
    @dataclasses.dataclass(frozen=True)
    class Own(Derived):
        more: int = 4

    assert Own("a", more=5) == Own("a", more=5)
    assert Own("a").more == 4
    assert [f.name for f in dataclasses.fields(Own)][-1] == "more"
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        dataclasses.dataclass(type("Open", (Derived,), {}))
