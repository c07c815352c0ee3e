"""The base installation: what works without any extra, and what names the extra that it needs."""

import ast
import importlib
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from myoquat.core import EXTRAS, Library, missing_extra, requirements_of

ROOT = Path(__file__).parents[1]
WITHOUT = f"""
import importlib.util, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(EXTRAS)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
found = importlib.util.find_spec
missing = {sorted(EXTRAS)}
importlib.util.find_spec = lambda name, *more: None if name.partition(".")[0] in missing else found(name, *more)
"""

BASE = """
import numpy as np
import myoquat as mq
from myoquat.apps.command import main
model = mq.load_model("two_link")
assert mq.path_jacobian(model, model.start_q).shape == (6, 6)
assert np.isfinite(mq.simulate(model, duration=0.01, step=1e-3).energy).all()
assert len(mq.simulate(model, duration=0.01, step=1e-3).to_dataframe())
mq.mapping_analysis(model, n=5)
main(["sweep", "--help"])
main(["compare", "two_link", "two_link", "--poses", "2", "--report", "compare.html"])
import sympy
mq.joints.E(np.array(sympy.symbols("Q0:4")))
main(["mapping", "two_link", "--samples", "5", "--figures", "figures"])
"""

FEATURES = {
    "studies": "import myoquat as mq; mq.Study",
    "control": "from myoquat.kernels import symbols_casadi; symbols_casadi('x', (3,))",
    "jax": "from myoquat import kernels; kernels.as_jax(kernels.compile(lambda x: x, {'x': ()}))(1.0)",
    "learning": "import myoquat.environments",
    "mujoco": "import myoquat as mq; open('a.xml', 'w').write('<mujoco/>'); mq.load_model('a.xml')",
    "torch": "from myoquat import kernels; kernels.as_torch(kernels.compile(lambda x: x, {'x': ()}))",
    "notebooks": "from myoquat.apps.explorer import explore",
}


def run(code, folder):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT), "MYOQUAT_CACHE": str(folder / "cache")}
    call = [sys.executable, "-c", WITHOUT + code]
    return subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_base_installation_needs_no_library_of_an_extra(tmp_path):
    done = run(BASE, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tmp_path / "figures").iterdir())


