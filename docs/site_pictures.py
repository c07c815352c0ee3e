"""The pictures of the site, drawn at every build by the library itself."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from pictures import drawn

import myoquat as mq
from myoquat.analysis import plot_curves
from myoquat.core import curve_styles
from myoquat.joints.types import PrismaticJoint, RevoluteJoint
from myoquat.muscle import LAWS, PathPoint, WrapCylinder, laws
from myoquat.muscle.display import stick_figure

HILL = {"max_isometric_force": 1000.0, "optimal_fiber_length": 0.1, "tendon_slack_length": 0.2, "pennation": 0.2}
MUJOCO = {"max_isometric_force": 100.0, "shortest_length": 0.075, "longest_length": 0.105}
NUMBERS: dict[str, dict[str, float]] = {
    "A": {"optimal_length": 20.0, "max_isometric_force": 1.0},
    "B": {"optimal_length": 2.0, "max_isometric_force": 12.0},
    "path_spring": {"stiffness": 1e4, "resting_length": 0.1},
    "path_actuator": {"max_isometric_force": 100.0},
    "ligament": {"resting_length": 0.1, "max_force": 100.0},
    "blankevoort1991": {"linear_stiffness": 1000.0, "slack_length": 0.1},
    "mujoco_muscle": MUJOCO,
    "clipped_mujoco_muscle": {**MUJOCO, "greatest_force": 60.0},
    "affine_path": {"gain_0": 500.0, "bias_1": -500.0},
    "clipped_affine_path": {"gain_0": 500.0, "bias_1": -500.0, "least_force": -100.0, "greatest_force": 100.0},
    "path_friction": {"friction": 10.0, "slip_speed": 0.02},
    "slack_spring": {"stiffness": 1000.0, "shortest_length": 0.8, "longest_length": 1.2},
    "path_limit": {"stiffness": 1000.0, "shortest_length": 0.8, "longest_length": 1.2},
}


def draw(folder: Path) -> None:
    """Every picture into a folder, as PNG; those that are there already stay."""
    for name, picture in PICTURES.items():
        path = folder / f"{name}.png"
        if not path.exists():
            picture().savefig(path, dpi=110)
            plt.close("all")


def _law(name: str) -> Callable[[], Any]:
    return lambda: plot_curves(LAWS[name](**NUMBERS.get(name, HILL)))


def _gimbal() -> Any:
    """How far each description is from its singularity along one turn of a ball joint."""
    angle = np.linspace(-np.pi, np.pi, 720)
    Q = mq.joints.quaternion_exp(angle[:, None] * np.array([0.0, 0.0, 1.0]))
    tilted = mq.joints.quaternion_multiply(mq.joints.quaternion_exp(np.array([0.03, 0.02, 0.0])), Q)
    figure, ax = plt.subplots(figsize=(7.5, 4.0), layout="constrained")
    phi = mq.joints.euler_from_quaternion(tilted, "YZY")
    ax.semilogy(np.degrees(angle), mq.joints.condition_euler(phi, "YZY"), "k-", label="Euler angles YZY")
    fixed = mq.joints.condition_constrained(tilted, 0)
    ax.semilogy(np.degrees(angle), fixed, "--", color="tab:blue", label="constrained quaternion, Q0 eliminated")
    k = np.argmax(np.abs(tilted), axis=-1)
    largest = mq.joints.condition_constrained(tilted, k)
    ax.semilogy(np.degrees(angle), largest, ":", lw=2.5, color="tab:orange", label="the largest component eliminated")
    ax.set(xlabel="rotation about z [deg]", ylabel="condition number", xlim=(-180, 180), ylim=(0.8, 1e3))
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _radial() -> Any:
    """|J_Q| of a muscle, and what comes back of it from the spatial Jacobian."""
    model = mq.load_model("two_link")
    angle = np.linspace(-np.pi / 2, np.pi / 2, 201)
    q = np.tile(np.array(model.start_q, float), (len(angle), 1))
    q[:, :4] = mq.joints.quaternion_exp(angle[:, None] * np.array([0.6, 0.0, 0.8]))
    J_Q = mq.path_jacobian(model, q, "quaternion")[:, 0, :4]
    back = mq.joints.spatial_to_quaternion(mq.joints.quaternion_to_spatial(J_Q, q[:, :4]), q[:, :4])
    figure, ax = plt.subplots(figsize=(7.5, 4.0), layout="constrained")
    ax.plot(np.degrees(angle), np.linalg.norm(J_Q, axis=-1), "k-", label=r"$|J_Q|$")
    ax.plot(np.degrees(angle), np.linalg.norm(back, axis=-1), "--", color="tab:blue", label=r"$|2 J G|$: comes back")
    lost = np.linalg.norm(J_Q - back, axis=-1)
    ax.plot(np.degrees(angle), lost, ":", lw=2.5, color="tab:orange", label=r"$|J_Q Q|$: radial, acts on nothing")
    ax.set(xlabel="rotation of the upper joint [deg]", ylabel="muscle m1 [m]")
    figure.legend(loc="outside lower center", ncols=3, fontsize=9)
    return figure


def _turning(quadrant: str, angle: float, rule: str = "shortest") -> Any:
    """A path over a cylinder of radius 1, from (1.2, `angle` [deg] from +y) to an end that turns at 1.7."""
    turn = mq.joints.Body("turn", "ground", RevoluteJoint(axis=(0.0, 0.0, 1.0)), coordinate_names=("turn",), mass=1.0)
    start = -1.2 * np.sin(np.radians(angle)), 1.2 * np.cos(np.radians(angle)), 0.0
    path = PathPoint("ground", start), PathPoint("turn", (0.0, 1.7, 0.0))
    wrap = WrapCylinder(body="ground", radius=1.0, rule=rule, quadrant=quadrant)
    return mq.Model(mq.joints.ArticulatedSystem((turn,)), (mq.Muscle("m", mq.muscle.MusclePath(path, (wrap,))),))


def _sides() -> Any:
    """Paths that keep their side of a cylinder, and their lengths as one end turns."""
    figure, axes = plt.subplots(1, 3, figsize=(12.0, 4.2), layout="constrained")
    turn = np.linspace(-180.0, 300.0, 2401)
    for ax, angle, color in zip(axes, (-100.0, -40.0), ("tab:blue", "tab:orange"), strict=False):
        held, free = _turning("+y", angle), _turning("all", angle)
        for degrees, style in ((40.0, ":"), (140.0, "--"), (230.0, "-")):
            points = stick_figure(held, np.array([np.radians(degrees)])).muscles["m"]
            ax.plot(points[:, 0], points[:, 1], style, color=color, marker="o", markevery=[0, -1])
        ax.add_patch(plt.Circle((0.0, 0.0), 1.0, color="0.85"))
        ax.annotate("", (0.0, 0.8), (0.0, 0.0), arrowprops={"arrowstyle": "->"})
        ax.set(aspect="equal", xlim=(-2.0, 2.0), ylim=(-2.0, 2.0), title=f"one end {angle:.0f}° from ahead")
        ax.set(xlabel="x [radii]", ylabel="y [radii]")
        lengths = mq.path_lengths(held, np.radians(turn)[:, None])[:, 0]
        lengths[np.flatnonzero(np.abs(np.diff(lengths)) > 0.1)] = np.nan
        axes[2].plot(turn, lengths, color=color, label=f"+y, {angle:.0f}°")
        axes[2].plot(turn, mq.path_lengths(free, np.radians(turn)[:, None])[:, 0], ":", color=color, label="all")
    axes[2].set(xlabel="the other end [deg from ahead]", ylabel="length [radii]", xlim=(-180, 300))
    axes[2].legend(fontsize=8)
    return figure


def _mujoco_sides() -> Any:
    """Paths around a cylinder by both rules for a side site, and their lengths as one end turns."""
    figure, axes = plt.subplots(1, 3, figsize=(12.0, 4.2), layout="constrained")
    turn = np.linspace(-180.0, 300.0, 2401)
    rules = {"shortest": ("-", "tab:blue"), "mujoco": ("--", "tab:orange")}
    for rule, (style, color) in rules.items():
        model = _turning("+y", -100.0, rule)
        for ax, degrees in zip(axes, (150.0, 215.0), strict=False):
            points = stick_figure(model, np.array([np.radians(degrees)])).muscles["m"]
            ax.plot(points[:, 0], points[:, 1], style, color=color, marker="o", markevery=[0, -1])
            ax.set(aspect="equal", xlim=(-2.0, 2.0), ylim=(-2.0, 2.0), title=f"the other end {degrees:.0f}°")
        lengths = mq.path_lengths(model, np.radians(turn)[:, None])[:, 0]
        lengths[np.flatnonzero(np.abs(np.diff(lengths)) > 0.1)] = np.nan
        axes[2].plot(turn, lengths, style, color=color, label=f'wrapping="{rule}"')
    for ax in axes[:2]:
        ax.set(xlabel="x [radii]", ylabel="y [radii]")
        ax.add_patch(plt.Circle((0.0, 0.0), 1.0, color="0.85"))
        ax.annotate("", (0.0, 0.8), (0.0, 0.0), arrowprops={"arrowstyle": "->"})
    axes[2].set(xlabel="the other end [deg from the side site]", ylabel="length [radii]", xlim=(-180, 300))
    axes[2].legend(fontsize=8)
    return figure


DISCS = ((-0.42, 0.05), 0.4), ((0.5, 0.0), 0.42)  # centre and radius of two cylinders along z
ENDS = (-1.2, -0.2), (1.2, -0.1)


def _past_discs(sides: dict[int, str], ends: Any = ENDS) -> mq.Model:
    """A path past some of the cylinders, each on its side ("all" for the shorter one); its end slides along y."""
    slide = mq.joints.Body("slide", "ground", PrismaticJoint((0.0, 1.0, 0.0)), coordinate_names=("y",), mass=1.0)
    wraps = tuple(WrapCylinder(body="ground", position=(*DISCS[k][0], 0.0), radius=DISCS[k][1], quadrant=side)
                  for k, side in sides.items())  # fmt: skip
    points = PathPoint("ground", (*ends[0], 0.0)), PathPoint("slide", (*ends[1], 0.0))
    return mq.Model(mq.joints.ArticulatedSystem((slide,)), (mq.Muscle("m", mq.muscle.MusclePath(points, wraps)),))


def _line(model: mq.Model) -> Any:
    """(2, k) a path with the second end at y = 0, and its length as a text."""
    return stick_figure(model, [0.0]).muscles["m"].T[:2], f"{mq.path_lengths(model, [0.0])[0]:.4f}"


def _wrapping_steps() -> Any:
    """The steps of the search for a path past two cylinders, seen along their axes."""
    figure, axes = plt.subplot_mosaic([["a", "b"], ["c", "d"], ["e", "e"]], figsize=(10.0, 9.5), layout="constrained")
    styles = curve_styles(4)
    axes["a"].plot(*np.transpose(ENDS), color="0.6", lw=0.8, label="straight line")
    for k in (0, 1):
        line, length = _line(_past_discs({k: "all"}))
        axes["a"].plot(*line, **styles[k], label=f"surface {k + 1} alone: {length}")
    leaves, reaches = ENDS
    for number, k in enumerate((0, 1, 0, 1)):  # each surface between its neighbours on the path so far
        line, _ = _line(_past_discs({k: "+y"}, (ENDS[0], reaches) if k == 0 else (leaves, ENDS[1])))
        axes["b"].plot(*line, **styles[number], label=f"{number + 1}: surface {k + 1}")
        leaves, reaches = (tuple(line[:, -2]), reaches) if k == 0 else (leaves, tuple(line[:, 1]))
    line, length = _line(_past_discs({0: "+y", 1: "+y"}))
    axes["c"].plot(*line, "k-", label=f"{length}")
    for name, point in zip(("$P_1$", "$Q_1$", "$P_2$", "$Q_2$"), line.T[[1, 16, 17, -2]], strict=True):
        axes["c"].annotate(name, point, xytext=(0, 7), textcoords="offset points", ha="center")
        axes["c"].plot(*point, "ko", ms=4)
    slide = np.linspace(-0.45, 0.45, 361)[:, None]
    for number, sides in enumerate((("-y", "-y"), ("+y", "+y"), ("-y", "+y"), ("+y", "-y"))):
        model = _past_discs(dict(enumerate(sides)))
        line, length = _line(model)
        label = f"sides {sides[0]}, {sides[1]}"
        axes["d"].plot(*line, **styles[number], label=f"{label}: {length}")
        axes["e"].plot(slide[:, 0], mq.path_lengths(model, slide)[:, 0], **styles[number], label=label)
    titles = {"a": "1. starts, each surface alone among them", "b": "2. one surface after the other",
              "c": "3. Newton's method, all tangent points at once", "d": "4. the shortest of the minima"}  # fmt: skip
    for name, title in titles.items():
        for centre, radius in DISCS:
            axes[name].add_patch(plt.Circle(centre, radius, color="0.9"))
        axes[name].set(aspect="equal", title=title, xlabel="x [m]", ylabel="y [m]", ylim=(-0.7, 1.0))
        axes[name].legend(fontsize=8, loc="upper center", ncols=2)
    free = _past_discs({0: "all", 1: "all"})
    length, jump = mq.path_lengths(free, slide)[:, 0], mq.muscle.path_flags(free, slide)[:, 0] & mq.muscle.PathFlag.JUMP
    axes["e"].plot(slide[:, 0], length, color="0.8", lw=6, zorder=0, label="answer")
    axes["e"].plot(slide[jump > 0, 0], length[jump > 0], "|", color="tab:red", ms=14, label="flag JUMP")
    axes["e"].set(title="5. flags, as one end slides", xlabel="y of the end [m]", ylabel="length [m]", ylim=(2.3, 3.9))
    axes["e"].legend(fontsize=8, loc="upper center", ncols=6)
    return figure


def _elbow_learning() -> Any:
    """Successes and steps within the threshold while PPO learns the elbow's poses, of each stored run."""
    table = np.genfromtxt(Path(__file__).parent / "_data" / "elbow_pose_ppo.csv", delimiter=",", skip_header=2)
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
    for k, seed in enumerate(np.unique(table[:, 0])):
        _, steps, successes, within, *_ = table[table[:, 0] == seed].T
        style = {"color": plt.get_cmap("viridis")(k / 3), "linestyle": ("-", "--", ":")[k], "marker": "os^"[k]}
        axes[0].plot(steps / 1000, 100 * successes, label=f"seed {seed:.0f}", **style)
        axes[1].plot(steps / 1000, within, **style)
    axes[0].set(xlabel="steps [thousands]", ylabel="successful episodes [%]", ylim=(80, 101))
    axes[1].set(xlabel="steps [thousands]", ylabel="steps within the threshold, of 100", ylim=(0, 100))
    axes[0].legend()
    return figure


