"""The trial of a new user, repeated.

All that the documents say is run, and pictures of all that a user sees are stored.

    python -m tests.tour OUT [--site SITE] [--before FOLDER] [--quick]

OUT      a folder outside version control. It gets documents.txt (every page's Python and every command, with its
         outcome). It gets pictures of figures, reports, site, viewer and explorer, and sheet.html, twelve of them.
SITE     the built site; without it there are no pictures of the site.
FOLDER   an earlier OUT: the sheet shows its figures beside the new ones.
--quick  leaves out the documents, the viewer and the explorer.

Pictures of pages need Playwright and a Chromium (MYOQUAT_CHROMIUM). Ends with an error where a document fails.
"""

import argparse
import html
import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
sys.path.insert(0, str(Path(__file__).parents[1]))

from tour import documents_run, seen

FIGURES = 12  # of the sheet


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tour")
    parser.add_argument("out", type=Path)
    parser.add_argument("--site", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    seen.figures(given.out)
    reports = seen.reports(given.out)
    pages = {f"report_{path.stem}": path.resolve().as_uri() for path in reports}
    if given.site is not None:
        pages |= {f"site_{name}": f"site:{page}" for name, page in seen.SITE.items()}
    seen.pages(pages, given.out, given.site)
    failed = []
    if not given.quick:
        _windows(given.out)
        failed = documents_run.write(given.out / "documents.txt")
    sheet(given.out, given.before)
    print(f"{len(list(given.out.glob('*.png')))} pictures in {given.out}; {len(failed)} failures", *failed, sep="\n")
    sys.exit(bool(failed))


def _windows(out: Path) -> None:
    """Pictures of the viewer and the explorer, as their own tests leave them."""
    tests = [f"tests/apps/{name}" for name in ("viewer/test_viewer_browser.py", "explorer/test_browser.py")]
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    subprocess.run(call, env={**os.environ, "MYOQUAT_SCREENSHOTS": str(out.resolve())}, check=False)


def sheet(out: Path, before: Path | None) -> None:
    """Twelve figures in one page, each beside the one of the same name in `before`, where that has it."""
    rows = []
    for name in seen.SHEET[:FIGURES]:
        cells = [("before", before / f"{name}.png")] if before is not None else []
        shown = []
        for when, path in [*cells, ("after", out / f"{name}.png")]:
            source = os.path.relpath(path, out)
            image = f'<a href="{source}"><img src="{source}" alt="{when}"></a>'
            shown.append(f"<td>{image if path.exists() else 'none'}</td>")
        rows.append(f"<tr><th>{html.escape(name.replace('_', ' '))}</th>{''.join(shown)}</tr>")
    head = "<th></th><th>before</th><th>after</th>" if before is not None else "<th></th><th>now</th>"
    width = 44 if before is not None else 80  # percent of the window
    style = (
        f"img {{width: {width}vw; max-height: 70em; object-fit: cover; object-position: top; border: 1px solid #ddd}}"
    )
    style += " th {font: 14px sans-serif; text-align: left}"  # a long page shows its beginning, a click all of it
    page = f"<!doctype html><meta charset=utf-8><title>Twelve figures</title><style>{style}</style>"
    (out / "sheet.html").write_text(f"{page}<table><tr>{head}</tr>{''.join(rows)}</table>\n", encoding="utf-8")


if __name__ == "__main__":
    main()
