"""python -m tests.fuzz FORMAT N [--seed S] [--first I]: N mutants of a format, or of all, with limited memory."""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .formats import FORMATS
from .run import fuzz

MEMORY = 2**30  # bytes of address space beyond those of the program with its libraries


def inside(arguments: argparse.Namespace) -> int:
    """In the child: limit the memory, then read."""
    file_format = FORMATS[arguments.format]
    with tempfile.TemporaryDirectory() as folder:
        fuzz(file_format, 20, Path(folder), arguments.seed)  # imports and compiles all that the measured ones need
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        start = time.perf_counter()
        report = fuzz(file_format, arguments.n, Path(folder), arguments.seed, arguments.first)
    print(f"{report}; {time.perf_counter() - start:.1f} s", flush=True)
    for words, count in report.lineless.most_common(5):
        print(f"     without a line: {count} x {words}", flush=True)
    for number, text in report.foreign.items():
        print(f"---- {arguments.format} --seed {arguments.seed} --first {number}\n{text}", flush=True)
    return bool(report.foreign)


def main() -> int:
    """Start a child for each format; 1 if a mutant broke a promise or ended the child."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("format", choices=[*FORMATS, "all"])
    parser.add_argument("n", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        return inside(arguments)
    codes = {}
    for file_format in FORMATS if arguments.format == "all" else [arguments.format]:
        command = [sys.executable, "-m", "tests.fuzz", file_format, str(arguments.n), "--inside"]
        codes[file_format] = subprocess.call([*command, "--seed", str(arguments.seed), "--first", str(arguments.first)])
        if codes[file_format] < 0:
            print(f"---- {file_format}: the process was ended by signal {-codes[file_format]}")
    return int(any(codes.values()))


sys.exit(main())
