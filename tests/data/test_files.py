"""Files as such: what is read at all, what is written over, and with which permissions."""

import os
import stat

import pandas as pd
import pytest

from myoquat.data import load_model
from myoquat.data.files import read_text, write_bytes
from myoquat.data.storage import read_motion, write_motion
from myoquat.data.trc import write_markers
from myoquat.data.urdf import load_urdf, write_urdf
from myoquat.joints.errors import ModelError, errors_about

MODEL = load_model("two_link")


@pytest.mark.posix
@pytest.mark.parametrize("read", [load_model, load_urdf, read_motion])
def test_a_pipe_is_refused_at_once(read, tmp_path):
    path = tmp_path / "pipe.toml"
    os.mkfifo(path)
    with pytest.raises(ModelError, match="not a regular file"):
        read(path)


@pytest.mark.posix
def test_a_device_without_end_is_refused(tmp_path):
    path = tmp_path / "zeros.osim"
    path.symlink_to("/dev/zero")
    with pytest.raises(ModelError, match="not a regular file"):
        load_model(path)


def test_at_most_the_limit_is_read(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("abcd")
    assert read_text(path, limit=4) == "abcd"
    with pytest.raises(ModelError, match="at most"):
        read_text(path, limit=3)


@pytest.mark.parametrize("suffix", [".toml", ".osim", ".xml"])
def test_a_model_is_not_written_over_a_file_without_being_asked(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        MODEL.save(path)
    assert path.read_text() == "mine"
    if suffix == ".toml":
        MODEL.save(path, overwrite=True)
        assert load_model(path) == MODEL


def test_nor_are_systems_motions_and_markers(tmp_path):
    path = tmp_path / "x"
    path.write_text("mine")
    motion = pd.DataFrame({"a": [0.0, 1.0]}, index=pd.Index([0.0, 0.1], name="time"))
    axes = pd.MultiIndex.from_product([["m"], ["x", "y", "z"]])
    markers = pd.DataFrame([[0.0, 1.0, 2.0]] * 2, index=motion.index, columns=axes)
    for write, thing in ((write_urdf, MODEL.system), (write_motion, motion), (write_markers, markers)):
        with pytest.raises(FileExistsError, match="overwrite=True"):
            write(thing, path)
        assert path.read_text() == "mine"
        write(thing, path, overwrite=True)
        assert path.read_text() != "mine"
        path.write_text("mine")


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_files_have_the_permissions_that_the_process_gives(mask, mode, tmp_path):
    before = os.umask(mask)
    try:
        write_bytes(tmp_path / "x", b"content")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == mode
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_errors_about_an_element_keep_their_place():
    with pytest.raises(ModelError) as caught, errors_about("body 'arm'"), errors_about(""):
        raise ModelError("no", file="a.toml", line=3)
    assert str(caught.value) == "a.toml:3: body 'arm': no"
