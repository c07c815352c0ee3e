"""What a user sees, as pictures: figures, reports, pages of the site."""

import contextlib
import dataclasses
import functools
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

import site_animation

import myoquat as mq
from myoquat.analysis import plot_activations, plot_lengths, plot_loads, plot_moment_arms
from myoquat.analysis.motion import Markers, inverse_kinematics, scale_model
from myoquat.analysis.recruitment import redundancy
from myoquat.apps.opensim_tools.sections import angle_units, load_sections, marker_errors, scaling_sections
from myoquat.apps.report import Section, write_report
from myoquat.apps.study_pages import write_study_report
from myoquat.muscle.coordinates import Marker

SITE = {
    "first_page": "/index.html",
    "ten_minutes": "/start.html",
    "reference": "/reference.html",
    "simulate": "/_generated/name.myoquat.dynamics.simulate.html",
    "trajectory": "/_generated/class.myoquat.dynamics.Trajectory.html",
    "force_laws": "/force_laws.html",
    "plots": "/plots.html",
    "command_ik": "/_generated/command_ik.html",
    "motion": "/motion.html",
    "search": "/search.html?q=inverse+kinematics",
    "search_simulate": "/search.html?q=simulate",
    "search_moment_arm": "/search.html?q=moment+arm",
}
SHEET = (
    "figure_motion_of_a_shoulder", "figure_motion_of_two_link", "figure_moment_arms", "figure_lengths",
    "figure_activations", "figure_loads", "report_scaling", "report_kinematics", "report_loads", "report_study",
    "site_first_page", "site_simulate",
)  # fmt: skip
WIDTH = 1200  # pixels of a picture of a page
LOADING_MS = 180_000  # of a page on a busy machine
SOFTWARE_GL = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]


@functools.cache
def shoulder():
    """(model with markers, a motion that raises its arm, the markers as seen with 2 mm of noise)."""
    model = mq.load_model("thoracoscapular")
    spots = ((0.0, 0.0, 0.0), (0.05, 0.02, 0.0), (0.0, -0.1, 0.04))
    marks = tuple(Marker(f"{b.name}_{k}", b.name, spot) for b in model.system.bodies for k, spot in enumerate(spots))
    model = dataclasses.replace(model, markers=marks)
    motion = site_animation.raised(model)
    return model, motion, seen_markers(model, motion.q, motion.time)


def seen_markers(model: mq.Model, q: Any, time: Any) -> Markers:
    """The markers of a model at poses q (t, nq), with 2 mm of noise."""
    poses = model.system.poses(q)
    points = [poses[m.body][1] + poses[m.body][0] @ np.array(m.position) for m in model.markers]
    noise = np.random.default_rng(1).normal(scale=2e-3, size=(len(time), len(points), 3))
    return Markers(time, tuple(m.name for m in model.markers), np.stack(points, axis=1) + noise)


@functools.cache
def solution():
    """Muscle forces along the motion, and the loads of the joints."""
    model, motion, _ = shoulder()
    found = redundancy(model, motion, reserves=2.0)
    return found, found.joint_loads()


def figures(out: Path) -> None:
    """Figures of motions, muscles and loads, each as a PNG."""
    found, loads = solution()
    two_link = mq.simulate(mq.load_model("two_link"), duration=1.0, step=1e-3, output_step=0.01)
    euler = mq.load_model("two_link", rotations="sequence")
    size = loads.to_dataframe()
    x, y, z = (next(c for c in size.columns if c.endswith(f"f{axis}")) for axis in "xyz")
    drawn = {
        "motion_of_a_shoulder": shoulder()[1].plot,
        "motion_of_two_link": two_link.plot,
        "moment_arms": lambda: plot_moment_arms(euler, over="A.p2"),
        "lengths": lambda: plot_lengths(euler, over="A.p2"),
        "activations": lambda: plot_activations(found),
        "loads": lambda: plot_loads(size.index, {x.removesuffix("_fx"): size[[x, y, z]]}, label="time [s]"),
    }
    for name, draw in drawn.items():
        draw().savefig(out / f"figure_{name}.png", dpi=80)


def reports(out: Path) -> list[Path]:
    """The reports of scaling, inverse kinematics, loads and a study, as HTML."""
    model, motion, markers = shoulder()
    write = functools.partial(_written, out)
    mass = 1.1 * sum(body.mass for body in model.system.bodies)
    person = scale_model(model, factors={"humerus": (1.1, 1.0, 1.0)}, mass=mass)
    write("scaling", scaling_sections(model, person, seen_markers(person, motion.q[:1], motion.time[:1])))
    fit = inverse_kinematics(model, markers)
    angles = Section("Coordinates", fit.angles(in_degrees=True), units=angle_units(fit.system))
    write("kinematics", [marker_errors(fit), angles, Section("Errors of markers over time", fit.errors() * 1e3, "mm")])
    found, loads = solution()
    tensions = pd.DataFrame(found.force, pd.Index(found.motion.time, name="time"), list(model.muscle_names))
    write("loads", load_sections(loads.to_dataframe(), found, tensions))
    vary = {"bodies.B.mass": {"uniform": [4.0, 6.0]}, "muscles.m1.max_isometric_force": {"uniform": [5.0, 9.0]}}
    study = mq.Study("two_link", vary, samples=16, duration=0.2, times=5, summaries=["peak_force", "work"])
    (out / "study.html").unlink(missing_ok=True)
    write_study_report(study.run(progress=False), out / "study.html", "A study of two_link")
    return [out / f"{name}.html" for name in ("scaling", "kinematics", "loads", "study")]


def _written(out: Path, name: str, sections: list[Any]) -> None:
    (out / f"{name}.html").unlink(missing_ok=True)
    write_report(out / f"{name}.html", f"{name.capitalize()} of the thoracoscapular shoulder", [], sections)


def pages(wanted: Mapping[str, str], out: Path, root: Path | None = None) -> None:
    """A PNG of each page, an address by its name, at its full height; `root`: a folder to serve at "/"."""
    path = os.environ.get("MYOQUAT_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright, served(root) as address:
        browser = playwright.chromium.launch(executable_path=path, args=SOFTWARE_GL)
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        for name, url in wanted.items():
            page.goto(url.replace("site:", address), wait_until="load", timeout=LOADING_MS)
            page.wait_for_timeout(1500)
            page.screenshot(path=out / f"{name}.png", full_page=True)
            if cut := page.evaluate(CUT):
                print(f"{name}: wider than its place: {cut}")
        browser.close()


# Parts of a page that are cut at the right and do not scroll
CUT = """() => [...document.querySelectorAll('pre, table, mjx-container, svg, img, dt')].filter(part => {
    const wide = part.getBoundingClientRect().right > document.documentElement.clientWidth + 2;
    return wide && !part.closest('.bd-header, .bd-sidebar-secondary, .table');
}).map(part => part.tagName + ' ' + part.textContent.slice(0, 40))"""


@contextlib.contextmanager
def served(root: Path | None) -> Iterator[str]:
    """The address of a local server of a folder, which runs inside."""
    handler = functools.partial(_Quiet, directory=str(root or "."))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Nothing."""
