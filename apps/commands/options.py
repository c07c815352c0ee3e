"""What commands share: types of values, options, the record of both that a command gets, and files that it writes."""

import functools
import importlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np

from myoquat.apps.report import Shown, check_report, write_report
from myoquat.data import Motion, load_model, load_motion, save_table
from myoquat.data.files import check_output
from myoquat.data.tables import TABLE_FILES
from myoquat.muscle import Model


def command(name: str) -> Callable[[Callable[[Any], None]], click.Command]:
    """A command of this name; its function gets arguments and options as one record."""

    def made(function: Callable[[Any], None]) -> click.Command:
        @functools.wraps(function)
        def called(**given: Any) -> None:
            function(SimpleNamespace(**given))

        return click.command(name, context_settings={"show_default": True})(called)

    return made


def option(names: str, given: Any = str, words: str = "", **more: Any) -> Callable[..., Any]:
    """An option and its help.

    names  its name, and that of its argument where this is another
    given  a default, a type without a default, or False for a flag. Of a tuple of words one is chosen, the first by
           default
    """
    if given is False:
        more["is_flag"] = True
    elif isinstance(given, (type, click.ParamType)):
        more["type"] = given
    elif isinstance(given, tuple) and isinstance(given[0], str):
        more |= {"type": click.Choice(given), "default": given[0]}
    else:
        more["default"] = given
    return click.option(*names.split(), help=words or None, **more)


def several(names: str, read: Any, metavar: str, words: str) -> Callable[..., Any]:
    """An option that may be repeated."""
    return option(names, read, words, multiple=True, metavar=metavar)


# ---- types -----------------------------------------------------------------------------------------------------

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


class Written(click.ParamType):  # type: ignore[type-arg]
    """A file that is written, whose ending is one of some; --force replaces one that exists."""

    name = "path"

    def __init__(self, *endings: str, check: Callable[[Path, bool], object] = check_output) -> None:
        self.endings, self.check = endings, check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(value)
        if self.endings and path.suffix.lower() not in self.endings:
            assert param is not None
            self.fail(f"{param.opts[-1]} must end in {', '.join(self.endings)}, not {path.suffix or 'nothing'}", param)
        self.check(path, bool(ctx and ctx.params.get("force")))
        return path


TABLE = Written(".sto", ".csv", ".mot", ".xlsx", ".mat", ".parquet")
MOTION = Written(".mot", ".sto", ".bvh")
PICTURE = Written(".png", ".pdf", ".svg", ".jpg", ".jpeg")
PAGE = Written(check=check_report)


class Listed(click.ParamType):  # type: ignore[type-arg]
    """Words between commas, `count` of them if it is given, each as `read` takes it; `more` describes them."""

    name = "text"

    def __init__(self, read: Callable[[str], Any] = str, count: int = 0, more: str = "") -> None:
        self.read, self.count, self.more = read, count, more

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        assert isinstance(param, click.Option)
        try:
            found = tuple(self.read(word.strip()) for word in value.split(","))
        except ValueError:
            found = ()
        if not found or (self.count and len(found) != self.count):
            self.fail(f"{param.opts[0]} is {param.metavar}{self.more}, not {value!r}", param)
        return found


class Named(click.ParamType):  # type: ignore[type-arg]
    """A=B: the name and what `read` makes of the rest; `more` follows the message for other texts."""

    name = "text"

    def __init__(self, read: Callable[[str], Any] = str, more: str = "") -> None:
        self.read, self.more = read, more

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        assert isinstance(param, click.Option)
        name, equals, rest = value.rpartition("=") if self.read is number else value.partition("=")
        try:
            if name and equals and rest:
                return name, self.read(rest)
        except ValueError:
            pass
        self.fail(f"{param.opts[0]} is {param.metavar}, not {value!r}{self.more}", param)


def number(text: str) -> float:
    """A finite number; ValueError for others."""
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(text)
    return found


NUMBERED = Named(number)

# ---- options ---------------------------------------------------------------------------------------------------

model = click.argument("model")
rotations = option("--rotations", "file", "Ball joints: 'file' as they are, 'quaternion', or Euler angles such as YZY.")
rotations_meanwhile = option("--rotations", "quaternion", "Ball joints during the computation: 'file' or 'quaternion'.")
force = option("--force", False, "Replace output files that exist.", is_eager=True)
external_loads = option("--loads", FILE, "External loads: OpenSim's ExternalLoads, .xml.")


compare = option("--compare", FILE, "Another motion, as a ghost.")
loads_beside = option("--loads", FILE, "Loads beside the motion: .xml, .c3d.")


