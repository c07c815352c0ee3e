"""The command line: `myoquat COMMAND`. Each command lives in its own module, imported only when it runs."""

import importlib
import sys
import warnings
from typing import Any

import click

from myoquat.core import MissingExtraError

ARGUMENTS = "myoquat.arguments"  # in the `meta` of a command: what the command line was given
COMMANDS = {
    "center": "Find the center or the axis of a joint from markers.",
    "check": "Check that the powers of a model's muscles balance.",
    "compare": "Compare two files of a model, or a file with MuJoCo or OpenSim.",
    "convert": "Write a model in another file format: TOML, OpenSim, MuJoCo, URDF.",
    "derive": "Write l, its Jacobian and the muscle torques as a function file.",
    "film": "Write a motion as a film, without a browser.",
    "gait": "Find gait events, cycles and spatiotemporal parameters.",
    "id": "Find the joint torques of a recorded motion.",
    "ik": "Find the motion that fits recorded markers.",
    "info": "Show what a model holds, or how kernels run on this machine.",
    "loads": "Find what the joints carry in a recorded motion.",
    "mapping": "Compare all mappings between a model's muscle Jacobians.",
    "run": "Run a setup file of OpenSim: scaling, inverse kinematics and dynamics, analyses, sensors.",
    "scale": "Scale a model to a person.",
    "simulate": "Move a model, store and draw its motion.",
    "sweep": "Run a study: thousands of simulations with varied parameters.",
    "track": "Find controls that move a model as in a recorded motion.",
    "view": "Show a model and its motions in the browser.",
    "warm": "Compile what a model needs ahead of its first use.",
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only to run it."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:
        given = tuple(args)  # parsing empties it
        context = super().make_context(info_name, args, *rest, **extra)
        context.meta[ARGUMENTS] = given  # for reports
        return context

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(f"myoquat.apps.commands.{cmd_name}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="myoquat")
def myoquat() -> None:
    """Musculoskeletal models with ball-and-socket joints described by unit quaternions."""


def main(arguments: list[str] | None = None) -> int | None:
    """Run the command line, as `run` does."""
    return run(myoquat, "myoquat", arguments)


def run(command: click.Command, name: str, arguments: list[str] | None = None) -> int | None:
    """Run a command of this name. Bad input ends with one sentence on standard error and exit code 2; warnings are
    sentences, too."""
    shown, warnings.formatwarning = warnings.formatwarning, _sentence
    try:
        return command.main(arguments, standalone_mode=False, prog_name=name)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except (ValueError, OSError, MissingExtraError) as error:
        click.echo(f"{name}: {error}", err=True)
        sys.exit(2)
    except MemoryError as error:
        click.echo(f"{name}: there is not enough memory: {error or 'an allocation failed'}", err=True)
        sys.exit(2)
    finally:
        warnings.formatwarning = shown


def _sentence(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    return f"warning: {message}\n"
