"""Pages of the command line, made from click's own descriptions of its commands: every command and every option."""

import inspect
from collections.abc import Iterator

import click
from site_reference import escaped, plain

from myoquat.apps.command import COMMANDS, myoquat


def pages() -> dict[str, str]:
    """reStructuredText of the page of each command by the page's name."""
    context = click.Context(myoquat, info_name="myoquat", **myoquat.context_settings)
    found = {}
    for name in sorted(COMMANDS):
        command = myoquat.get_command(context, name)
        assert command is not None
        found[f"command_{name}"] = "\n".join(_page(name, command, context)) + "\n"
    return found


def listed() -> str:
    """Markdown: every command with a link to its page and its sentence."""
    lines = [
        f"- {{doc}}`myoquat {name} <_generated/command_{name}>`: {text}" for name, text in sorted(COMMANDS.items())
    ]
    return "\n".join(lines) + "\n"


def _page(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, parent, info_name=name)
    title = f"myoquat {name}"
    yield from (title, "=" * len(title), "", f".. program:: {title}", "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("::", "", f"    {title} {usage}", "")
    yield from _help(command.help or "")
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    yield from ("Options", "-------", "")
    for option in options:
        yield from _option(option, context)


def _help(text: str) -> Iterator[str]:
    """The description; what follows a line \\b, as click writes it, stands as it is."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = paragraph.splitlines()
        if lines[:1] == ["\b"]:
            yield from ("::", "", *(f"    {line}" for line in lines[1:]), "")
        else:
            yield from plain(paragraph)


def _option(option: click.Option, context: click.Context) -> Iterator[str]:
    """The option as its help shows it, with all its spellings as targets of links."""
    record = option.get_help_record(context)
    if record is None:
        return
    metavar = "" if option.is_flag or option.count else option.make_metavar(context)
    names = [*option.opts, *option.secondary_opts]
    yield f".. option:: {', '.join(f'{name} {metavar}'.strip() for name in names)}"
    yield from ("", f"   {escaped(' '.join(record[1].split()))}", "")
