"""The ten-minute page, run literally: its commands here, its Python as one script in an empty folder.

    python tests/ten_minutes.py BEGUN     with the time [s since 1970] at which nothing was installed yet

Ends with an error where a block fails or a picture is missing, and says how long it took: a busy machine is no error.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from documents import ROOT, running_blocks

PAGE = ROOT / "docs" / "start.md"
COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
PICTURES = ("motion.pdf", "arm.png", "arm.gif")
LIMIT = 600.0  # [s]


def main(begun: float) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for block in COMMANDS.findall(text):
        subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        script = "\n".join(code for _, code in running_blocks(text))
        subprocess.run([sys.executable, "-c", script], cwd=folder, check=True, env={**os.environ, "MPLBACKEND": "Agg"})
        missing = [name for name in PICTURES if not (Path(folder) / name).stat().st_size]
    passed = time.time() - begun
    late = "" if passed <= LIMIT else f", more than {LIMIT:g}"
    sys.stdout.write(f"the ten-minute page: {passed:.0f} s{late} from an empty environment to {', '.join(PICTURES)}\n")
    if missing:
        sys.exit(f"empty: {missing}")


if __name__ == "__main__":
    main(float(sys.argv[1]))
