"""Documents tell the truth: their code runs, their excerpts are the source's, their links lead somewhere."""

import importlib
import re

import documents
import matplotlib
import pytest

import myoquat

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
RUNNING = [path for path in documents.DOCUMENTS if documents.running_blocks(path.read_text(encoding="utf-8"))]


def relative(path):
    return str(path.relative_to(documents.ROOT))


@pytest.mark.posix
@pytest.mark.filterwarnings("default")  # a document may show what a warning is about
@pytest.mark.parametrize("path", RUNNING, ids=relative)
def test_code_runs(path, tmp_path, monkeypatch):
    """From an empty folder in which only the files of the tests lie."""
    matplotlib.use("Agg")
    (tmp_path / "tests").symlink_to(documents.ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "document"}
    for line, code in documents.running_blocks(path.read_text(encoding="utf-8")):
        exec(compile("\n" * line + code, str(path), "exec"), namespace)


def test_the_readme_has_code():
    assert documents.ROOT / "README.md" in RUNNING


@pytest.mark.parametrize("path", documents.DOCUMENTS, ids=relative)
def test_excerpts_are_the_source(path):
    text = path.read_text(encoding="utf-8")
    assert text == documents.with_excerpts(text), "python -m tests.documents --write"


@pytest.mark.parametrize("path", documents.DOCUMENTS, ids=relative)
def test_links_lead_somewhere(path):
    links = LINK.findall(path.read_text(encoding="utf-8"))
    here = [link for link in links if "://" not in link and not link.startswith("mailto:")]
    assert not [link for link in here if not (path.parent / link).exists()]


FILE = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.py)`")
SOURCES = tuple(f"/{file.relative_to(documents.ROOT)}" for file in documents.ROOT.glob("*/**/*.py"))


@pytest.mark.parametrize("path", [path for path in documents.DOCUMENTS if path.name != "CHANGELOG.md"], ids=relative)
def test_files_that_pages_name_exist(path):
    """`folder/file.py`, from the top or from a folder that the page is about."""
    named = set(FILE.findall(path.read_text(encoding="utf-8")))
    assert not [file for file in named if not any(source.endswith(f"/{file}") for source in SOURCES)]


@pytest.mark.parametrize(("page", "words"), [("motion.md", "inverse kinematics"), ("motion.md", "inverse dynamics")])
def test_words_that_people_search_for_stand_on_their_page(page, words):
    """The search of the site knows words of the text, not parts of names of functions."""
    text = re.sub(
        r"```.*?```|`[^`]*`", "", (documents.ROOT / "docs" / page).read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert words in text.lower()


def test_pages_alone_in_their_section_are_known(monkeypatch):
    """They get no sidebar, which would be empty; pages with others below them keep theirs."""
    monkeypatch.syspath_prepend(documents.ROOT / "docs")
    alone = importlib.import_module("site_pages").single(documents.ROOT / "docs")
    assert {"start", "viewer", "motion", "gallery"} <= {*alone}
    assert not {"tutorials/index", "howto/index", "reference", "measurements/benchmarks"} & {*alone}


def test_the_version_is_the_same_everywhere():
    changes = re.findall(r"^## (\S+)", (documents.ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert changes[0] == myoquat.__version__
    assert f"\nversion: {myoquat.__version__}\n" in (documents.ROOT / "CITATION.cff").read_text(encoding="utf-8")
