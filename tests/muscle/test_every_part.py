"""Numbers and files of every type of part that a model can have."""

import math
import re
from dataclasses import fields, is_dataclass, replace

import pytest

import myoquat as mq
from myoquat.joints.ranges import MAX_NUMBER, ranges_of, vectors_of
from tests.every_part import EVERY

MODELS = [build() for build in EVERY]


def parts(node, path=()):
    """Every record of a model with the fields and indices that lead to it."""
    if is_dataclass(node):
        yield node, path
        node = {f.name: getattr(node, f.name) for f in fields(node)}
    for step, part in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, tuple) else ():
        yield from parts(part, (*path, step))


def put(node, path, value):
    """`node` with another value where a path leads."""
    if not path:
        return value
    step, *rest = path
    if isinstance(node, tuple):
        return (*node[:step], put(node[step], rest, value), *node[step + 1 :])
    return replace(node, **{step: put(getattr(node, step), rest, value)})


MAY_BE_INFINITE = ("lower", "upper", "least_activation", "greatest_activation")


def outside(name, allowed):
    """Numbers that a field does not hold."""
    yield math.nan
    if math.isfinite(allowed.low):
        yield allowed.low if allowed.open_low else allowed.low - 1e-9
    if math.isfinite(allowed.high):
        yield allowed.high if allowed.open_high else allowed.high + 1e-9
    elif name not in MAY_BE_INFINITE:
        yield 10 * MAX_NUMBER


@pytest.mark.parametrize("model", MODELS, ids=[build.__name__ for build in EVERY])
def test_a_number_outside_its_range_raises_an_error_that_names_it(model):
    """Ranges stand in the types of fields, which `tests/public_api.txt` lists."""
    first = {type(part): (part, path) for part, path in reversed([*parts(model)])}
    for part, path in first.values():
        for name, (allowed, _) in ranges_of(type(part)).items():
            for value in outside(name, allowed):
                with pytest.raises(ValueError, match=rf"\b{name}\b.*{re.escape(f'{value:g}')}"):
                    put(model, (*path, name), value)
        for name, (_, size, *_) in vectors_of(type(part)).items():
            value = getattr(part, name)
            for wrong in (math.nan, *([] if size == 2 else [-math.inf, 10 * MAX_NUMBER])) if value else ():
                last = (len(value) - 1,) if isinstance(value[0], float) else (0, len(value[0]) - 1)
                message = rf"\b({name}|an axis|a point|radius z)\b.*{re.escape(f' {wrong:g}')}"
                with pytest.raises(ValueError, match=message):
                    put(model, (*path, name, *last), wrong)


@pytest.mark.parametrize("model", MODELS, ids=[build.__name__ for build in EVERY])
def test_a_file_keeps_every_part(model, tmp_path):
    model.save(tmp_path / "model.toml")
    assert mq.load_model(tmp_path / "model.toml") == model


def test_every_law_is_among_the_parts():
    assert set(mq.muscle.laws.LAWS.values()) <= {type(part) for model in MODELS for part, _ in parts(model)}
