"""Where the cache of a user lies: in the home directory, or among the temporary files where there is none."""

import atexit
import functools
import os
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

__all__ = ["temporary_cache", "user_cache"]

if sys.platform != "win32":
    import pwd


def user_cache() -> Path | None:
    """The folder for caches that the system intends; None where no home directory is known.

    A program that runs as the superuser, but with the environment of another user, gets the superuser's own.
    """
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or os.environ.get("USERPROFILE")
        return Path(local) if local else None
    inside = Path("Library", "Caches") if sys.platform == "darwin" else Path(".cache")
    given = "" if sys.platform == "darwin" else os.environ.get("XDG_CACHE_HOME")
    if given and not _is_of_another_user(Path(given)):
        return Path(given)
    return next((home / inside for home in _homes() if not _is_of_another_user(home)), None)


def _homes() -> Iterator[Path]:
    """What the environment says, and what the list of users says."""
    if os.environ.get("HOME"):
        yield Path(os.environ["HOME"])
    try:
        yield Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a number without a user, as in a container
        return


def _is_of_another_user(path: Path) -> bool:
    """Whether the superuser would make a folder in one of another user: asked of the nearest folder that exists."""
    if os.getuid() != 0:
        return False
    for folder in (path, *path.absolute().parents):
        try:
            return folder.stat().st_uid != 0
        except OSError:
            continue
    return False


@functools.cache
def temporary_cache() -> Path:
    """A folder of this user alone among the temporary files. All processes share it, if its name is free or belongs to
    this user; otherwise this process has one of its own. Warns."""
    shared = Path(tempfile.gettempdir()) / f"myoquat-cache-{_user()}"
    folder = shared if _is_made_private(shared) else _own_folder()
    warnings.warn(
        f"no home directory is known, so compiled kernels are kept in {folder}; set HOME, or MYOQUAT_CACHE to a folder "
        "or to 'off'",
        RuntimeWarning,
        stacklevel=4,
    )
    return folder


def _user() -> int | str:
    return os.getuid() if sys.platform != "win32" else "user"


def _is_made_private(folder: Path) -> bool:
    """Whether there is such a folder, made now or before by this user, that no other user may enter. A link that
    another user has put there is none."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError:
        return False
    if sys.platform == "win32":
        return False
    status = os.lstat(folder)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


def _own_folder() -> Path:
    """A folder with an unpredictable name; removed when this process ends."""
    folder = tempfile.mkdtemp(prefix="myoquat-cache-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
