"""Progress bars: shown on request; nothing is imported without output."""

import sys

import pytest

import myoquat as mq
from myoquat.core import progress_bar


def test_a_bar_shows_where_asked_for(capsys):
    with progress_bar(10, "pose", True) as bar:
        bar.update(4)
    assert "pose" in capsys.readouterr().err
    with progress_bar(10, "pose", False) as bar:
        bar.update(4)
    assert not capsys.readouterr().err


def test_nothing_is_imported_without_output(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)  # importing it would be an error
    mq.mapping_analysis("two_link", n=2, progress=None)
    mq.simulate(mq.load_model("two_link"), duration=0.01)
    assert not capsys.readouterr().err
    with pytest.raises(ImportError), progress_bar(10, "pose", True):
        pass
