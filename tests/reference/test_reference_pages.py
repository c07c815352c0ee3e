"""The reference of the site: a page for every public name, types as the source writes them, parameters as a list."""

import importlib
import inspect

import pytest
from documents import ROOT


@pytest.fixture(scope="module")
def reference():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        yield importlib.import_module("site_reference")


def read(reference, name, what):
    """(signature, return type) and the docstring of a name, as the reference has them."""
    package, _, last = name.rpartition(".")
    value = getattr(importlib.import_module(package), last)
    lines = (inspect.getdoc(value) or "").splitlines()
    reference.read_docstring(None, what, name, value, None, lines)
    return reference.read_signature(None, what, name, value, None, "()", None), lines


def test_every_public_name_has_a_page_and_no_two_differ_only_in_case(reference):
    pages = reference.pages()
    described = [page.partition(".")[2].rpartition(".") for page in pages if page.startswith(("name.", "class."))]
    values = {id(getattr(importlib.import_module(package), name)) for package, _, name in described}
    for package in reference.PACKAGES:
        module = importlib.import_module(package)
        names = [n for n in module.__all__ if not inspect.ismodule(getattr(module, n)) and not n.startswith("__")]
        assert [name for name in names if id(getattr(module, name)) not in values] == []
    assert len({page.lower() for page in pages}) == len(pages)


def test_types_stay_the_words_of_the_source(reference):
    (signature, returned), lines = read(reference, "myoquat.muscle.path_lengths", "function")
    assert (signature, returned) == ("(model, q, *, out=None, backend='kernel')", "Array")
    assert "   ``q`` : ArrayLike" in lines
    assert "   ``model`` : :py:class:`Model <myoquat.muscle.Model>`\\" in lines


def test_every_parameter_is_listed_once_with_its_text(reference):
    simulate = importlib.import_module("myoquat.dynamics").simulate
    _, lines = read(reference, "myoquat.dynamics.simulate", "function")
    terms = [line for line in lines if line.startswith("   ``")]
    named = [name.strip("` ") for term in terms for name in term.partition(" : ")[0].split(",")]
    assert sorted(named) == sorted(inspect.signature(simulate).parameters)
    assert "      \\[s\\]" not in lines
    assert lines[lines.index("   ``output_step`` : float \\| None") + 1].startswith("      [s] between rows")


def test_clauses_of_fields_are_a_list_and_other_prose_stays(reference):
    _, lines = read(reference, "myoquat.kernels.Steps", "class")
    assert "      (r,)" in lines
    assert reference.plain("A sentence; with a clause.") == ["A sentence; with a clause.", ""]
