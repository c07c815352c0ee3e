"""Fitted paths: errors on held-out poses, terms, times, beside the solved paths and OpenSim's polynomials.

MYOQUAT_SHOULDER names a folder with TSM_subject_noWeight.osim (A. Seth and others 2019), MOBL_ARMS_41.osim (K. Saul and
others 2015) and wu.osim (W. Wu and others 2016, of pyomeca/biobuddy); those that are missing are left out.
MYOQUAT_MOCO_WALK names one with OpenSim's example of a walk: subject_walk_scaled.osim, coordinates.sto and
subject_walk_scaled_FunctionBasedPathSet.xml, the paths that its PolynomialPathFitter found. MYOQUAT_FITS chooses some
of library, seth, wu, mobl and walk, with commas between. Each model is fitted to 3,072 poses of the ranges below, 180
degrees of elevation included, and held against the solved paths at MYOQUAT_FITS_POSES others, 100,000 by default. A
line is printed for every phase and every muscle. Seconds are of the processor, all threads together, with cached
kernels for the fits.
"""

import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from myoquat import kernels
from myoquat.analysis.fits import Certificate, FitSettings, PathFits, certify, fit_paths, range_poses
from myoquat.analysis.fits.poses import allowed_motions
from myoquat.data import load_model, load_motion, load_paths
from myoquat.muscle import Model, path_jacobian, path_lengths
from myoquat.muscle.coordinates import follow
from myoquat.muscle.segments.lengths import lengths

FITTED, HELD, TIMED = 3072, int(os.environ.get("MYOQUAT_FITS_POSES", "100000")), 4096
ALIKE = 2000  # poses of the fits with OpenSim's errors
POWER = 512  # poses of the power balance
LENGTH, ARM = 1e-4, 5e-4  # [m] wanted root mean squares
SPREAD = np.deg2rad(10.0)  # around the frames of a walk, as OpenSim's fitter by default
ANATOMICAL: dict[str, tuple[str, str, dict[str, tuple[float, float]], dict[str, float]]] = {  # file, degrees
    "thoracoscapular, the library's": ("library", "thoracoscapular", {}, {"clavicle": 20.0, "humerus": 120.0}),
    "thoracoscapular, Seth 2019": (
        "seth",
        "TSM_subject_noWeight.osim",
        {"scapula_abduction": (-45, 15), "scapula_elevation": (-10, 15), "scapula_upward_rot": (0, 75),
         "plane_elv": (-45, 110), "shoulder_elv": (0, 120), "axial_rot": (-60, 60),
         "elbow_flexion": (0, 130), "pro_sup": (-90, 90)},
        {},
    ),
    "Wu 2016": (
        "wu",
        "wu.osim",
        {"sternoclavicular_r1": (-20, 20), "sternoclavicular_r2": (-20, 20), "Acromioclavicular_r1": (-20, 20),
         "Acromioclavicular_r2": (-20, 20), "Acromioclavicular_r3": (-20, 20), "shoulder_plane": (-108, 20),
         "shoulder_ele": (-17, 172), "shoulder_rotation": (0, 172), "elbow_flexion": (0, 130), "pro_sup": (-90, 90)},
        {},
    ),
    "MOBL-ARMS, Saul 2015": (
        "mobl",
        "MOBL_ARMS_41.osim",
        {"elv_angle": (-20, 110), "shoulder_elv": (0, 180), "shoulder_rot": (-60, 60), "elbow_flexion": (0, 130),
         "pro_sup": (-90, 90), "deviation": (-10, 25), "flexion": (-70, 70)},
        {},
    ),
}  # fmt: skip


