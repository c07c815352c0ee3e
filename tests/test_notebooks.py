"""Every notebook runs from top to bottom, and is stored with its outputs, which the documentation shows."""

import json
import os

import pytest

import notebooks

LARGEST = 1500  # KiB of one stored notebook
LIVE = {"explore"}  # shows widgets only, which are not stored


@pytest.fixture(scope="module")
def kernel():
    """One for all notebooks, which then import each library once. Each begins without the names of the others."""
    manager = pytest.importorskip("jupyter_client").KernelManager()
    inline = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}  # as in Jupyter
    samples = {"MYOQUAT_NOTEBOOK_SAMPLES": "32"}  # a power of 2
    manager.start_kernel(cwd=notebooks.FOLDER, env=os.environ | inline | samples)
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.filterwarnings("default")  # warnings of the notebook machinery are not ours
@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, kernel):
    assert any(cell.get("outputs") for cell in notebooks.executed(path, kernel).cells)


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stored(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert outputs or path.stem in LIVE, f"python -m tests.notebooks {path.stem}"
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert not [cell["source"] for cell in cells if cell["execution_count"] is None], "some cells have not run"
    figures = [
        output["data"] for output in outputs if "<Figure" in "".join(output.get("data", {}).get("text/plain", ""))
    ]
    assert all("image/png" in data for data in figures), "a figure is stored without its picture"
    assert path.stat().st_size < LARGEST * 1024
    text = json.dumps(outputs)
    assert not [word for word in ("site-packages", "Traceback", str(notebooks.FOLDER.parent)) if word in text]
