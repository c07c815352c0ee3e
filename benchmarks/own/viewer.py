"""The viewer: the wait for the first picture in a new process, and the pictures a second of a motion that plays.

MYOQUAT_OPENSIM_MODELS names a folder of .osim files; without it the small model of the tests is taken. The window is a
headless Chromium that is already open, drawing without a GPU; MYOQUAT_CHROMIUM names it. Needs the extras `view` and
`browser`.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright import sync_api

from benchmarks.opensim.osim import model_files

_SERVER = """
import json, sys, time
began = time.perf_counter()
import warnings
warnings.simplefilter("ignore")
import numpy as np
from myoquat.apps.viewer import view
from myoquat.data import load_model
model, motion = load_model(sys.argv[1]), None
if sys.argv[2] == "moving":
    from myoquat.data.motions import Motion
    t = np.linspace(0.0, 4.0, 401)
    u = 0.4 * np.sin(np.arange(model.system.nu))
    q = [model.system.integrate(model.start, u * np.sin(np.pi * s / 2)) for s in t]
    motion = Motion(model.system, t, np.array(q))
sent = []
import myoquat.apps.viewer.window as window
seek = window.Viewer.seek
window.Viewer.seek = lambda self, t: (seek(self, t), sent.append(time.perf_counter()))[0]
viewer = view(model, motion, browser=False, port=0)
print(json.dumps({"url": viewer.url, "served": time.perf_counter() - began}), flush=True)
for line in sys.stdin:
    if line.strip() == "play":
        viewer.play()
    else:
        print(json.dumps(sent), flush=True)
"""
# Each picture that the page draws begins with a call of `clear` on its canvas: the times [ms] of all of them.
_COUNTER = """
window.pictures = [];
const clear = WebGL2RenderingContext.prototype.clear;
WebGL2RenderingContext.prototype.clear = function (mask) {
    const now = performance.now(), last = window.pictures.at(-1);
    if (last === undefined || now - last > 1) window.pictures.push(now);
    return clear.call(this, mask);
};
"""
_GL = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
PLAYBACK_S = 8.0  # s
TIMEOUT_MS = 240_000  # ms


def run(repeats: int = 3) -> list[dict[str, Any]]:
    """A row per model: seconds to the first picture, served and drawn, from a full cache; poses, pictures a second."""
    with sync_api.sync_playwright() as playwright:
        names = ("chromium-headless-shell", "chromium", "google-chrome")
        path = os.environ.get("MYOQUAT_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
        browser = playwright.chromium.launch(executable_path=path, args=_GL)
        rows = [_row(browser, model, repeats) for model in model_files()]
        browser.close()
    return rows


def _row(browser: sync_api.Browser, model: Path, repeats: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as cache:
        first = [_first(browser, model, cache) for _ in range(repeats + 1)][1:]
        poses, pictures = _played(browser, model, cache)
    served, drawn = (statistics.median(values) for values in zip(*first, strict=True))
    row = {"work": "the viewer, no GPU", "model": model.stem, "served, s": served, "drawn, s": drawn}
    return row | {"poses a second": poses, "pictures a second": pictures}


def _first(browser: sync_api.Browser, model: Path, cache: str) -> tuple[float, float]:
    """Seconds from the start of a new process until its server has the picture, and until the page has drawn it."""
    began = time.perf_counter()
    with _server(model, cache, "still") as (_, reported):
        page = _opened(browser, reported["url"])
        drawn = time.perf_counter() - began
        page.close()
    return reported["served"], drawn


def _played(browser: sync_api.Browser, model: Path, cache: str) -> tuple[float, float]:
    """Poses sent and pictures drawn in a second of a motion that plays."""
    with _server(model, cache, "moving") as (process, reported):
        page = _opened(browser, reported["url"])
        page.wait_for_timeout(2000)  # what the first pictures compile
        assert process.stdin is not None
        assert process.stdout is not None
        print("play", file=process.stdin, flush=True)
        page.wait_for_timeout(1000)
        begun = page.evaluate("performance.now()")
        page.wait_for_timeout(1000 * PLAYBACK_S)
        ended, times = page.evaluate("[performance.now(), window.pictures]")
        print("sent", file=process.stdin, flush=True)
        sent = json.loads(process.stdout.readline())
        page.close()
    pictures = sum(begun <= t <= ended for t in times) / (ended - begun) * 1000
    return sum(t > sent[-1] - PLAYBACK_S for t in sent) / PLAYBACK_S, pictures


@contextmanager
def _server(model: Path, cache: str, what: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    environment = {**os.environ, "MYOQUAT_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", _SERVER, str(model), what]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())
        process.kill()


def _opened(browser: sync_api.Browser, url: str) -> sync_api.Page:
    """The page, once it has drawn with the model in it."""
    page = browser.new_page(viewport={"width": 960, "height": 720})
    page.add_init_script(_COUNTER)
    page.goto(url)
    page.wait_for_selector("text=Save picture", timeout=TIMEOUT_MS)  # the controls come after the scene
    seen = page.evaluate("window.pictures.length")
    page.wait_for_function("seen => window.pictures.length > seen", arg=seen, timeout=TIMEOUT_MS)
    return page
