"""Progress bars and interrupts: bars are shown on request, and nothing is imported without output."""

import signal
import sys

import pytest

import myoquat as mq
from myoquat.core import interrupts, progress_bar


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


@pytest.mark.parametrize("at_once", [True, False])
def test_interrupts_raise_at_once_or_from_the_second_on(at_once, interruptible):
    with interrupts(at_once) as seen:
        seen.check()
        if not at_once:
            signal.raise_signal(signal.SIGINT)
            assert seen.came
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            seen.check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
