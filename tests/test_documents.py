"""Documents tell the truth: their code runs, their excerpts are the source's, their links lead somewhere."""

import importlib
import re

import documents
import matplotlib
import pytest

import myoquat

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
TEXTS = {path: path.read_text(encoding="utf-8") for path in documents.DOCUMENTS}
# tests/ten_minutes.py runs docs/start.md literally.
RUNNING = [path for path, text in TEXTS.items() if documents.running_blocks(text) and path.stem != "start"]


def relative(path):
    return str(path.relative_to(documents.ROOT))


@pytest.mark.posix
@pytest.mark.filterwarnings("default")  # a document may show what a warning is about
@pytest.mark.parametrize("path", RUNNING, ids=relative)
def test_code_runs(path, tmp_path, monkeypatch):
    """From an empty folder; pages other than the README may read the files of the tests, as in the repository."""
    matplotlib.use("Agg")
    if path.name != "README.md":
        (tmp_path / "tests").symlink_to(documents.ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "document"}
    for line, code in documents.running_blocks(TEXTS[path]):
        exec(compile("\n" * line + code, str(path), "exec"), namespace)


def test_excerpts_are_the_source():
    changed = [relative(path) for path, text in TEXTS.items() if text != documents.with_excerpts(text)]
    assert not changed, "python -m tests.documents --write"


def test_links_lead_somewhere():
    links = [(path, link) for path, text in TEXTS.items() for link in LINK.findall(text)]
    here = [(path, link) for path, link in links if "://" not in link and not link.startswith("mailto:")]
    assert not [(relative(path), link) for path, link in here if not (path.parent / link).exists()]


FILE = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.py)`")
SOURCES = tuple(f"/{file.relative_to(documents.ROOT)}" for file in documents.ROOT.glob("*/**/*.py"))


def test_files_that_pages_name_exist():
    """`folder/file.py`, from the top or from a folder that the page is about."""
    named = {(relative(path), file) for path, text in TEXTS.items() for file in FILE.findall(text)}
    unknown = {name for name in named if not any(source.endswith(f"/{name[1]}") for source in SOURCES)}
    assert not {name for name in unknown if name[0] != "CHANGELOG.md"}


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