ONE_AFTER_ANOTHER = """
import json
errors = {{}}
for extra, code in {features}.items():
    try:
        exec(code)
    except Exception as error:
        errors[extra] = [type(error).__name__, str(error)]
print(json.dumps(errors))
"""


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """Type and text of the error of every feature, in one process without any extra."""
    done = run(ONE_AFTER_ANOTHER.format(features=FEATURES), tmp_path_factory.mktemp("features"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("extra", FEATURES)
def test_a_feature_without_its_extra_names_the_command_that_installs_it(extra, errors):
    name, text = errors[extra]
    assert name == "MissingExtraError"
    assert text.endswith(f"python -m pip install '.[{extra}]'")


def test_the_command_works_outside_the_repository(monkeypatch):
    """It names the libraries of the extra with their versions, those of nested extras too."""
    lines = [
        "a>=1",
        "b<3; extra == 'view'",
        "myoquat[view,more]; extra == 'notebooks'",
        'c; os_name == "x" and extra == "more"',
    ]
    named = SimpleNamespace(requires=lambda name: lines, PackageNotFoundError=metadata.PackageNotFoundError)
    monkeypatch.setattr("myoquat.core.lazy_imports.metadata", named)  # which keeps what it was once asked for
    assert requirements_of("notebooks") == ["b<3", "c"]
    text = str(missing_extra(ModuleNotFoundError("No module named 'viser'", name="viser")))
    assert "the extra 'view' brings; this installs it, anywhere: python -m pip install 'b<3';" in text


def test_notebooks_bring_what_the_tutorials_import():
    """Every library of an extra that a tutorial or what it calls imports is in `notebooks`."""
    brought = {re.split(r"[<>=!~\[]", str(each), maxsplit=1)[0] for each in requirements("notebooks")}
    assert {"casadi", "zarr", "xarray", "viser", "plotly", "ipywidgets", "jupyterlab"} <= brought


def test_optimal_control_is_imported_and_stated_without_casadi(tmp_path):
    code = "from myoquat.analysis.control import Effort, Equations, Problem\n"
    code += "cart = Equations(('x',), ('f',), lambda point: (point['f'],))\n"
    code += "problem = Problem(cart, 1.0, (Effort(),), 2)\nprint('stated')\nproblem.solve()"
    done = run(code, tmp_path)
    assert done.stdout.strip() == "stated"
    assert "MissingExtraError" in done.stderr
    assert "[control]" in done.stderr


def test_a_command_without_its_extra_prints_one_sentence(tmp_path):
    (tmp_path / "study.toml").touch()
    sweep, view = ["sweep", "study.toml", "--output", "runs.zarr"], ["view", "two_link", "--no-browser"]
    for arguments, extra in ((sweep, "studies"), (view, "view")):
        done = run(f"from myoquat.apps.command import main; main({arguments})", tmp_path)
        assert done.returncode == 2
        assert len(done.stderr.strip().splitlines()) == 1
        assert f".[{extra}]" in done.stderr


def test_every_library_of_the_table_is_in_the_extra_that_it_names():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    renamed = {"google_crc32c": "google-crc32c", "imageio_ffmpeg": "imageio-ffmpeg"}
    for library, extra in EXTRAS.items():
        name = renamed.get(library, library)
        assert any(requirement.startswith(f"{name}>") for requirement in extras[extra]), (library, extra)
    brought = set(extras["all"][0].removeprefix("myoquat[").removesuffix("]").split(","))
    assert set(EXTRAS.values()) - {"jax", "torch"} <= brought  # these are too large for everybody


def requirements(extra):
    """What an extra of the package installs, those of its other extras and of the base included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = [Requirement(text) for text in project["dependencies"]]
    for requirement in map(Requirement, project["optional-dependencies"][extra]):
        own = requirement.name == "myoquat"
        found += [each for name in requirement.extras for each in requirements(name)] if own else [requirement]
    return found


def installed_by(wanted):
    """Normalized names of the distributions that pip installs for requirements, as far as they are installed here."""
    done, queue = set(), [(each.name, frozenset(each.extras)) for each in wanted]
    while queue:
        name, extras = queue.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if (key, extras) in done:
            continue
        done.add((key, extras))
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for each in map(Requirement, needed):
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras | {""}):
                queue.append((each.name, frozenset(each.extras)))
    return {key for key, _ in done}


SITE = """
import json, sys
allowed, owners = {"myoquat", *sys.argv[1].split(",")}, json.load(sys.stdin)
class Foreign:
    def find_spec(self, name, path=None, target=None):
        found = {owner.lower().replace("_", "-").replace(".", "-") for owner in owners.get(name.partition(".")[0], ())}
        if found and not found & allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Foreign())
sys.path[:0] = ["docs", "tests"]
import conf, importlib, site_commands, site_reference
for extension in conf.extensions:
    importlib.import_module(extension)
importlib.import_module(conf.html_theme)
for package in site_reference.PACKAGES:
    module = importlib.import_module(package)
    assert [getattr(module, name) for name in module.__all__]
assert len(site_commands.pages()) > 10
"""


def test_the_site_needs_nothing_but_what_the_readme_installs_for_it():
    """Every page of the reference and every extension of Sphinx, with all other distributions hidden."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("<!-- site -->")[2].partition("<!-- /site -->")[0]
    (extra,) = re.findall(r'pip install -e "\.\[(\w+)\]"', text)
    names = ",".join(sorted(installed_by(requirements(extra))))
    owners = json.dumps(metadata.packages_distributions())

    def made(allowed):
        call = [sys.executable, "-c", SITE, allowed]
        return subprocess.run(call, cwd=ROOT, input=owners, capture_output=True, text=True, check=False)

    done = made(names)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "ModuleNotFoundError: No module named 'matplotlib'" in made("numpy").stderr  # others are hidden


def test_a_namespace_with_a_missing_library_can_be_inspected():
    missing = Library("library_not_installed")
    assert inspect.unwrap(missing) is missing
    with pytest.raises(ModuleNotFoundError, match="library_not_installed"):
        missing.anything  # noqa: B018


def test_calls_of_the_portability_check_import_names_that_exist():
    calls = runpy.run_path(str(ROOT / ".ci" / "portability"))["CALLS"]
    imports = [
        node for code in calls.values() for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)
    ]
    names = [(node.module, alias.name) for node in imports for alias in node.names if node.module.startswith("myoquat")]
    assert len(names) > 5
    assert not [pair for pair in names if not hasattr(importlib.import_module(pair[0]), pair[1])]
