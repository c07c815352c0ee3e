"""What is built from the tree and installed: one package, complete, typed, and safe beside other people's names.

Everything here works on a copy of the tree, offline, with the installed setuptools.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import setuptools

import myoquat

ROOT = Path(__file__).parents[1]
NO_PACKAGES = {"benchmarks", "build", "docs", "myoquat", "notebooks", "tests", "validation"}
DATA_FILES = ("py.typed", "*.pyi", "models/*.toml", "models/geometry/*.obj")
BUILD = "import sys, setuptools.build_meta as build; getattr(build, sys.argv[1])(sys.argv[2])"


def copied(target: Path) -> Path:
    """The files that git would commit (all files where there is no git), links kept as links."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "figures")
        return Path(shutil.copytree(ROOT, target, symlinks=True, ignore=ignored))
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_symlink() or (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name, follow_symlinks=False)
    return target


def succeeded(*call: object, **options: Any) -> str:
    """What a process writes, which ends without an error."""
    return both_outputs(*call, **options)[0]


def both_outputs(*call: object, **options: Any) -> tuple[str, str]:
    """What a process writes to standard output and standard error, which ends without an error."""
    done = subprocess.run([*map(str, call)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, (call, done.stdout, done.stderr)
    return done.stdout, done.stderr


def built(tree: Path, form: str, into: Path) -> Path:
    """The wheel or the sdist of a tree, which stays as it is."""
    into.mkdir(parents=True)
    source = shutil.copytree(tree, into.with_name(f"{into.name}-source"), symlinks=True)
    succeeded(sys.executable, "-c", BUILD, f"build_{form}", into, cwd=source)
    (file,) = into.iterdir()
    return file


def packages(tree: Path) -> set[str]:
    """The folders at the top of a tree that hold Python files and belong into the package."""
    folders = (path for path in tree.iterdir() if path.is_dir() and not path.name.startswith("."))
    return {path.name for path in folders if path.name not in NO_PACKAGES and any(path.rglob("*.py"))}


def unlinked(tree: Path) -> set[str]:
    """Packages without their link `myoquat/PACKAGE -> ../PACKAGE`."""
    return {name for name in packages(tree) if not _links_to(tree / "myoquat" / name, tree / name)}


def _links_to(link: Path, folder: Path) -> bool:
    return link.is_symlink() and link.resolve() == folder.resolve()


def expected_files(tree: Path) -> set[str]:
    """What a wheel must hold of a tree: all Python files of the top-level namespace, of `core` and of the packages,
    stubs, data files."""
    face = ("*.py", "*.pyi", "py.typed", "core/**/*.py")
    found = {path.relative_to(tree).as_posix() for pattern in face for path in (tree / "myoquat").glob(pattern)}
    for package in packages(tree):
        for pattern in ("*.py", *DATA_FILES):
            found |= {f"myoquat/{path.relative_to(tree).as_posix()}" for path in (tree / package).rglob(pattern)}
    return found


def missing(wheel: Path, tree: Path) -> set[str]:
    return expected_files(tree) - set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return copied(tmp_path_factory.mktemp("source") / "tree")


@pytest.fixture(scope="module")
def wheel(tree, tmp_path_factory):
    return built(tree, "wheel", tmp_path_factory.mktemp("wheel") / "out")


@pytest.fixture(scope="module")
def sdist(tree, tmp_path_factory):
    return built(tree, "sdist", tmp_path_factory.mktemp("sdist") / "out")


def installed(folder: Path, *what: str) -> Path:
    """A virtual environment that sees the packages of this one, but not its myoquat, with something installed."""
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    shared = [path for path in sys.path if path.endswith("site-packages")]
    site = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    Path(site, "shared.pth").write_text("\n".join(shared))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index"]
    succeeded(*pip, "--no-deps", "--no-build-isolation", "--ignore-installed", *what, env=clean_environment())
    return python


def clean_environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return kept | {"MPLBACKEND": "Agg"} | more


@pytest.fixture(scope="module")
def plain(wheel, tmp_path_factory):
    return installed(tmp_path_factory.mktemp("plain"), str(wheel))


@pytest.fixture(scope="module")
def editable(tmp_path_factory):
    tree = copied(tmp_path_factory.mktemp("editable-source") / "tree")
    return installed(tmp_path_factory.mktemp("editable"), "--editable", str(tree))


@pytest.mark.posix
def test_every_package_is_linked_into_the_package():
    assert not unlinked(ROOT), "a package needs a link: ln -s ../PACKAGE myoquat/PACKAGE"
    assert {path.name for path in (ROOT / "myoquat").iterdir() if path.is_symlink()} == packages(ROOT)


def test_the_wheel_holds_one_package(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    top = {PurePosixPath(name).parts[0] for name in names}
    assert top == {"myoquat", f"myoquat-{myoquat.__version__}.dist-info"}


def test_the_wheel_is_complete(wheel, tree):
    assert not missing(wheel, tree)
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"myoquat/py.typed", "myoquat/__init__.pyi", "myoquat/data/models/two_link.toml"} <= names


def test_no_links_are_shipped(wheel, sdist):
    assert not [info.filename for info in zipfile.ZipFile(wheel).infolist() if info.external_attr >> 28 == 0o12]
    with tarfile.open(sdist) as archive:
        assert not [member.name for member in archive if member.issym()]


def test_the_sdist_builds_the_same_wheel(wheel, sdist, tmp_path):
    succeeded(sys.executable, "-m", "tarfile", "-e", sdist, tmp_path)  # on any 3.11
    (unpacked,) = tmp_path.iterdir()
    again = built(unpacked, "wheel", tmp_path / "out")
    assert set(zipfile.ZipFile(again).namelist()) == set(zipfile.ZipFile(wheel).namelist())


# What a type checker reads of three names. All that the top-level namespace imports would take ten times as long, and
# `mypy` reads it.
FOLLOWED = (
    *("numpy.*", "myoquat", "myoquat.core.typing", "myoquat.joints", "myoquat.joints.quaternion", "myoquat.muscle"),
    *("myoquat.kernels.symbolic.arrays", "myoquat.muscle.model", "myoquat.data", "myoquat.data.library"),
    *("myoquat.dynamics", "myoquat.dynamics.simulation", "myoquat.dynamics.simulation.simulate"),
    "myoquat.dynamics.simulation.results.trajectory",
)


@pytest.mark.parametrize("form", ["plain", "editable"])
def test_a_type_checker_finds_the_types(form, request, tmp_path_factory, tmp_path):
    python = request.getfixturevalue(form)
    (tmp_path / "use.py").write_text(
        "import myoquat as mq\n"
        "R = mq.joints.rotation_matrix([1.0, 0.0, 0.0, 0.0])\n"
        "reveal_type((mq.joints.rotation_matrix, mq.load_model, mq.simulate))\n"
    )
    followed = f"[mypy-{','.join(FOLLOWED)}]\nfollow_imports = normal\n"
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nstrict = true\nfollow_imports = skip\n{followed}")
    cache = tmp_path_factory.getbasetemp() / "mypy-cache"
    mypy = sys.executable, "-m", "mypy", f"--python-executable={python}", f"--cache-dir={cache}", "use.py"
    output = succeeded(*mypy, cwd=tmp_path, env=clean_environment())
    (revealed,) = [line for line in output.splitlines() if "Revealed type" in line]
    assert "-> myoquat.muscle.model.Model" in revealed.replace('"', ""), revealed
    assert "-> myoquat.dynamics.simulation.results.trajectory.Trajectory" in revealed, revealed
    rotation_matrix = revealed[: revealed.index("Model")]
    assert "def (Q:" in rotation_matrix, revealed  # decorators keep the signature
    assert "-> Any" not in rotation_matrix, revealed


LOADS = """
import kernels
assert kernels.stranger
import myoquat as mq
q = mq.load_model("two_link").start_q
report = mq.mapping_analysis("two_link", n=10)
assert mq.path_lengths(mq.load_model("two_link"), q).shape == (6,), report
print(mq.__file__)
"""


@pytest.fixture
def hostile(tmp_path, tmp_path_factory):
    """A project whose files have the names of the packages, and another package `kernels` first on the path."""
    project, strangers = tmp_path / "project", tmp_path / "strangers"
    for package in sorted(packages(ROOT) - {"joints"}):
        project.mkdir(exist_ok=True)
        (project / f"{package}.py").write_text(f"raise RuntimeError('this is the {package}.py of a user')\n")
    (project / "kernels.py").unlink()
    (project / "joints").mkdir()
    (project / "joints" / "__init__.py").write_text("raise RuntimeError('these are the joints of a user')\n")
    (strangers / "kernels").mkdir(parents=True)
    (strangers / "kernels" / "__init__.py").write_text("stranger = True\n")
    environment = clean_environment(
        PYTHONPATH=str(strangers), MYOQUAT_CACHE=str(tmp_path_factory.getbasetemp() / "kernels")
    )
    return project, environment


@pytest.mark.parametrize("form", ["plain", "editable"])
def test_it_works_among_files_of_the_same_names(form, hostile, request):
    python = request.getfixturevalue(form)
    project, environment = hostile
    (project / "use.py").write_text(LOADS)
    command = python.with_name("myoquat" + python.suffix)
    where = set()
    commands = {
        "plain": [command, "info", "two_link"],
        "editable": [python, "-X", "importtime", "-m", "myoquat", "mapping", "two_link", "--samples", "10"],
    }
    for call in ([python, "use.py"], commands[form]):
        output, errors = both_outputs(*call, cwd=project, env=environment)
        where |= {line for line in output.splitlines() if line.endswith("__init__.py")}
    if form == "editable":
        imported = {line.rpartition("|")[2].strip() for line in errors.splitlines()}
        assert "myoquat.analysis.mapping" in imported
        assert not {"sympy", "matplotlib", "IPython"} & imported
    (file,) = where
    assert Path(file) != Path(myoquat.__file__)  # the one that was installed for this test


@pytest.fixture(scope="module")
def without_links(tree, tmp_path_factory):
    """The tree as git writes it where links are switched off (core.symlinks=false): text files in their place."""
    copy = Path(shutil.copytree(tree, tmp_path_factory.mktemp("without-links") / "tree", symlinks=True))
    for path in (copy / "myoquat").iterdir():
        if path.is_symlink():
            target = os.readlink(path)
            path.unlink()
            path.write_text(target)
    return copy


def test_a_clone_without_links_builds_the_same_wheel(without_links, wheel, tmp_path):
    again = built(without_links, "wheel", tmp_path / "out")
    assert set(zipfile.ZipFile(again).namelist()) == set(zipfile.ZipFile(wheel).namelist())


USE = "import myoquat as mq; print(mq.load_model('two_link').name, mq.joints.__file__)"


@pytest.mark.parametrize("how", ["in the clone", "editable"])
def test_a_clone_without_links_works(how, without_links, tmp_path):
    python = Path(sys.executable) if how == "in the clone" else installed(tmp_path / "env", "-e", str(without_links))
    where = without_links if how == "in the clone" else tmp_path
    said = succeeded(python, "-c", USE, cwd=where, env=clean_environment())
    assert said.split() == ["two_link", str(without_links / "joints" / "__init__.py")]


def test_links_of_the_package_follow_from_the_address_in_the_citation(tree, tmp_path, monkeypatch):
    """Links in README are relative to the repository; on a package index they would be broken."""
    copy = Path(shutil.copytree(tree, tmp_path / "tree", symlinks=True))
    found = {}
    monkeypatch.setattr(setuptools, "setup", lambda **settings: found.update(settings))
    runpy.run_path(str(copy / "setup.py"))
    assert found["long_description"] == (copy / "README.md").read_text(encoding="utf-8")
    assert not found["project_urls"]
    with (copy / "CITATION.cff").open("a", encoding="utf-8") as file:
        file.write('repository-code: "https://example.org/lab/myoquat"\n')
    runpy.run_path(str(copy / "setup.py"))
    files = f"https://example.org/lab/myoquat/blob/v{myoquat.__version__}"
    assert found["project_urls"]["Changelog"] == f"{files}/CHANGELOG.md"
    links = re.findall(r"\]\(([^)]+)\)", found["long_description"])
    assert f"{files}/docs/commands.md" in links
    assert not [link for link in links if "://" not in link]
    assert [link.partition("/raw/")[2][-5:] for link in links if link.endswith(".webp")] == [".webp"]


def test_importing_the_package_imports_little():
    """Counted, not timed: the top-level namespace, and what finds names on their first use."""
    script = "import sys; before = set(sys.modules); import myoquat; print(*sorted(set(sys.modules) - before))"
    found = succeeded(sys.executable, "-c", script, cwd=ROOT).split()
    own = ["myoquat"]
    assert [name for name in found if name.startswith("myoquat")] == own
    assert not {"numpy", "scipy", "sympy", "casadi", "llvmlite", "pandas", "matplotlib"} & set(found)
    assert len(found) < 30, found


def test_finding_load_model_imports_no_model():
    """The modules that read a file and hold what is in it are imported with the first model."""
    script = "import sys; import myoquat; myoquat.load_model; print(*sys.modules)"
    heavy = {"lxml", "llvmlite", "myoquat.muscle.model", "myoquat.joints.multibody", "myoquat.kernels.codegen"}
    assert not heavy & set(succeeded(sys.executable, "-c", script, cwd=ROOT).split())


def test_what_simulates_optimizes_and_shows_imports_little():
    """Tables, statistics and symbolic mathematics are imported where they are used, not by those who do without."""
    script = (
        "import sys; from myoquat.data import load_model; from myoquat.dynamics import simulate; "
        "from myoquat.analysis.recruitment import static_optimization; from myoquat.apps.viewer import view; "
        "print(*sys.modules)"
    )
    heavy = {"scipy", "sympy", "casadi", "pandas", "pyarrow", "xarray", "matplotlib"}
    assert not heavy & set(succeeded(sys.executable, "-c", script, cwd=ROOT).split())
