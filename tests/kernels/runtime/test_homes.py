"""Where compiled kernels lie: without a home directory, and where the superuser runs with the home of a user."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from myoquat.kernels.runtime import settings

pytestmark = pytest.mark.posix
NAMES = ("HOME", "XDG_CACHE_HOME", "MYOQUAT_CACHE")


def without_user(number):
    raise KeyError(f"getpwuid(): uid not found: {number}")


@pytest.fixture
def homeless(monkeypatch, tmp_path):
    """A process without HOME and without an entry in the list of users, with temporary files of its own."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(settings.pwd, "getpwuid", without_user)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    settings.temporary_cache.cache_clear()
    yield tmp_path
    settings.temporary_cache.cache_clear()


def test_without_a_home_kernels_lie_in_a_private_temporary_folder(homeless):
    with pytest.warns(RuntimeWarning, match="no home directory is known"):
        folder = settings.cache_folder()
    assert settings.cache_folder() == folder  # without another warning
    private = folder.parent.parent
    assert private.parent == homeless
    assert private.stat().st_mode & 0o777 == 0o700
    settings.temporary_cache.cache_clear()
    with pytest.warns(RuntimeWarning):  # the next process
        assert settings.cache_folder() == folder


@pytest.mark.parametrize("plant", ["open", "link", "file"])
def test_a_planted_temporary_folder_is_not_used(homeless, plant):
    name = homeless / f"myoquat-cache-{os.getuid()}"
    elsewhere = homeless / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if plant == "open":
        name.mkdir()
        name.chmod(0o777)
    elif plant == "link":
        name.symlink_to(elsewhere)
    else:
        name.write_text("")
    with pytest.warns(RuntimeWarning):
        private = settings.cache_folder().parent.parent
    assert private != name
    assert private.stat().st_mode & 0o777 == 0o700
    assert not list(elsewhere.iterdir())


def test_a_temporary_folder_of_another_user_is_not_used(homeless, monkeypatch):
    name = homeless / "myoquat-cache-12345"
    name.mkdir(mode=0o700)
    monkeypatch.setattr(settings.os, "getuid", lambda: 12345)
    with pytest.warns(RuntimeWarning):
        assert settings.cache_folder().parent.parent != name


def test_a_process_without_environment_compiles(tmp_path):
    """As under `env -i`, without an entry in the list of users."""
    code = (
        "import pwd\n"
        "def getpwuid(number): raise KeyError(number)\n"
        "pwd.getpwuid = getpwuid\n"
        "from myoquat import kernels\n"
        "print(*(kernels.compile(lambda x: x + x, {'x': ()})(1.0) for _ in range(2)))\n"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={"TMPDIR": str(tmp_path), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["2.0", "2.0"]
    assert found.stderr.count("RuntimeWarning") == 1
    assert len(list(tmp_path.glob("*/myoquat/kernels/*.kernel"))) == 1


@pytest.fixture
def superuser(monkeypatch, tmp_path):
    """The superuser in the environment of a user, as under sudo; own home "/root", of the user (1000) "home"."""
    root, home = tmp_path / "root", tmp_path / "home"
    for folder in (root, home):
        folder.mkdir()
    actual = Path.stat

    def stat(self, *args, **named):
        uid = 1000 if actual(self, *args, **named) and home in (self, *self.parents) else 0
        return SimpleNamespace(st_uid=uid)

    monkeypatch.delenv("MYOQUAT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(settings.os, "getuid", lambda: 0)
    monkeypatch.setattr(settings.pwd, "getpwuid", lambda _: SimpleNamespace(pw_dir=str(root)))
    monkeypatch.setattr(Path, "stat", stat)
    return SimpleNamespace(root=root, home=home)


@pytest.mark.linux
def test_the_superuser_makes_nothing_in_the_home_of_a_user(superuser, monkeypatch):
    monkeypatch.setenv("HOME", str(superuser.home))
    own = superuser.root / ".cache" / "myoquat" / "kernels"
    assert settings.cache_folder() == own
    monkeypatch.setenv("XDG_CACHE_HOME", str(superuser.home / "caches"))
    assert settings.cache_folder() == own
    monkeypatch.setenv("HOME", str(superuser.root))
    assert settings.cache_folder() == own
    monkeypatch.setenv("XDG_CACHE_HOME", str(superuser.root / "caches"))
    assert settings.cache_folder() == superuser.root / "caches" / "myoquat" / "kernels"
