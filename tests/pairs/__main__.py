"""python -m tests.pairs N [--seed S] [--law NAME ...] [--case K]: check N cases, or case K, and print what fails."""

import argparse
import os
import sys
import time

os.environ.setdefault("MYOQUAT_OPTIMIZATION", "0")  # kernels of these laws run once: half the time to compile them
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from .laws import LAWS
from .run import Failure, run


def main() -> int:
    """1 if a law is broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.pairs", description=__doc__)
    parser.add_argument("n", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--law", choices=list(LAWS), action="append")
    parser.add_argument("--case", type=int, default=None)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()

    def tell(failure: Failure) -> None:
        again = f"python -m tests.pairs --seed {arguments.seed} --case {failure.number}"
        print(f"{failure}\n    {again}", flush=True)

    start, worked = time.perf_counter(), time.process_time()
    one = {} if arguments.case is None else {"first": arguments.case, "end": arguments.case + 1}
    report = run(
        arguments.n, arguments.seed, arguments.law or tuple(LAWS), tell=tell, **({"first": arguments.first} | one)
    )
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    print(f"{report}\n{seconds:.0f} s, of processor time {worked:.0f} s: {report.checked / worked:.1f} cases a second")
    return int(bool(report.failures))


sys.exit(main())
