"""The examples in docstrings run, and the suite says how many public names have one."""

import doctest
import importlib
import inspect
import pydoc
from types import ModuleType

import public_api
import pytest
from test_structure import FILES, ROOT

import myoquat


def module_name(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in ("myoquat", *parts[parts[0] == "myoquat" :]) if part != "__init__")


@pytest.mark.parametrize("name", [module_name(file) for file in FILES if ">>> " in file.read_text(encoding="utf-8")])
def test_examples_run(name):
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        # beside what it imports, an example knows its own subject, and not what else its module imports
        subject = test.name.removeprefix(name).split(".")[1:2]
        test.globs = {"__name__": "__main__"} | {own: getattr(module, own) for own in subject}
        failed, _ = doctest.DocTestRunner().run(test)
        assert not failed, f"{failed} lines of the example of {test.name} print something else"


def public_names():
    """The public functions and classes, each once, by the first name that it has."""
    found = {}
    for package in public_api.PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if not isinstance(value, ModuleType) and (inspect.isclass(value) or inspect.isroutine(value)):
                found.setdefault(id(value), (f"{package}.{name}", value))
    return dict(found.values())


def test_public_names_have_examples(record_property):
    names = public_names()
    without = [name for name, value in names.items() if ">>>" not in (value.__doc__ or "")]  # its own, not a parent's
    having = f"{len(names) - len(without)} of {len(names)}"
    record_property("reported", f"{having} public functions and classes have an example that runs")
    assert not without, f"examples are missing: {', '.join(without)}"


def test_help_of_simulate_fits_a_screen():
    assert len(pydoc.plain(pydoc.render_doc(myoquat.simulate))) <= 3000