def no_filter(ctx: click.Context, param: click.Parameter, value: float) -> float | None:
    """The cutoff; None for a negative one."""
    return None if value < 0 else value


cutoff = option("--cutoff", 6.0, "Low-pass filter [Hz]; negative for none.", callback=no_filter)
angles = option("--angles", False, "Filter the file's angles as OpenSim does, not rotations.")
degrees = click.option(
    "--degrees/--radians", default=None, help="Unit of angles in MOTION, where its header gives none."
)
ignore = several("--ignore", str, "NAME", "Pass over a column of MOTION, or several: '*_tx'.")
axes = option("--axes", str, "The laboratory's axes along which the model's lie, such as 'x z -y', for markers.")
start = option("--start", -np.inf, "First time [s].", show_default=False)
end = option("--end", np.inf, "Last time [s].", show_default=False)
geometry = click.option("--geometry", multiple=True, type=FOLDER, help="A folder with geometry files.")


def rows(words: str) -> Callable[..., Any]:
    """The option of a table for spreadsheets and statistics programs."""
    return option("--table", Written(*TABLE_FILES), f"{words}: .csv, .xlsx, .parquet.")


def page(words: str) -> Callable[..., Any]:
    """The option of a report that shows something."""
    return click.option("--report", type=PAGE, help=f"{words}: .html, one page by itself.")


UNCERTAIN = """A deviation, or samples, seed, level, frames, in place of its default: marker_placement=0.01,
marker_noise [m], strengths, attachments [m], inertias."""


def _inputs(ctx: click.Context, param: click.Parameter, changes: Sequence[tuple[str, float]]) -> Any:
    """The inputs that --uncertainty varies; None without it."""
    if ctx.params["uncertainty"]:
        return imported("apps.study_pages").inputs_named(changes)
    if changes:
        raise click.BadParameter("--uncertain changes what --uncertainty varies; give both")
    return None


def uncertainty(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --uncertainty and --uncertain to a command, which gets one `uncertain` for both: the inputs, or None."""
    words = "Vary markers, muscles and bodies together: bands and shares beside OUTPUT, and in the report."
    function = click.option("--uncertainty", is_flag=True, is_eager=True, help=words)(function)
    return click.option("--uncertain", multiple=True, type=NUMBERED, metavar="NAME=NUMBER", help=UNCERTAIN,
                        callback=_inputs)(function)  # fmt: skip


# ---- outputs ---------------------------------------------------------------------------------------------------


def imported(name: str) -> Any:
    """A module of this package that only some calls need, above all one that draws."""
    return importlib.import_module(f"myoquat.{name}")


def recorded(given: Any, model: Model, path: Path | None = None) -> Motion:
    """The motion of a model in the file MOTION, or another one, with --degrees and --ignore."""
    return load_motion(path or given.motion, model, in_degrees=given.degrees, start=model.start, ignore=given.ignore)


def films(given: Any, model: Model) -> list[Any]:
    """MOTION and --compare, as the viewer takes them: films with the names of the files; None for those not given."""
    paths = [given.motion, given.compare]
    return [
        path if path is None or path.suffix.lower() == ".npz"
        else imported("apps.viewer.films").film_of(model, recorded(given, model, path), name=path.stem)
        for path in paths
    ]  # fmt: skip


def shown(given: Any) -> tuple[Any, list[Path]]:
    """The model that is shown, and the folders of its geometry."""
    file = Path(given.model)
    return load_model(given.model, given.rotations), [*given.geometry, *([file.parent] if file.suffix else [])]


def store(given: Any, path: Path | None, what: Any, **options: Any) -> None:
    """Write a table, what can be saved, or what a function of the path writes, and say so; nothing without a path."""
    if path is None:
        return
    if hasattr(what, "save"):
        what.save(path, overwrite=given.force)
    else:
        what(path) if callable(what) else save_table(what, path, overwrite=given.force, **options)
    click.echo(f"wrote {path}")


def store_page(given: Any, title: str, lines: Sequence[str], sections: Callable[[], Sequence[Shown]]) -> None:
    """Write the report that was asked for."""
    store(given, given.report, lambda path: write_report(path, title, lines, sections()))


def bands(given: Any, vary: Callable[[Any, Any], Any]) -> list[Shown]:
    """Store the curves with bands that --uncertainty asks for, and return their sections.

    vary(studies, inputs) computes them with the package `studies`.
    """
    if given.uncertain is None:
        return []
    found, make = vary(imported("analysis.studies"), given.uncertain), imported("apps.study_pages").uncertain_sections
    return make(found, given.uncertain, given.output, given.force)


def exit_unless(good: object) -> None:
    """Exit code 1 where something is not as it should be."""
    if not good:
        raise click.exceptions.Exit(1)
