"""What a model must have before its muscles pull."""

from dataclasses import replace

import pytest

from myoquat.data import load_model
from myoquat.joints import ModelError
from myoquat.muscle import CubicExponentialMuscle, check_laws

MODEL = load_model("two_link")
FIRST = MODEL.muscles[0]


def _with_law(law):
    return replace(MODEL, muscles=(replace(FIRST, law=law), *MODEL.muscles[1:]))


def test_a_model_with_laws_and_numbers_passes():
    check_laws(MODEL)


def test_a_muscle_without_a_law_is_refused():
    with pytest.raises(ModelError, match=f"muscle '{FIRST.name}': no force law is given"):
        check_laws(_with_law(None))


def test_an_open_parameter_is_refused_unless_it_comes_from_outside():
    model = _with_law(CubicExponentialMuscle(0.5))
    with pytest.raises(ModelError, match=f"muscle '{FIRST.name}': no max_isometric_force is given"):
        check_laws(model)
    check_laws(model, {f"muscles.{FIRST.name}.max_isometric_force"})
    with pytest.raises(ModelError, match="no force law"):
        check_laws(_with_law(None), {f"muscles.{FIRST.name}.max_isometric_force"})