def run() -> list[dict[str, Any]]:
    """Rows of every model, of the muscles that miss the wanted errors, of times, power and OpenSim's polynomials."""
    chosen = [name for name in os.environ.get("MYOQUAT_FITS", "").split(",") if name]
    rows: list[dict[str, Any]] = []
    for name, (key, file, ranges, turns) in ANATOMICAL.items():
        path = file if "." not in file else str(Path(os.environ.get("MYOQUAT_SHOULDER", "")) / file)
        if (not chosen or key in chosen) and ("." not in file or Path(path).exists()):
            rows += _model_rows(name, _read(path, "quaternion"), ranges, turns)
    walk = os.environ.get("MYOQUAT_MOCO_WALK")
    return rows + (_walk_rows(Path(walk)) if walk and (not chosen or "walk" in chosen) else [])


class _Phases:
    """Seconds of the processor and of the clock, printed phase by phase."""

    def __init__(self, model: str) -> None:
        self._model = model
        self.seconds: dict[str, float] = {}
        self._start = time.process_time(), time.perf_counter()

    def end(self, phase: str) -> None:
        """The time since the phase before belongs to this one."""
        now = time.process_time(), time.perf_counter()
        own, wall = (b - a for a, b in zip(self._start, now, strict=True))
        self.seconds |= {f"{phase} [s]": own, f"{phase}, wall [s]": wall}
        click.echo(f"{self._model}: {phase} {own:.2f} s, on the clock {wall:.2f} s")
        self._start = now


def _read(file: str, rotations: str) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model(file, rotations=rotations)


def _model_rows(
    name: str, model: Model, degrees: Mapping[str, tuple[float, float]], turned: Mapping[str, float]
) -> list[dict[str, Any]]:
    ranges = {key: (float(np.deg2rad(low)), float(np.deg2rad(high))) for key, (low, high) in degrees.items()}
    turns = {body: float(np.deg2rad(angle)) for body, angle in turned.items()}
    phases = _Phases(name)
    q = range_poses(model, FITTED, ranges, turns)
    fit_paths(model, q[:64], settings=FitSettings(degree=1))
    phases.end("poses, and kernels where none are cached")
    fits = fit_paths(model, q)
    phases.end("fit")
    held, fitted = range_poses(model, HELD, ranges, turns, seed=1), model.with_fitted_paths(fits)
    times, power = _times(name, model, fitted, held[:TIMED]), _power(name, fitted, held[:POWER])
    phases.end("kernels of the fits, evaluation and power")
    found = certify(model, fits, held)
    phases.end("certificate")
    _print_muscles(found)
    row = {"work": "errors at held-out poses [mm]", **_summary(name, model, fits, found), "poses": HELD}
    return [row | {key: phases.seconds[key] for key in ("fit [s]", "fit, wall [s]", "certificate [s]")},
            *_missing(name, found), times, power]  # fmt: skip


def _print_muscles(found: Certificate, *others: Any) -> None:
    """A line for every muscle, with a star for those that miss the wanted errors. It has errors in mm, and the numbers
    of the poses with the greatest ones. The `others` have columns by muscle that come after these."""
    t = found.table
    shown = pd.DataFrame({
        "": np.where((t.length_rms <= LENGTH) & (t.arm_rms <= ARM), "", "*"), "terms": t.terms,
        "length": t.length_rms * 1e3, "greatest": t.length_greatest * 1e3, "pose": t.length_pose,
        "arm": t.arm_rms * 1e3, "arm, greatest": t.arm_greatest * 1e3, "arm, pose": t.arm_pose,
        "near jumps": t.near_jump, "beyond jumps": t.beyond_jump, "anywhere": t.length_anywhere * 1e3,
    })  # fmt: skip
    click.echo(pd.concat([shown, *others], axis=1).to_string(float_format="%.3g".__mod__))