def _shoulder() -> Any:
    """The shoulder of the library from behind and from the right, and arms of muscles as the humerus is abducted."""
    model = mq.load_model("thoracoscapular")
    stick, ribs = stick_figure(model, model.start), model.constraints[0]
    figure, axes = plt.subplots(1, 3, figsize=(12.0, 4.2), layout="constrained", width_ratios=(1, 1, 1.6))
    for ax, (x, y), title in zip(axes, ((0, 1), (2, 1)), ("from behind", "from the right"), strict=False):
        centre, radii = np.array(ribs.first_point), 2 * np.array(ribs.radii)
        ax.add_patch(Ellipse((centre[x], centre[y]), radii[x], radii[y], color="0.9"))
        for segments in stick.bones.values():
            for segment in segments:
                ax.plot(segment[:, x], segment[:, y], color="0.3", lw=3, solid_capstyle="round")
        for points in stick.muscles.values():
            ax.plot(points[:, x], points[:, y], color="#b3202c", lw=1.2)
        ax.set(aspect="equal", title=title, ylim=(-0.4, 0.16), xlabel=f"{'xyz'[x]} [m]", ylabel="y [m]")
    axes[1].invert_xaxis()
    angle = np.linspace(0.0, np.pi / 2, 46)
    q = np.tile(model.start, (len(angle), 1))
    q[:, 8:] = mq.joints.quaternion_exp(angle[:, None] * np.array([0.0, 0.0, 1.0]))
    arms = -mq.path_jacobian(model, q)[..., model.system.u_slices[2]][..., 2]
    shown = ("deltoid_middle", "supraspinatus", "subscapularis", "teres_minor", "teres_major")
    for name, style in zip(shown, curve_styles(len(shown)), strict=True):
        arm = 1e3 * arms[:, model.muscle_names.index(name)]
        axes[2].plot(np.degrees(angle), arm, label=name.replace("_", " "), **style)
    axes[2].set(xlabel="glenohumeral abduction [deg]", ylabel="moment arm [mm]", xlim=(0, 90))
    axes[2].axhline(0.0, color="0.7", lw=0.8)
    axes[2].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
    return figure


PICTURES: dict[str, Callable[[], Any]] = {f"law_{name}": _law(name) for name in laws.LAWS}
PICTURES |= {"gimbal": _gimbal, "radial": _radial, "sides": _sides}
PICTURES |= {"wrapping_steps": _wrapping_steps, "mujoco_sides": _mujoco_sides, "elbow_learning": _elbow_learning}
PICTURES |= {"shoulder": _shoulder}
PICTURES |= {f"figure_{name}": draw for name, draw in drawn.FIGURES.items()}  # those that tests compare
