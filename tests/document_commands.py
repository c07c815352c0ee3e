"""Run the Python of every document as one script, and each command of its shell blocks, in a folder for each document.

    python -m tests.document_commands

It prints a line for each script and command, and ends with an error where one fails. CI runs the Python alone.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests import documents

SHELL = re.compile(r"^```(?:sh|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PLACEHOLDER = re.compile(r"does not exist|No such file|no model|neither a file|not found|\[Errno 2\]", re.IGNORECASE)
LIMIT = 600  # [s] of one script or command
SERVERS = ("view", "explore")  # commands that run until they are stopped


def _page(page: Path) -> list[str]:
    """A line for each script and command of a document."""
    text, name, found = page.read_text(encoding="utf-8"), str(page.relative_to(documents.ROOT)), []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tests").symlink_to(documents.ROOT / "tests")  # whose files README names
        blocks = documents.running_blocks(text)
        if blocks:
            script = "\n".join(code for _, code in blocks)
            found.append(f"{_outcome([sys.executable, '-c', script], folder)}  {name}: {len(blocks)} blocks of Python")
        shutil.copy(documents.ROOT / "tests" / "data" / "small_leg.osim", Path(folder, "leg.osim"))
        for command in _commands(text):
            run = ["bash", "-c", f'myoquat() {{ {sys.executable} -m myoquat "$@"; }}; {command}']
            found.append(f"{_outcome(run, folder)}  {name}: {command}")
    return found


def _commands(text: str) -> list[str]:
    """The calls of `myoquat` in shell blocks that end by themselves."""
    lines = "".join(SHELL.findall(text)).replace("\\\n", " ").splitlines()
    calls = [line.partition("  #")[0].strip() for line in lines if line.startswith("myoquat ")]
    return [call for call in dict.fromkeys(calls) if call.split()[1] not in SERVERS]


def _outcome(call: list[str], folder: str) -> str:
    """ "ran" with its time, "needs a file of the reader", or "FAILED" with the last line of its message."""
    paths = os.pathsep.join([str(documents.ROOT), os.environ.get("PYTHONPATH", "")])
    begun = time.perf_counter()
    try:
        done = subprocess.run(
            call, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=LIMIT,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"FAILED (after {LIMIT} s)"
    if done.returncode == 0:
        return f"ran {time.perf_counter() - begun:6.1f} s"
    if done.returncode == 1 and "--tolerance" in call[-1] and not done.stderr:
        return "files differ "  # which `compare` tells by its exit code
    last = (done.stderr.strip().splitlines() or [""])[-1]
    return "needs a file " if PLACEHOLDER.search(done.stderr) else f"FAILED ({last[:120]})"


if __name__ == "__main__":
    failed = False
    for page in documents.DOCUMENTS:
        for line in _page(page) if page.name != "CHANGELOG.md" else ():
            print(line, flush=True)
            failed |= line.startswith("FAILED")
    sys.exit(failed)
