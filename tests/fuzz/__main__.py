"""python -m tests.fuzz KIND N [--seed S] [--first I]: N mutants of a kind, or of all, with limited memory."""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .kinds import KINDS
from .run import fuzz

MEMORY = 2**30  # bytes of address space beyond those of the program with its libraries


def inside(arguments: argparse.Namespace) -> int:
    """In the child: limit the memory, then read."""
    kind = KINDS[arguments.kind]
    with tempfile.TemporaryDirectory() as folder:
        fuzz(kind, 20, Path(folder), arguments.seed)  # what is imported and compiled on first use, by one that is read
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        start = time.perf_counter()
        report = fuzz(kind, arguments.n, Path(folder), arguments.seed, arguments.first)
    print(f"{report}; {time.perf_counter() - start:.1f} s", flush=True)
    for words, count in report.lineless.most_common(5):
        print(f"     without a line: {count} x {words}", flush=True)
    for number, text in report.foreign.items():
        print(f"---- {arguments.kind} --seed {arguments.seed} --first {number}\n{text}", flush=True)
    return bool(report.foreign)


def main() -> int:
    """Start a child for each kind; 1 if a mutant brought what was not promised, or ended the child."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("kind", choices=[*KINDS, "all"])
    parser.add_argument("n", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        return inside(arguments)
    codes = {}
    for kind in KINDS if arguments.kind == "all" else [arguments.kind]:
        command = [sys.executable, "-m", "tests.fuzz", kind, str(arguments.n), "--inside"]
        codes[kind] = subprocess.call([*command, "--seed", str(arguments.seed), "--first", str(arguments.first)])
        if codes[kind] < 0:
            print(f"---- {kind}: the process was ended by signal {-codes[kind]}")
    return int(any(codes.values()))


sys.exit(main())
