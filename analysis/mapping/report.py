"""Results of the mapping analysis: tables, a readable text, and JSON."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from myoquat.core import Array, markup, pandas, printable

if TYPE_CHECKING:
    import pandas as pd


Record = dict[str, Any]  # a row of a table: its columns by name


def largest_entry(x: Array) -> Array:
    """(...) largest magnitude along the short last axis; column by column, which NumPy does faster than by rows."""
    columns = np.abs(np.moveaxis(x, -1, 0))
    result: Array = columns[0].copy()
    for column in columns[1:]:
        np.maximum(result, column, out=result)
    return result


SUMMED = ("signed sum", "poses beyond", "unexplained")
GREATEST = ("max |error|", "relative", "scatter")


@dataclass
class Statistics:
    """Errors of one comparison over all poses seen, against a scale per muscle and a condition number per pose.

    scale      (m,) largest entry of each muscle over all poses
    tolerance  of an error over scale and condition
    row        the columns of a table, `MappingReport.to_text` says what they are; the worst muscle by its number
    """

    scale: Array
    tolerance: float
    count: int = 0
    row: Record = field(default_factory=lambda: dict.fromkeys(SUMMED, 0) | dict.fromkeys(GREATEST, 0.0))

    def add(self, error: Array, condition: Array, q: Array, scatter: Callable[[Array], Array] | None = None) -> None:
        """Take in errors (n, joints, m, w) of the n next poses q (n, nq), with condition (n, joints).

        scatter: gives (k, m) by how much J scatters through round-off at k poses, relative to its scale; without it
        there is none. An error that is not a number counts as infinite.
        """
        size = largest_entry(error)
        size[~np.isfinite(size)] = np.inf
        relative = size / self.scale
        bounded = relative / condition[..., None]
        per_pose = largest_entry(bounded.reshape(len(q), -1))
        beyond = np.flatnonzero(per_pose > self.tolerance)
        # poses beyond whose error is larger than the scatter of its muscle
        unexplained, explained = len(beyond), 0.0
        if scatter is not None and len(beyond):
            limits, errors = np.maximum(scatter(beyond), self.tolerance), bounded[beyond]
            unexplained = int(np.count_nonzero(~(errors <= limits[:, None]).all(axis=(1, 2))))
            explained = np.where((errors > self.tolerance).any(axis=1), limits, 0.0).max()
        for name, x in zip(SUMMED, (float(error.sum()), len(beyond), unexplained), strict=True):
            self.row[name] += x
        for name, x in zip(GREATEST, (size.max(), relative.max(), explained), strict=True):
            self.row[name] = max(self.row[name], float(x))
        at = int(per_pose.argmax())
        if "worst pose" not in self.row or per_pose[at] > self.row["per condition"]:  # NaN of an infinite condition too
            joint, muscle = np.unravel_index(int(bounded[at].argmax()), bounded[at].shape)
            self.row |= {
                "per condition": float(per_pose[at]),
                "worst muscle": int(muscle),
                "worst pose": self.count + at,
                "condition there": float(condition[at, joint]),
                "worst q": tuple(q[at].tolist()),
            }
        self.count += len(q)

    def record(self, muscles: tuple[str, ...]) -> Record:
        """The columns of a table, in their order."""
        found = self.row | {"tolerance": self.tolerance, "worst muscle": muscles[self.row["worst muscle"]]}
        return {name: found[name] for name in COLUMNS}


COLUMNS = (
    "signed sum", "max |error|", "relative", "per condition", "tolerance", "poses beyond", "unexplained", "scatter",
    "worst muscle", "worst pose", "condition there", "worst q",
)  # fmt: skip


@dataclass(repr=False)
class MappingReport:
    """Result of `mapping_analysis`.

    mappings  one row per mapping (see `to_text` for the columns)
    power     the power check by three routes
    split     the tangent and radial part of J_Q for three extensions of R(Q)
    singular  error against distance to a singularity

    >>> import myoquat as mq
    >>> report = mq.mapping_analysis("two_link", n=100)
    >>> report
    MappingReport(two_link, n=100, seed=0: all that should hold do)
    >>> report.mappings["mapping"][0], int(report.mappings["poses beyond"][0])
    ('J_phi from J_Q', 0)
    """

    records: dict[str, list[Record]]  # the rows of each table
    model: str = ""
    n: int = 0
    seed: int = 0

    @cached_property
    def mappings(self) -> "pd.DataFrame":
        """One row per mapping."""
        return self._table("mappings")

    @cached_property
    def power(self) -> "pd.DataFrame":
        """The power check, one row per route."""
        return self._table("power")

    @cached_property
    def split(self) -> "pd.DataFrame":
        """The tangent and radial part of J_Q, one row per extension of R(Q)."""
        return self._table("split")

    @cached_property
    def singular(self) -> "pd.DataFrame":
        """Errors against the distance to a singularity, as `approach` gives them."""
        return self._table("singular")

    def _table(self, name: str) -> "pd.DataFrame":
        return pandas.DataFrame(self.records[name])

    @property
    def holds(self) -> bool:
        """True if every mapping that should hold does so at every pose, the power check and the split included. Its
        error must be within the limit, or within what round-off of the coordinates changes in J."""
        return not any(row["unexplained"] for row in self._expected)

    @property
    def _expected(self) -> list[Record]:
        """The rows of what should hold."""
        checked = self.records["mappings"] + self.records["power"] + self.records["split"]
        return [row for row in checked if row.get("should hold", True)]

    def to_text(self) -> str:
        """The tables as a person reads them."""
        return "\n".join(_lines(self))

    def to_json(self) -> str:
        """All tables as JSON; numbers that are not finite are null."""
        content: dict[str, Any] = {"model": self.model, "n": self.n, "seed": self.seed, "holds": self.holds}
        content |= {name: [_plain(record) for record in table] for name, table in self.records.items()}
        return json.dumps(content, indent=1, allow_nan=False)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        outcome = "all that should hold do" if self.holds else "SOME THAT SHOULD HOLD DO NOT"
        return f"MappingReport({printable(self.model)}, n={self.n}, seed={self.seed}: {outcome})"

    def _repr_html_(self) -> str:
        """The mappings as a table in Jupyter."""
        shown = self.mappings[["mapping", "unit", "max |error|", "per condition", "poses beyond", "should hold"]]
        return f"<p>{markup(repr(self))}</p>{shown.to_html(index=False, float_format='{:.2e}'.format)}"


def _plain(record: Record) -> Record:
    return {str(k): None if isinstance(v, float) and not math.isfinite(v) else v for k, v in record.items()}


# ---- the text ----------------------------------------------------------------------------------------------

HEAD = (
    f"{'unit':<5}{'signed sum':>11} {'max |error|':>11} {'relative':>9} {'/ condition':>11} {'poses beyond':>12} "
    f"{'unexplained':>11} {'scatter':>8} {'limit':>7}  worst"
)


def _lines(report: MappingReport) -> list[str]:
    rows = report.records
    studied = [r for r in rows["mappings"] if r["in the study"]]
    others = [r for r in rows["mappings"] if not r["in the study"]]
    lines = [
        f"Mapping analysis of {printable(report.model)}: {report.n} random poses, seed {report.seed}",
        "",
        "J = dl/d(rotation), J_Q = dl/dQ, J*_Q = dl/dQ* (Q0 eliminated), J_phi = dl/dphi: four separate",
        "differentiations of the muscle lengths l. Each row maps one into another and compares the result, entry by",
        "entry, with the one differentiated. Over all poses, joints, muscles and entries:",
        "  signed sum    sum of the errors with their signs, as the study prints it; errors of both signs cancel",
        "  max |error|   largest error, in the row's unit",
        "  relative      largest error over the largest entry of the muscle",
        "  / condition   the same, divided by the condition number of the map at the pose",
        "  poses beyond  number of poses at which '/ condition' exceeds the limit",
        "  unexplained   of these, poses at which it also exceeds the scatter of J: the largest change of the muscle's",
        "                J, over its largest entry, where coordinates change by 4 machine epsilons, in 64 draws",
        "  scatter       the largest scatter of a muscle that is beyond the limit; no mapping can be more exact",
        "  worst         muscle and pose at which '/ condition' is largest",
        "",
        _header("Mappings of the muscle Jacobian study"),
        *(_row(r["mapping"], r) for r in studied),
        "",
        _header("Every Jacobian against J"),
        *(_row(r["mapping"], r) for r in others),
        "",
        _header("Power: torque . omega against -F l'"),
        *(_row(r["torque"], r) for r in rows["power"]),
        "",
        *_split_lines(report),
        "",
        *_singular_lines(report),
        "",
        _outcome(report) if report.holds else "SOME MAPPINGS THAT SHOULD HOLD DO NOT: see 'poses beyond' above.",
    ]
    return lines


def _outcome(report: MappingReport) -> str:
    """What is said where all that should hold does."""
    beyond = max(row["poses beyond"] for row in report._expected)
    if not beyond:
        return "All mappings that should hold do, at every pose."
    return (
        f"All mappings that should hold do. At up to {beyond} poses of a row their errors exceed the limit, but not "
        "the scatter of J there."
    )


def _header(title: str) -> str:
    return f"{title:<40}{HEAD}"


def _row(title: str, r: Record) -> str:
    fails = "" if r.get("should hold", True) else "  (not expected to hold)"
    return (
        f"  {title:<38}{r['unit']:<5}{r['signed sum']:>11.2e} {r['max |error|']:>11.2e} {r['relative']:>9.1e} "
        f"{r['per condition']:>11.1e} {r['poses beyond']:>12} {r['unexplained']:>11} {r['scatter']:>8.0e} "
        f"{r['tolerance']:>7.0e}  {printable(r['worst muscle'])} at pose {r['worst pose']}{fails}"
    )


def _split_lines(report: MappingReport) -> list[str]:
    lines = [
        "Why J_Q does not come back: J_Q depends on how R(Q) is continued off the unit sphere, and its radial part",
        "J_Q Q is lost in J. J_Q = 2 J G + (J_Q Q) Q^T; both give the same torques, since G Q = 0.",
        f"  {'extension of R(Q)':<24}{'largest |J_Q Q|':>16} {'|J_Q - 2 J G - (J_Q Q) Q^T|':>30} {'poses beyond':>13} "
        f"{'limit':>7}",
    ]
    for r in report.records["split"]:
        lines.append(
            f"  {r['extension of R(Q)']:<24}{r['largest |J_Q Q|']:>16.3g} {r['max |error|']:>30.2e} "
            f"{r['poses beyond']:>13} {r['tolerance']:>7.0e}"
        )
    return lines


def _singular_lines(report: MappingReport) -> list[str]:
    lines = [
        "Beside a singularity: relative error of J, mapped from J_phi near gimbal lock and from J*_Q near Q0 = 0, and",
        "at the same pose from J*_Q with the largest component eliminated.",
        f"  {'approach':<14}{'distance':>10} {'condition':>11} {'largest entry':>14} {'error':>10} "
        f"{'largest elim.':>14}",
    ]
    for r in report.records["singular"]:
        exponent = math.log10(r["distance"])
        if round(exponent, 6) % 2 == 0 and exponent < 0:
            error = "refused" if math.isnan(r["error"]) else f"{r['error']:.1e}"
            lines.append(
                f"  {r['approach']:<14}{r['distance']:>10.0e} {r['condition']:>11.1e} {r['largest entry']:>14.3g} "
                f"{error:>10} {r['error, largest eliminated']:>14.1e}"
            )
    return lines
