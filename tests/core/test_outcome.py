"""The outcomes of runs: their numbers stand in files."""

import pytest

from myoquat.kernels import Outcome


def test_numbers_in_files_do_not_change():
    assert {outcome.name: int(outcome) for outcome in Outcome} == {
        "PENDING": 0, "COMPLETED": 1, "NOT_FINITE": 2, "BOUND": 3, "EVENT": 4, "STUCK": 5,
        "CONTRADICTION": 6,
    }  # fmt: skip


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_a_sentence_of_its_own(outcome):
    assert outcome.sentence
    assert [other for other in Outcome if other.sentence == outcome.sentence] == [outcome]


def test_what_failed():
    assert [outcome.name for outcome in Outcome if outcome.failed] == ["NOT_FINITE", "BOUND", "STUCK", "CONTRADICTION"]
