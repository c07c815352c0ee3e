"""Tests of one file whose text is changed in one place: a table says what is reported of each change."""

import re
import warnings
from pathlib import Path

import pytest

from myoquat.data import UnsupportedWarning, load_model
from myoquat.joints import ModelError


def write(folder, text, name="x.osim"):
    """The path of a file of this text."""
    path = folder / name
    path.write_text(text)
    return path


def changed(path, whole, old, new, times=-1):
    """The path, to which a text, a copy of a file or the file of a model is written with a change."""
    if hasattr(whole, "save"):
        whole.save(path, overwrite=True)
        whole = path
    text = whole.read_text() if isinstance(whole, Path) else whole
    assert old in text
    path.write_text(text.replace(old, new, times))
    return path


def rejected(whole, name, *rows, read=load_model, times=-1):
    """A test that each change (old, new, words) raises an error with these words, the file and a line, or the line that
    the row says."""

    @pytest.mark.parametrize("row", rows, ids=lambda row: row[2])
    def test(tmp_path, row):
        old, new, words, *line = row
        path = changed(tmp_path / name, whole, old, new, times)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ModelError, match=words) as caught:
                read(path)
        assert caught.value.file == path
        assert caught.value.line in (line or range(1, 10_000))

    return test


def reported(whole, name, *rows, read=load_model, times=-1, warning=UnsupportedWarning, holds=lambda result: True):
    """A test that after each change (old, new, words) the file is read with a warning of these words, and that strict
    reading raises an error with them."""

    @pytest.mark.parametrize("row", rows, ids=lambda row: row[2])
    def test(tmp_path, row):
        old, new, words, *line = row
        path = changed(tmp_path / name, whole, old, new, times)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert holds(read(path))
        assert re.search(words, "\n".join(str(each.message) for each in caught if issubclass(each.category, warning)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ModelError, match=words) as error:
                read(path, strict=True)
        assert error.value.line in (line or (error.value.line,))

    return test
