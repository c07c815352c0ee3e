"""The mapping analysis of quaternion muscle Jacobians, as published and as corrected, of both published models.

As published: rotation matrices as polynomials of four components, a root that is fixed to be positive, and maps back to
four elements that do not return them. Corrected: the part that is lost is the radial one, 2 J G = J_Q (1 - Q Q^T), the
eliminated component keeps its sign and is the greatest one [B. Graf, Quaternions and dynamics, arXiv:0811.2889].
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from myoquat.analysis.mapping import MappingReport, mapping_analysis
from myoquat.analysis.mapping.figures import along, plot_singular, prescribed_path
from myoquat.data import load_model
from myoquat.joints.labels import figure_label
from myoquat.joints.picture import Picture
from myoquat.muscle.model import Model

__all__ = ["MODELS", "analysed", "error_figure", "path_figure", "singular_figure", "table_of"]

MODELS = ("mapping_analysis", "two_link")
SEED = 0
ERROR = "largest error"
FLOOR = 1e-17


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


def path_figure(model: Model) -> Figure:
    """Moment arms, J_Q and J*_Q of the second muscle along a motion past gimbal lock."""
    return along(model, *prescribed_path(model))


def singular_figure(report: MappingReport, name: str) -> Figure:
    """Errors beside gimbal lock and Q0 = 0: as published, and with the greatest component eliminated."""
    figure = Picture(figsize=(9.6, 3.8), layout="constrained")
    plot_singular(figure.subplots(1, 2, sharey=True), report.singular)
    figure.suptitle(figure_label(f"{name}: beside the singularities"))
    return figure