def _summary(route: str, model: Model, fits: PathFits, found: Certificate) -> dict[str, Any]:
    t = found.table
    within = (t.length_rms <= LENGTH) & (t.arm_rms <= ARM)
    return {
        "route": route,
        "muscles": len(model.muscles),
        "within": int(within.sum()),
        "terms": int(t.terms.sum()),
        "length, median": t.length_rms.median() * 1e3,
        "length, worst": t.length_rms.max() * 1e3,
        "arm, median": t.arm_rms.median() * 1e3,
        "arm, worst": t.arm_rms.max() * 1e3,
        "near jumps": t.near_jump.mean(),
        "beyond jumps": t.beyond_jump.mean(),
    }


def _missing(name: str, found: Certificate) -> list[dict[str, Any]]:
    """A row for every muscle that misses the wanted errors."""
    t = found.table[(found.table.length_rms > LENGTH) | (found.table.arm_rms > ARM)]
    return [{"work": f"{name}: muscles beyond 0.1 mm of length or 0.5 mm of moment arm, errors [mm]", "route": muscle,
             "terms": row.terms, "length": row.length_rms * 1e3, "greatest": row.length_greatest * 1e3,
             "arm": row.arm_rms * 1e3, "arm, greatest": row.arm_greatest * 1e3, "near jumps": row.near_jump,
             "beyond jumps": row.beyond_jump, "anywhere": row.length_anywhere * 1e3}
            for muscle, row in t.iterrows()]  # fmt: skip


def _times(name: str, model: Model, fitted: Model, q: np.ndarray) -> dict[str, Any]:
    """Microseconds of a processor for lengths and Jacobians of a pose, in turns."""
    times: tuple[list[float], list[float]] = [], []
    for repeat in range(6):
        for each, own in zip((fitted, model), times, strict=True):
            start = time.process_time()
            path_lengths(each, q)
            path_jacobian(each, q)
            if repeat:
                own.append((time.process_time() - start) / len(q) * 1e6)
    new, old = (float(np.median(own)) for own in times)
    return {"work": "lengths and Jacobians, us of a processor", "route": name, "fitted": new, "solved": old,
            "ratio": old / new}  # fmt: skip


def _power(name: str, model: Model, q: np.ndarray) -> dict[str, Any]:
    """Power of the torques of unit tensions against their lengthening speeds. Motions are random ones that the
    constraints allow; speeds follow from forward differentiation of the lengths."""
    allowed, u = allowed_motions(model, q), np.random.default_rng(0).normal(size=(len(q), model.system.nu))
    u = np.matvec(allowed, u)

    def formula(q: Any) -> Any:
        return lengths(model.system, model.paths, q)

    speeds = kernels.compile(formula, {"q": model.system.nq}, "l").jvp()(q, model.system.rates(q, u))
    balance = np.einsum("nmk,nk->nm", path_jacobian(model, q), u) - speeds
    return {"work": "power balance, over the greatest power", "route": name,
            "error": float(np.abs(balance).max() / np.abs(speeds).max())}  # fmt: skip


