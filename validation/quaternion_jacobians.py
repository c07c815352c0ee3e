"""The mapping analysis of quaternion muscle Jacobians, as published and as corrected, of both published models.

The published mappings have rotation matrices as polynomials of four components, a root that is fixed to be positive.
Their maps back to four elements do not return them. The corrected maps lose only the radial part: 2 J G = J_Q (1 - Q
Q^T). They eliminate the greatest component and keep its sign [B. Graf, Quaternions and dynamics, arXiv:0811.2889].
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from myoquat.analysis.mapping import MappingReport, mapping_analysis
from myoquat.analysis.mapping.figures import along, plot_singular, prescribed_path
from myoquat.analysis.mapping.run import Pair
from myoquat.analysis.studies import UncertainInputs
from myoquat.analysis.studies.uncertain_loads import BAND_COLOR, central_band
from myoquat.core import Array, Picture, figure_label
from myoquat.data import load_model
from myoquat.joints import convert_coordinates, quaternion_to_spatial, spatial_to_constrained
from myoquat.joints.vectors import vecmat
from myoquat.muscle import Parameters, path_jacobian
from myoquat.muscle.model import Model

MODELS = ("mapping_analysis", "two_link")
SEED = 0
ERROR = "largest error"
FLOOR = 1e-17
MUSCLE, STRIDE = 1, 8  # the muscle along the motion, and frames per frame of its bands


def analysed(poses: int) -> dict[str, tuple[Model, MappingReport]]:
    """Both models, and the reports of their analysis at random poses."""
    found = {}
    for name in MODELS:
        model = load_model(name)
        found[name] = model, mapping_analysis(model, poses, SEED, progress=None)
    return found


def table_of(reports: dict[str, tuple[Model, MappingReport]], published: bool) -> pd.DataFrame:
    """Mappings of the published study, or those beside them, with the greatest relative error of both models."""
    columns = {}
    for name, (_, report) in reports.items():
        rows = report.mappings[report.mappings["in the study"] == published].set_index("mapping")
        columns[f"{name}: {ERROR}"] = rows["relative"].astype(float)
        columns["should hold"] = rows["should hold"]
    return pd.DataFrame(columns)


def error_figure(reports: dict[str, tuple[Model, MappingReport]]) -> Figure:
    """Errors of the published mappings beside those of the others, both models in each."""
    figure = Picture(figsize=(12.5, 5.0), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True)
    for axis, published, title in zip(axes, (True, False), ("as published", "as corrected"), strict=True):
        table = table_of(reports, published)
        place = np.arange(len(table))[::-1]
        for name, marker, color, shift in zip(MODELS, "os", ("black", "#e08a1e"), (0.12, -0.12), strict=True):
            axis.plot(table[f"{name}: {ERROR}"].clip(lower=FLOOR), place + shift, marker, color=color,
                      label=figure_label(name))  # fmt: skip
        axis.set_yticks(place, [figure_label(str(name)) for name in table.index], fontsize=8)
        axis.set_xscale("log")
        axis.set_xlabel("largest relative error [-]")
        axis.set_title(title)
        axis.grid(True, axis="x", color="0.9")
    axes[0].legend(frameon=False, fontsize=9)
    return figure


def path_figure(model: Model, samples: int = 0) -> Figure:
    """Moment arms, J_Q and J*_Q of the second muscle along a motion past gimbal lock, with bands of 90 % of samples of
    its attachments (`UncertainInputs`)."""
    time, q = prescribed_path(model)
    figure = along(model, time, q, model.muscle_names[MUSCLE])
    if samples:
        rows = slice(None, None, STRIDE)
        for part, bands in zip(figure.subfigs, _bands(model, q[rows], samples), strict=True):
            for axis, (low, high) in zip(part.axes, np.moveaxis(bands, -1, 0), strict=True):
                axis.fill_between(time[rows], -high, -low, color=BAND_COLOR, lw=0, zorder=0.5)
    return figure


def _bands(model: Model, q: Array, samples: int) -> list[Array]:
    """Low and high values (2, t, columns) of J_phi, J_Q and J*_Q of all ball joints. All three follow from J_Q of the
    varied model."""
    pair, inputs = Pair.of(model), UncertainInputs()
    phi = convert_coordinates(pair.quaternion.system, pair.euler.system, q)
    alone = replace(pair.quaternion, muscles=pair.quaternion.muscles[MUSCLE : MUSCLE + 1], groups=())
    own = alone.muscles[0]
    names = [f"muscles.{own.name}.path.{k}.position.{x}" for k in (0, len(own.path.points) - 1) for x in "xyz"]
    parameters, rng = Parameters.of(alone, names), np.random.default_rng(SEED)
    found: list[list[Array]] = [[], [], []]
    for _ in range(samples):
        p = parameters.defaults + inputs.attachments * rng.standard_normal(len(names))
        bound: Any = parameters.bind(p)
        J = path_jacobian(bound, q, "quaternion", backend="numpy")[:, 0]
        spatial = [quaternion_to_spatial(J[:, ball.q], q[:, ball.q]) for ball in pair.balls]
        balls = list(zip(pair.balls, spatial, strict=True))
        found[0].append(np.concatenate([vecmat(s, b.reading.rate_matrix(phi[:, b.phi])) for b, s in balls], axis=-1))
        found[1].append(np.concatenate([J[:, b.q] for b in pair.balls], axis=-1))
        found[2].append(np.concatenate([spatial_to_constrained(s, q[:, b.q], 0) for b, s in balls], axis=-1))
    return [central_band(np.array(values), inputs.level) for values in found]


def singular_figure(report: MappingReport, name: str) -> Figure:
    """Errors beside gimbal lock and Q0 = 0: as published, and with the greatest component eliminated."""
    figure = Picture(figsize=(9.6, 3.8), layout="constrained")
    plot_singular(figure.subplots(1, 2, sharey=True), report.singular)
    figure.suptitle(figure_label(f"{name}: beside the singularities"))
    return figure
