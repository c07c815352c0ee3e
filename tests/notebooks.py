"""The notebooks with what they print and draw, as the documentation shows them.

    python -m tests.notebooks [NAMES]     runs them (all, or those named) and stores their outputs

The documentation shows the stored outputs and runs nothing; `tests/test_notebooks.py` runs every notebook and checks
that outputs are stored. Progress bars, times of execution and the states of widgets are not stored.
"""

import re
import sys
from pathlib import Path
from typing import Any

import lazy_loader

nbclient, nbformat = map(lazy_loader.load, ("nbclient", "nbformat"))  # what most workers of the tests do without

HANGS = 1800  # seconds for one cell: far beyond what a busy machine needs
FOLDER = Path(__file__).parents[1] / "notebooks"
# Between two notebooks in one kernel: no names of the other, and figures that are laid out and drawn without pixels
BETWEEN = """
%reset -f
import gc, sys
from matplotlib.backend_bases import FigureCanvasBase
gc.set_threshold(100_000, 50, 100)  # and no grammars of URIs, both as in tests/conftest.py
sys.modules["rfc3987_syntax"] = None
FigureCanvasBase.draw_idle = lambda canvas: None
FigureCanvasBase.print_figure = lambda canvas, *file, **options: canvas.figure.draw_without_rendering()
"""
COMPILING = re.compile(r"((compiling|differentiating) \S+ \.\.\.)?( [\d.]+ m?s\n)?")  # of kernels
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path, kernel: Any = None) -> "nbformat.NotebookNode":
    """A notebook after it has run from top to bottom, in its own folder: in a kernel of its own, or without the names
    that others left in a running one."""
    notebook = nbformat.read(path, as_version=4)
    if kernel is not None:
        notebook.cells.insert(0, nbformat.v4.new_code_cell(BETWEEN))
    resources = {"metadata": {"path": str(path.parent)}}
    client = nbclient.NotebookClient(notebook, timeout=HANGS, resources=resources, km=kernel)
    client.execute()
    if kernel is not None:
        client.kc.stop_channels()
    return notebook


def cleaned(notebook: "nbformat.NotebookNode") -> "nbformat.NotebookNode":
    """Without what differs at every run or shows in a running notebook only."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if _shown(output)]
    return notebook


def _shown(output: "nbformat.NotebookNode") -> bool:
    if output.output_type == "stream":
        return output.name == "stdout" and not COMPILING.fullmatch(output.text)
    return "application/vnd.jupyter.widget-view+json" not in output.get("data", {})


if __name__ == "__main__":
    for path in NOTEBOOKS:
        if path.stem in sys.argv[1:] or len(sys.argv) == 1:
            nbformat.write(cleaned(executed(path)), path)
            print(f"{path.name}: {path.stat().st_size / 1024:.0f} KiB")
