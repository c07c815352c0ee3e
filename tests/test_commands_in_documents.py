"""Every command and option that the documents name exists."""

import re
from pathlib import Path

import click
import documents

from myoquat.apps.command import COMMANDS, myoquat

PAGES = {  # not of the past
    str(path.relative_to(documents.ROOT)): path.read_text(encoding="utf-8")
    for path in documents.DOCUMENTS
    if path.name != "CHANGELOG.md"
}
CODE = re.compile(r"```(?:sh|bash|console)?\n(.*?)```|`([^`\n]+)`", re.DOTALL)
CALL = re.compile(r"(?<!import )\bmyoquat +([a-z]+)\b([^\n|;&]*)")
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
# options of other programs: python -m benchmarks, pip, pytest, .ci/portability
OTHERS = {"--figure", "--config-settings", "--list"}


def options_of(name):
    command = myoquat.get_command(click.Context(myoquat), name)
    return {
        spelling
        for option in command.params
        if isinstance(option, click.Option)
        for spelling in (*option.opts, *option.secondary_opts)
    } | {"--help"}


def all_options():
    return {"--version", "--help"}.union(*(options_of(name) for name in COMMANDS))


def calls(text):
    """(command, options) of every call of the command line in code of a document."""
    for block, span in CODE.findall(text):
        for name, rest in CALL.findall((block or span).replace("\\\n", " ")):
            yield name, OPTION.findall(rest.partition("  #")[0])


def wrong(text):
    found = [f"myoquat {name}" for name, _ in calls(text) if name not in COMMANDS]
    for name, options in calls(text):
        found += [
            f"myoquat {name} {option}" for option in options if name in COMMANDS and option not in options_of(name)
        ]
    alone = [option for _, span in CODE.findall(text) for option in OPTION.findall(span) if span.startswith("--")]
    return found + [option for option in alone if option not in all_options() | OTHERS]


def test_commands_and_options_exist():
    assert not {page: found for page, text in PAGES.items() if (found := wrong(text))}


def test_wrong_names_are_found():
    text = "`myoquat study a.toml` or\n```sh\nmyoquat view leg.osim --lodes a.xml \\\n  --port 80\n```\nor `--speeed`."
    assert wrong(text) == ["myoquat study", "myoquat view --lodes", "--speeed"]


def test_nothing_is_installed_by_name_from_an_index():
    """The package is installed from a copy of the repository."""
    assert not [page for page, text in PAGES.items() if re.search(r"pip install [^\n]*\bmyoquat\[", text)]


def test_every_command_has_a_page(monkeypatch):
    monkeypatch.syspath_prepend(Path(documents.ROOT, "docs"))
    from site_commands import listed, pages  # noqa: PLC0415

    found = pages()
    assert {f"command_{name}" for name in COMMANDS} == {*found}
    for name in COMMANDS:
        assert f"<_generated/command_{name}>`: {COMMANDS[name]}" in listed()
        for option in options_of(name) - {"--help"}:
            assert re.search(rf"^\.\. option:: .*{option}\b", found[f"command_{name}"], re.MULTILINE), (name, option)
