"""The explorer and the viewer in Jupyter Lab, in a headless Chromium: what a person sees and moves.

Needs the extras `notebooks`, `view` and `browser`, and a Chromium as `tests/conftest.py` says.
MYOQUAT_SCREENSHOTS names a folder in which the test leaves what it saw.
"""

import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

NEEDED = {"playwright": "browser", "jupyterlab": "notebooks", "anywidget": "notebooks"}
MISSING = [extra for library, extra in NEEDED.items() if importlib.util.find_spec(library) is None]
pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(MISSING), reason=f"needs the extras {MISSING}")]

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "explore.ipynb"
TIMEOUT_MS = 600_000  # far beyond what a busy machine needs


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A Jupyter Lab of its own, with the notebook in it."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copy(NOTEBOOK, folder)
    source = "import myoquat as mq\n\nmq.view('two_link', browser=False, port=0)"
    cell = {"cell_type": "code", "id": "view", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
    language = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = {"cells": [cell], "metadata": language, "nbformat": 4, "nbformat_minor": 5}
    (folder / "viewer.ipynb").write_text(json.dumps(notebook))
    (folder / "rfc3987_syntax.py").write_text("raise ImportError")  # as in tests/conftest.py
    log = folder / "log"
    quiet = ["--no-browser", "--IdentityProvider.token=", "--ServerApp.port=0"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        quiet.append("--allow-root")
    own = {name: str(folder / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    path = [str(folder), str(NOTEBOOK.parents[1]), os.environ.get("PYTHONPATH", "")]
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *quiet, f"--ServerApp.root_dir={folder}"],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **own, "PYTHONPATH": os.pathsep.join(path)},
        )
    try:
        yield _address(process, log)
    finally:
        process.kill()  # its kernels end with it; asked to stop, it may wait for one of them for minutes
        process.wait(20)


def _address(process, log):
    """Where the server answers, as its log says."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"http://(?:localhost|127\.0\.0\.1):\d+", log.read_text())
        if found:
            return found[0]
        time.sleep(0.1)
    raise RuntimeError(log.read_text()[-2000:])


def opened(browser, address, notebook, width=1400, height=1050):
    """A page with a notebook whose cells run."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(f"{address}/lab/tree/{notebook}?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_selector("text=/ipykernel.* Idle/")
    page.click("text=Run >> nth=0")
    page.click("text=Run All Cells")
    page.add_style_tag(content=".Toastify { display: none }")  # Jupyter's own news
    return page


@pytest.fixture(scope="module")
def page(browser, address):
    page = opened(browser, address, "explore.ipynb")
    page.wait_for_function("document.querySelectorAll('.gl-container canvas').length >= 2")
    return page


def picture(page, name):
    """What the page shows as pixels (h, w, 3)."""
    data = page.screenshot()
    if folder := os.environ.get("MYOQUAT_SCREENSHOTS"):
        Path(folder, name).write_bytes(data)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float)


def stable_picture(page, name):
    """The picture once it no longer changes."""
    before = picture(page, name)
    for _ in range(40):
        page.wait_for_timeout(300)
        now = picture(page, name)
        if np.abs(now - before).mean() < 0.05:
            return now
        before = now
    raise AssertionError("the page never came to rest")


def inside(image, box):
    """The pixels of an element."""
    left, top = int(box["x"]), int(box["y"])
    return image[top : top + int(box["height"]), left : left + int(box["width"])]


def test_sliders_move_the_figure(page):
    view = page.locator(".js-plotly-plot:has(canvas)").first
    view.scroll_into_view_if_needed()
    before = stable_picture(page, "explore_start.png")
    box = view.bounding_box()
    seen = inside(before, box)
    colored = (seen.max(axis=-1) - seen.min(axis=-1)) > 90
    assert colored.sum() > 500  # muscles, in yellow to red
    page.locator(".jupyter-widgets select").first.select_option("YZY")
    page.locator(".jupyter-widgets .noUi-handle").nth(1).focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while True:  # as soon as it has moved, however long the kernel takes
        after = stable_picture(page, "explore_moved.png")
        if (np.abs(inside(after, box) - seen).max(axis=-1) > 60).sum() > 300:
            break
        assert time.monotonic() < deadline, "the figure never moved"
    assert page.locator("text=A.Z2").count() > 0  # moment arms of the angles that are shown


def test_a_film_plays(page):
    page.locator(".jupyter-widget-play, .widget-play").first.scroll_into_view_if_needed()
    clock = page.locator("text=/t = [0-9.]+ s/").first
    assert clock.inner_text() == "t = 0.000 s"
    page.locator(".jupyter-widget-play button, .widget-play button").first.click()
    clocks = "[...document.querySelectorAll('.widget-label')].map(label => label.textContent)"
    page.wait_for_function(  # as soon as it has moved on, however long a frame takes
        f"{clocks}.some(text => /^t = [0-9.]+ s$/.test(text) && parseFloat(text.slice(4)) > 0.1)", timeout=TIMEOUT_MS
    )
    picture(page, "player.png")
    page.close()  # it plays on, and without a GPU every picture takes a processor


def test_the_viewer_is_the_value_of_a_cell(browser, address):
    """The scene is drawn inside the notebook: muscles are red."""
    page = opened(browser, address, "viewer.ipynb", 900, 700)  # drawn all the time, without a GPU
    page.frame_locator(".jp-OutputArea iframe").locator("canvas").first.wait_for(timeout=TIMEOUT_MS)
    box = page.locator(".jp-OutputArea iframe").bounding_box()
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        seen = inside(picture(page, "viewer_in_jupyter.png"), box)[:, : int(box["width"]) // 2]
        if (seen[..., 0] - seen[..., 2] > 45).sum() > 150:
            break
        assert time.monotonic() < deadline, "no muscles in the picture"
    page.close()
