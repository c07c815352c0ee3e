"""The viewer in a headless Chromium: what a person sees, moves and saves, on four models.

Needs the extras `view` and `browser`, and a Chromium as `tests/conftest.py` says.
MYOQUAT_SCREENSHOTS names a folder in which the test leaves what it saw.
"""

import io
import os
import subprocess
import time
import urllib.request
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image, ImageSequence

from myoquat.data import load_model
from myoquat.data.motions import Motion

pytest.importorskip("playwright.sync_api", reason="needs the extra browser")
pytest.importorskip("viser", reason="needs the extra view")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the libraries below the viewer
]

ROOT = Path(__file__).parents[3]
MODELS = {
    "two_link": "two_link",
    "leg": ROOT / "tests" / "data" / "small_leg.osim",
    "shoulder": ROOT / "notebooks" / "shoulder.osim",
}
TIMEOUT_MS = 240_000  # the first picture without a GPU compiles the shaders


def seen(page, name):
    """The window as pixels (h, w, 3)."""
    data = page.screenshot()
    if folder := os.environ.get("MYOQUAT_SCREENSHOTS"):
        Path(folder, f"viewer_{name}.png").write_bytes(data)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float)


def reddish(image):
    """Muscles, also at rest, left of the controls."""
    part = image[:, : image.shape[1] // 2]
    return (part[..., 0] - part[..., 2] > 45).sum()


def pictures_of(film):
    """The pictures of a film (h, w, 3)."""
    if film.suffix == ".gif":
        with Image.open(film) as images:
            return [np.asarray(image.convert("RGB"), dtype=float) for image in ImageSequence.Iterator(images)]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", film, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return list(np.frombuffer(raw, dtype=np.uint8).reshape(-1, 120, 160, 3).astype(float))  # H.264 wants even numbers


def opened(browser, viewer):
    page = browser.new_page(viewport={"width": 640, "height": 420})
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(viewer.url)
    page.wait_for_selector("canvas")
    page.wait_for_selector("text=Save picture")
    return page


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::myoquat.data.reports.UnsupportedWarning")
def test_a_model_is_drawn_and_moves(browser, name, tmp_path):
    from myoquat.apps.viewer import view  # noqa: PLC0415  # after the check that its library is there

    viewer = view(load_model(str(MODELS[name])), browser=False, port=0)
    try:
        page = opened(browser, viewer)
        deadline = time.monotonic() + TIMEOUT_MS / 1000
        while reddish(seen(page, name)) < 150:
            assert time.monotonic() < deadline, "no muscles in the picture"
        if name == "two_link":
            before = np.asarray(Image.open(viewer.picture(tmp_path / "a.png", 320, 240)).convert("RGB"), dtype=float)
            q = viewer.model.start.copy()
            q[:4] = [0.0, 1.0, 0.0, 0.0]
            viewer.show(q)
            after = np.asarray(Image.open(viewer.picture(tmp_path / "b.png", 320, 240)).convert("RGB"), dtype=float)
            assert (np.abs(after - before).max(axis=-1) > 60).sum() > 200
        page.close()
    finally:
        viewer.close()


def test_a_motion_plays_beside_another_and_the_clock_follows(browser, tmp_path):
    from myoquat.apps.viewer import view  # noqa: PLC0415

    model = load_model("two_link")
    t = np.linspace(0, 2, 61)
    q = np.tile(model.start, (61, 1))
    q[:, :4] = np.stack([np.cos(t), np.sin(t), 0 * t, 0 * t], axis=-1)
    still = Motion(model.system, t, np.tile(model.start, (61, 1)))
    viewer = view(model, Motion(model.system, t, q), compare=still, browser=False, port=0)
    try:
        page = opened(browser, viewer)
        page.click("text=Play")
        deadline = time.monotonic() + TIMEOUT_MS / 1000
        while viewer.time < 0.1:
            assert time.monotonic() < deadline, "the motion never played"
            page.wait_for_timeout(100)
        assert viewer.playing
        viewer.pause()
        viewer.seek(1.0)
        np.testing.assert_allclose(viewer.q, q[30])
        viewer.speed = 20.0
        for name in ("way.gif", "way.mp4"):
            pictures = pictures_of(viewer.film(tmp_path / name, rate=30, width=161, height=120))
            assert len(pictures) == 4
            assert np.abs(pictures[3] - pictures[0]).max() > 60
        viewer.speed = 40.0
        with page.expect_download(timeout=TIMEOUT_MS) as download:
            page.click("text=Save film")
        assert download.value.suggested_filename == "two_link.mp4"
        page.close()
    finally:
        viewer.close()


def test_notebooks_get_the_window_and_pages_stand_alone(tmp_path):
    from myoquat.apps.viewer import view  # noqa: PLC0415

    viewer = view("two_link", browser=False, port=0)
    try:
        assert f'src="{viewer.url}"' in viewer._repr_html_()
        with urllib.request.urlopen(viewer.url) as answer:
            assert b"<html" in answer.read(2000).lower()
        page = viewer.html(tmp_path / "a.html")
        assert page.stat().st_size > 100_000
        drawn = np.asarray(Image.open(viewer.picture(tmp_path / "a.png", 320, 240)))  # no window is open
        assert drawn.shape == (240, 320, 3)
        assert reddish(drawn.astype(float)) > 100
        with pytest.raises(ValueError, match="no motion was given"):
            viewer.play()
        with pytest.raises(ValueError, match="no motion was given"):
            viewer.film(tmp_path / "a.gif")
        with pytest.raises(ValueError, match=r"films are saved as \.gif, \.webp or \.mp4, not '\.avi'"):
            viewer.film(tmp_path / "a.avi")
        assert not (tmp_path / "a.gif").exists()
        viewer.color = "force [N]"
        assert viewer.values.shape == (6,)
    finally:
        viewer.close()
