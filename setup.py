"""Where the packages lie; all other settings stand in pyproject.toml.

`myoquat/joints` and its siblings are links to the folders at the top. Editable installs then put this folder on the
path, where editors and type checkers find everything. Git writes text files in place of links where these are switched
off (core.symlinks=false, as on Windows). Then setuptools gets the folders themselves as subpackages of myoquat.
"""

from pathlib import Path

from setuptools import find_namespace_packages, setup

FOLDERS = ("analysis", "apps", "data", "dynamics", "environments", "joints", "kernels", "muscle")
HERE = Path(__file__).parent


def linked() -> dict[str, object]:
    """The packages as the links show them."""
    return {"packages": find_namespace_packages(str(HERE), include=["myoquat*"]), "package_dir": {"": "."}}


def unlinked() -> dict[str, object]:
    """The packages and their folders, relative to this file."""
    inside = [f"myoquat.{folder}.{name}" for folder in FOLDERS for name in find_namespace_packages(str(HERE / folder))]
    own = [f"myoquat.{name}" for name in find_namespace_packages(str(HERE / "myoquat"))]
    packages = ["myoquat", *own, *(f"myoquat.{folder}" for folder in FOLDERS), *inside]
    return {"packages": packages, "package_dir": {f"myoquat.{folder}": folder for folder in FOLDERS}}


setup(**(linked() if (HERE / "myoquat" / FOLDERS[0]).is_dir() else unlinked()))
