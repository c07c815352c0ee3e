"""The figures that are compared, by their names, and how far two pictures are apart."""

import contextlib
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread, imsave

sys.path.insert(0, str(Path(__file__).parents[1]))

from documents import ROOT, running_blocks

import myoquat as mq
from myoquat.analysis import (
    plot_activations,
    plot_curves,
    plot_cycles,
    plot_lengths,
    plot_loads,
    plot_moment_arms,
    plot_socket,
)
from myoquat.analysis.recruitment import JointCone, emg_driven, moment_arm_surface
from myoquat.analysis.recruitment.figures import plot_surface
from myoquat.analysis.studies import plot_heat_map, plot_sobol, plot_tornado
from myoquat.core import Panel, draw_panels
from myoquat.data import Emg
from myoquat.muscle import PathPoint, WrapSphere
from myoquat.muscle.laws import Thelen2003
from tests.bodies import on_hinge

FOLDER = Path(__file__).parent / "expected"
DPI, BLOCK, TOLERANCE = 45, 5, 5.0  # pixels per inch; a block whose mean is compared; of 255
TIME = np.linspace(0.0, 1.0, 41)


def waves(count, sides=("r", "l")):
    """Curves with names of two sides of the body, some of them zero."""
    names = tuple(f"muscle{k // len(sides)}_{sides[k % len(sides)]}" for k in range(count))
    values = np.stack([(1 + k) * np.sin(2 * np.pi * TIME + 0.3 * k) ** 2 for k in range(count)], axis=-1)
    values[:, 3] = 0.0
    return names, values


def many_curves():
    names, values = waves(22)
    return draw_panels(TIME, [Panel("muscle tensions", "N", names, values, shared=True)], events={"toe off": 0.62})


def motion():
    return mq.simulate(mq.load_model("two_link"), duration=1.0, step=1e-2, output_step=0.02).plot()


def moment_arms():
    """A path that slips off a sphere: its arm jumps, which is a gap."""
    rod = on_hinge("rod", "z", "elbow")
    path = PathPoint("ground", (-0.3, 0.1, 0.0)), PathPoint("rod", (0.2, 0.02, 0.0))
    muscles = (
        mq.Muscle("over", mq.muscle.MusclePath(path, wraps=(WrapSphere(body="ground", radius=0.05, quadrant="+y"),))),
        mq.Muscle("straight", path),
    )
    return plot_moment_arms(mq.Model(mq.ArticulatedSystem((rod,)), muscles), over="elbow")


def lengths():
    return plot_lengths(mq.load_model("two_link", rotations="sequence"), over="A.p2")


def cycles():
    trials = []
    for k in range(3):
        angle = 30 * np.sin(2 * np.pi * TIME + 0.1 * k) + 2 * k
        table = pd.DataFrame({"knee": angle, "hip": 0.5 * angle + 10}, index=pd.Index(TIME + k, name="time"))
        table.attrs["units"] = dict.fromkeys(("knee", "hip"), "deg")
        trials.append(table)
    band = 30 * np.sin(2 * np.pi * TIME), np.full(len(TIME), 6.0)
    return plot_cycles(trials, events={"toe off": [0.6, 1.62, 2.61]}, reference={"knee": band})


def study():
    figure = Figure(figsize=(14, 3), layout="constrained")
    tornado, heat, sobol = figure.subplots(1, 3)
    names = ["bodies.A.mass", "muscles.m1.max_isometric_force", "muscles.m2.optimal_length"]
    plot_tornado(pd.Series([-2.0, 5.0, 1.0], names, name="work"), axes=tornado)
    plot_heat_map(heat, pd.DataFrame({"work": [0.9, -0.2, 0.1], "peak": [0.3, -0.8, 0.5]}, index=names))
    share = pd.DataFrame({"first": [0.5, 0.2, 0.05], "total": [0.6, 0.35, 0.1]}, index=names)
    ends = {
        f"{order}_{end}": share[order] + shift for order in share for end, shift in (("low", -0.05), ("high", 0.08))
    }
    plot_sobol(sobol, share.assign(**ends))
    return figure


def force_law():
    return plot_curves(Thelen2003(1000.0, optimal_fiber_length=0.1, tendon_slack_length=0.2))


def loads():
    return plot_loads(
        90 * TIME,
        {name: np.outer(500 * TIME * k, [1, 0.5, 0]) for k, name in ((1, "a"), (2, "b"))},
        label="elevation [degrees]",
    )


def socket():
    course = np.stack([0.3 * TIME, 0.2 * np.sin(3 * TIME), np.ones_like(TIME)], axis=-1)
    return plot_socket(JointCone("shoulder", (0.0, 0.0, 1.0), 0.5), {"found": course, "measured": course * [1, -1, 1]})


def activations():
    model = mq.load_model("two_link")
    motion = mq.simulate(model, duration=0.4, step=1e-2).to_motion()
    signal = 0.3 + 0.2 * np.sin(10 * motion.time)[:, None]
    emg = Emg(motion.time, ("m1",), signal, "1")
    return plot_activations(emg_driven(model, motion, emg, others=0.1), emg)


def surface():
    euler = mq.load_model("two_link", rotations="sequence")
    return plot_surface(moment_arm_surface(euler, {"A.p2": np.linspace(0.2, 1.2, 11)}))


def start():
    """The picture of the ten-minute page, drawn by the code of the page itself."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(None):
        for _, code in running_blocks((ROOT / "docs" / "start.md").read_text(encoding="utf-8")):
            exec(code, found)
            if "figure" in found:
                return found["figure"]
    raise ValueError("start.md draws no figure")


DRAWN = (
    start,
    many_curves,
    motion,
    moment_arms,
    lengths,
    cycles,
    study,
    force_law,
    loads,
    socket,
    activations,
    surface,
)
FIGURES = {f.__name__: f for f in DRAWN}


def pixels(figure):
    """(h, w, 3) a figure as it is drawn, from 0 to 255."""
    figure.set_dpi(DPI)
    with rc_context({"text.hinting": "none", "font.family": "DejaVu Sans"}):
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].astype(float)


def path(name):
    return FOLDER / f"{name}.png"


def store(name):
    FOLDER.mkdir(exist_ok=True)
    imsave(path(name), pixels(FIGURES[name]()).astype(np.uint8))


def stored(name):
    return imread(path(name))[..., :3] * 255.0


def distance(a, b):
    """Root mean square of the differences between means of blocks; infinite for pictures of other sizes."""
    if a.shape != b.shape:
        return np.inf
    h, w = (BLOCK * (n // BLOCK) for n in a.shape[:2])
    means = [x[:h, :w].reshape(h // BLOCK, BLOCK, w // BLOCK, BLOCK, 3).mean(axis=(1, 3)) for x in (a, b)]
    return float(np.sqrt(np.mean((means[0] - means[1]) ** 2)))
