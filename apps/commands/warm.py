"""`myoquat warm`."""

import time
import warnings
from typing import Any

import click
import numpy as np

from myoquat.apps.commands import options
from myoquat.data import load_model
from myoquat.dynamics import simulate
from myoquat.kernels.runtime.cache import Cache
from myoquat.kernels.runtime.settings import cache_folder
from myoquat.muscle import Model, check_laws, muscle_torques, path_flags, path_jacobian, path_lengths
from myoquat.muscle.states import state_names

STEP_S = 1e-4  # [s] short enough for stiff tendons; results are not used


@options.command("warm")
@options.model
@options.rotations
def command(given: Any) -> None:
    """Compile what MODEL's lengths, moment arms, torques and simulations need into the cache of kernels.

    Later processes then load their machine code instead of compiling it.
    """
    folder = cache_folder()
    if folder is None:
        raise click.UsageError("the cache of kernels is off (MYOQUAT_CACHE); there is nothing to fill")
    obstacle = Cache(folder).obstacle()
    if obstacle is not None:
        raise click.UsageError(f"the cache of kernels keeps nothing: {obstacle}; MYOQUAT_CACHE names another folder")
    began = time.perf_counter()
    found = load_model(given.model, given.rotations)
    if found.muscles:
        path_lengths(found, found.start)
        path_flags(found, found.start)
        for wrt in ("velocity", "coordinates"):
            path_jacobian(found, found.start, wrt)
    _motion(found)
    size = Cache(folder).size() / 2**20
    click.echo(f"{found.name}: ready in {time.perf_counter() - began:.1f} s; the cache holds {size:.1f} MiB")


def _motion(model: Model) -> None:
    """A step of one state and one of two side by side, whose loops differ; why there is none, where there is none."""
    m, q = len(model.muscles), model.start
    try:
        check_laws(model)
    except ValueError as error:
        click.echo(f"no simulation: {error}")
        return
    if m and not state_names(model):
        muscle_torques(model, q, np.zeros(model.system.nu), np.full(m, 0.05))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the motion would tell is for those who ask for it
        activation = np.full(m, 0.05) if m else None
        try:
            for start in (q, np.stack([q, q])):
                simulate(model, start, duration=STEP_S, step=STEP_S, activation=activation, project_start=True)
        except ValueError as error:
            click.echo(f"no simulation: {error}")
