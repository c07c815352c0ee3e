"""Where the packages lie, and links to the repository; all other settings stand in pyproject.toml.

`myoquat/joints` and its siblings are links to the folders at the top. Editable installs then put this folder on the
path, where editors and type checkers find everything. Git writes text files in place of links where these are switched
off (core.symlinks=false, as on Windows). Then setuptools gets the folders themselves as subpackages of myoquat.

The address of the repository stands in one place, as `repository-code` of CITATION.cff. With it the metadata have
links, and those of README lead to the files of this version, also on the page of a package index.
"""

import re
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


def page() -> dict[str, object]:
    """The description, and the links where the address of the repository is known."""
    names = ("README.md", "CITATION.cff", "myoquat/__init__.py")
    text, citation, package = ((HERE / name).read_text(encoding="utf-8") for name in names)
    links = {}
    if found := re.search(r'^repository-code: "?([^"\s]+)', citation, re.MULTILINE):
        address, version = found[1].rstrip("/"), re.search(r'__version__ = "(.+)"', package)
        files = f"v{version[1]}"
        text = re.sub(r"(!\[[^\]]*\]\()(?!\w+:)", rf"\1{address}/raw/{files}/", text)
        text = re.sub(r"((?<!!)\[[^\[\]]*\]\()(?!\w+:|#)", rf"\1{address}/blob/{files}/", text)
        names = {"Source": "", "Documentation": f"/blob/{files}/docs/index.md", "Issues": "/issues"}
        links = {name: address + path for name, path in names.items()}
        links["Changelog"] = f"{address}/blob/{files}/CHANGELOG.md"
    return {"long_description": text, "long_description_content_type": "text/markdown", "project_urls": links}


setup(**(linked() if (HERE / "myoquat" / FOLDERS[0]).is_dir() else unlinked()), **page())
