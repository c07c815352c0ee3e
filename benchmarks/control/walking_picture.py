"""The predicted walk as a picture: figures of the body, forces on the ground, angles, activations."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from myoquat.analysis.control import Solution
from myoquat.core import Array
from myoquat.joints.frames import total_mass
from myoquat.muscle import Model, contact_forces

LEG, HEAD, TOE = ("femur", "tibia", "talus", "calcn"), (0.0, 0.6, 0.0), (0.18, -0.02, 0.0)
SHOWN = 7  # figures of the body
COLOURS = {"r": "tab:red", "l": "tab:blue"}
STYLES = {"r": "-", "l": "--"}
ANGLES = ("hip_flexion", "knee_angle", "ankle_angle")


def sole(solution: Solution, side: str, place: tuple[float, ...]) -> Array:
    """(t, 3) [m] a point of a foot."""
    system = solution.statement.plant.system
    assert system is not None
    R, p = system.poses(solution.q)[f"calcn_{side}"]
    return p + np.einsum("tij,j->ti", R, np.array(place))


def draw_walk(solution: Solution, path: Path) -> None:
    """Write the picture of a half cycle; the whole cycle follows by symmetry."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 6.5), constrained_layout=True)
    _bodies(axes[0, 0], solution)
    _forces(axes[0, 1], solution)
    _angles(axes[1, 0], solution)
    _activations(axes[1, 1], solution)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _bodies(axes: Any, solution: Solution) -> None:
    system = solution.statement.plant.system
    assert system is not None
    poses = system.poses(solution.q)
    for k in np.linspace(0, len(solution.time) - 1, SHOWN).astype(int):
        R, p = poses["torso"]
        trunk = np.stack([poses["pelvis"][1][k], p[k], p[k] + R[k] @ np.array(HEAD)])
        axes.plot(trunk[:, 0], trunk[:, 1], color="0.2", lw=2)
        for side in "rl":
            toe = sole(solution, side, TOE)[k]
            points = np.stack([*(poses[f"{body}_{side}"][1][k] for body in LEG), toe])
            axes.plot(points[:, 0], points[:, 1], STYLES[side], color=COLOURS[side], lw=1.5)
    axes.axhline(0.0, color="0.6", lw=0.8)
    axes.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="right leg (solid) swings, left leg (dashed) stands")


def _forces(axes: Any, solution: Solution) -> None:
    """Of one foot over its whole stance: the left one now, the right one half a cycle later."""
    model = solution.model
    assert isinstance(model, Model)
    weight = total_mass(model.system) * float(np.linalg.norm(model.system.gravity))
    force = contact_forces(model, solution.q, solution.u) / weight
    right, left = force[:, :2].sum(axis=1), force[:, 2:].sum(axis=1)
    stance = np.concatenate([right, left[1:]])
    cycle = np.concatenate([solution.time, solution.duration + solution.time[1:]]) / (2 * solution.duration) * 100
    axes.plot(cycle, stance[:, 1], "k-", label="vertical")
    axes.plot(cycle, stance[:, 0], "k:", label="forward")
    axes.set(xlabel="cycle from the swing of the right foot on [%]", ylabel="force over weight [1]", title="right foot")
    axes.legend()


def _angles(axes: Any, solution: Solution) -> None:
    cycle = np.concatenate([solution.time, solution.duration + solution.time[1:]]) / (2 * solution.duration) * 100
    for name, style in zip(ANGLES, ("-", "--", ":"), strict=True):
        angle = np.concatenate([solution[f"{name}_r"], solution[f"{name}_l"][1:]])
        axes.plot(cycle, np.degrees(angle), style, color="k", label=name)
    axes.set(xlabel="cycle [%]", ylabel="angle [deg]", title="right leg")
    axes.legend()


def _activations(axes: Any, solution: Solution) -> None:
    model = solution.model
    assert isinstance(model, Model)
    names = [name.removesuffix("_r") for name in model.muscle_names if name.endswith("_r")]
    rows = [np.concatenate([solution[f"{name}_r.activation"], solution[f"{name}_l.activation"][1:]]) for name in names]
    shown = axes.imshow(rows, aspect="auto", cmap="Greys", vmin=0.0, vmax=1.0, extent=(0, 100, len(names) - 0.5, -0.5))
    axes.set(xlabel="cycle [%]", title="activations of the right leg", yticks=range(len(names)), yticklabels=names)
    plt.colorbar(shown, ax=axes, label="activation [1]")