def _walk_rows(folder: Path) -> list[dict[str, Any]]:
    """OpenSim's polynomials and ours around the frames of a walk, both against the solved paths here."""
    rows: list[dict[str, Any]] = []
    for rotations in ("file", "quaternion"):
        model = _read(str(folder / "subject_walk_scaled.osim"), rotations)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frames = load_motion(folder / "coordinates.sto", model, start=model.start).q
        fitted, held = (_around(model, frames, n, seed) for n, seed in ((FITTED, 0), (HELD // 4, 1)))
        theirs = load_paths(folder / "subject_walk_scaled_FunctionBasedPathSet.xml")
        phases = _Phases(f"walk, {rotations}")
        fit_paths(model, fitted[:64], muscles=tuple(theirs), settings=FitSettings(degree=1))
        phases.end("kernels where none are cached")
        fits = fit_paths(model, fitted, muscles=tuple(theirs), settings=FitSettings(5e-5, 2.5e-4))
        phases.end("fit")
        found = certify(model, fits, held)
        phases.end("certificate")
        row = {"work": "around a walk [mm]", **_summary(f"here, {rotations}", model, fits, found)}
        own = _opensim_errors(model, theirs, held, found)
        if not rows:
            rows.append({"work": "around a walk [mm]", **_opensim_summary(model, own)})
        alike = _terms_alike(model, fitted, own, found)
        _print_muscles(found, alike, own.rename(columns=lambda name: f"{name}, OpenSim"))
        t = found.table
        better = (t.length_rms < own.length * 1e-3) & (t.arm_rms < own.arm * 1e-3)
        rows.append(row | {"fit [s]": phases.seconds["fit [s]"], "better": int(better.sum()),
                           "with fewer terms": int((better & (alike < own.terms)).sum()),
                           "with as many": int((better & (alike == own.terms)).sum())})  # fmt: skip
    return rows


def _terms_alike(model: Model, q: np.ndarray, own: pd.DataFrame, ours: Certificate) -> pd.Series:
    """The terms that errors a tenth below OpenSim's need here, by muscle."""
    terms = ours.table.terms.copy()
    for name, row in own[terms >= own.terms].iterrows():
        settings = FitSettings(0.9e-3 * row.length, 0.9e-3 * row.arm)
        terms[name] = min(terms[name], fit_paths(model, q[:ALIKE], muscles=(name,), settings=settings).fits[name].terms)
    return terms.rename("terms for OpenSim's errors")


def _around(model: Model, frames: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Poses around frames: every angle of a rotating joint moves by at most SPREAD."""
    rng = np.random.default_rng(seed)
    own = {c.dependent for c in model.couplers}
    q = frames[rng.integers(len(frames), size=n)]
    follow(model.couplers, model.system, q)  # the file gives coupled angles in degrees
    q = model.system.integrate(q, rng.uniform(-SPREAD, SPREAD, (n, model.system.nu)) * _turning(model, own))
    follow(model.couplers, model.system, q)
    return q


def _turning(model: Model, left: set[str]) -> np.ndarray:
    """(nu,) 1 for velocities that are angular and not of a coupled coordinate."""
    names = model.system.velocity_names
    return np.array([0.0 if any(name.startswith(other) for other in left) or "_t" in name else 1.0 for name in names])


def _opensim_errors(model: Model, theirs: Any, q: np.ndarray, ours: Certificate) -> pd.DataFrame:
    """Terms and errors [mm] of OpenSim's polynomials by muscle, at the poses that count for ours."""
    fitted, at = model.with_fitted_paths(theirs), [model.muscle_names.index(name) for name in theirs]
    l = (path_lengths(fitted, q) - path_lengths(model, q))[:, at]
    J = (path_jacobian(fitted, q) - path_jacobian(model, q))[:, at]
    counted = np.ones(l.shape, dtype=bool)
    for k, name in enumerate(theirs):
        counted[ours.excluded[name], k] = counted[ours.beyond[name], k] = False
    crossed = [len(path[-1].coordinates) for path in theirs.values()]
    length = np.sqrt(np.sum(l**2 * counted, axis=0) / counted.sum(axis=0))
    arm = np.sqrt(np.sum(np.sum(J**2, axis=-1) * counted, axis=0) / counted.sum(axis=0) / crossed)
    terms = [int(np.count_nonzero(path[-1].length.coefficients)) for path in theirs.values()]
    return pd.DataFrame({"terms": terms, "length": length * 1e3, "arm": arm * 1e3}, index=pd.Index(list(theirs)))


def _opensim_summary(model: Model, own: pd.DataFrame) -> dict[str, Any]:
    within = (own.length <= LENGTH * 1e3) & (own.arm <= ARM * 1e3)
    return {"route": "OpenSim's PolynomialPathFitter", "muscles": len(model.muscles), "within": int(within.sum()),
            "terms": int(own.terms.sum()), "length, median": own.length.median(), "length, worst": own.length.max(),
            "arm, median": own.arm.median(), "arm, worst": own.arm.max()}  # fmt: skip
