"""What all tests share: reproducible properties, and every formula on every type of number."""

import gc
import importlib.util
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# Before NumPy is imported, here and in the workers: each core has a worker, whose small matrices gain nothing from
# further threads, which only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Kernels of most tests run a few times, and a third of the time of the tests went into compiling them. Level 0 takes
# half of that, for code with the same bits. tests/kernels compiles as users do.
os.environ.setdefault("MYOQUAT_OPTIMIZATION", "0")

import casadi
import numpy as np
import pytest
import sympy
from hypothesis import settings
from sympy.printing.pycode import PythonCodePrinter

from myoquat import kernels

# Python's collector of cyclic garbage visits all objects each time, and a worker holds a million that stay until its
# end: modules, trees of source code, 7,500 tests. It took a quarter of a worker's time at its default thresholds.
gc.set_threshold(100_000, 50, 100)

# Where it is installed, jsonschema checks the syntax of URIs with this package, which builds 39 grammars when plotly or
# nbformat is imported: 4 s of each worker. No document of the tests has such a schema.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


def pytest_collection_finish() -> None:
    """Objects of the collection stay until the end: the collector of garbage need not visit them again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With MYOQUAT_NO_SKIPS=1, as in `.ci/run`, a skipped test or file is a failure. Everything that a test needs is
    there, and a skip would hide that it is not. Reasons of a platform are none there either: it runs on Linux only."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("MYOQUAT_NO_SKIPS") == "1" and reporter is not None and reporter.stats.get("skipped"):
        reporter.write_line("\nMYOQUAT_NO_SKIPS: a skipped test is a failure here", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


# Files of few and long tests. They begin first: where workers take whole files, the last file otherwise runs alone.
LONG = (
    "test_pairs", "test_wrapping", "test_notebooks", "test_derivation", "test_packaging", "test_pinocchio",
    "test_consistency", "test_fuzz", "test_agreement", "test_command", "test_documents",
    "test_trust", "test_browser", "test_viewer_browser",
)  # fmt: skip


# What a test says by a marker that it needs; why it is skipped where this is missing
NEEDS = {
    "posix": (os.name == "posix", "needs what Windows lacks: links, pipes with names, modes of files, forks, kill -9"),
    "linux": (sys.platform == "linux", "needs memory limits, /proc or folders as Linux has them"),
    "compiler": (shutil.which("cc"), "needs a C compiler: the command cc"),
    "octave": (shutil.which("octave-cli") or shutil.which("octave"), "needs Octave: apt-get install octave"),
}


def pytest_configure(config: pytest.Config) -> None:
    """The order of files is the one below, not the one by the number of tests that pytest-xdist makes of it."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long files first; the rest as they were. Tests that need JAX and PyTorch, 3 GB, run only where they are asked
    for, `-m frameworks`; elsewhere pytest counts them as deselected. What a marker of NEEDS asks for may be missing."""
    for item in items:
        for name, (there, reason) in NEEDS.items():
            if not there and item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=reason))
    if "frameworks" not in (config.option.markexpr or ""):
        left_out = [item for item in items if item.get_closest_marker("frameworks")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    order = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path.stem, len(LONG)))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What tests have recorded as "reported", such as a number to be shown, whatever worker ran them."""
    for report in terminalreporter.stats.get("passed", []):
        for name, words in report.user_properties:
            if name == "reported":
                terminalreporter.write_line(words)


settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("ci")

CHROMIUM = ("chromium-headless-shell", "chromium", "google-chrome")
SOFTWARE_GL = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]


@pytest.fixture(scope="module")  # not longer: no other event loop runs beside its own
def browser() -> Iterator[Any]:
    """A headless Chromium that draws without a GPU: the one of `playwright install --with-deps chromium`, one of the
    system (`apt install chromium-headless-shell`), or the path of one in MYOQUAT_CHROMIUM."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra browser")
    with sync_api.sync_playwright() as playwright:
        path = os.environ.get("MYOQUAT_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
        if path is None and not Path(playwright.chromium.executable_path).exists():
            pytest.skip("no Chromium: playwright install --with-deps chromium, or MYOQUAT_CHROMIUM")
        found = playwright.chromium.launch(executable_path=path, args=SOFTWARE_GL)
        yield found
        found.close()


Evaluate = Callable[..., np.ndarray]


def _float(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    rows = zip(*arrays, strict=True)
    return np.array([function(*row) for row in rows])


def _batch(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    shaped = [a.reshape(1, *a.shape) for a in arrays]
    return np.asarray(function(*shaped))[0]


def _sympy(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    symbols = [
        np.array([sympy.Symbol(f"x{k}_{i}", real=True) for i in range(a[0].size)], dtype=object).reshape(a[0].shape)
        for k, a in enumerate(arrays)
    ]
    expression = np.asarray(function(*symbols))
    flat = _program([s for x in symbols for s in x.flat], list(expression.flat))
    values = [flat(*(v for a in row for v in np.asarray(a).flat)) for row in zip(*arrays, strict=True)]
    return np.array(values, dtype=float).reshape(len(values), *expression.shape)


def _program(symbols: list[Any], expressions: list[Any]) -> Callable[..., list[float]]:
    """The expressions as a Python function, each common part computed once. `lambdify` would walk them as trees. For
    the steps of an iteration these have too many leaves."""
    parts, results = sympy.cse(expressions, sympy.numbered_symbols("part"), optimizations=[], order="none")
    printer = PythonCodePrinter({"fully_qualified_modules": True})
    lines = [f"{name} = {printer.doprint(part)}" for name, part in parts]
    lines.append(f"result = [{', '.join(printer.doprint(result) for result in results)}]")
    code = compile("\n".join(lines), "expressions", "exec")

    def run(*values: float) -> list[float]:
        known: dict[str, Any] = {"math": math} | {s.name: v for s, v in zip(symbols, values, strict=True)}
        exec(code, known)
        return known["result"]

    return run


def _casadi(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    inputs = [casadi.SX.sym(f"x{k}", a[0].size) for k, a in enumerate(arrays)]
    result = function(*(casadi.array(x).reshape(a[0].shape) for x, a in zip(inputs, arrays, strict=True)))
    assert isinstance(result, casadi.array)
    program = casadi.Function("f", inputs, [result.reshape(-1).to_casadi()])
    values = [np.array(program(*(np.ravel(a) for a in row))).ravel() for row in zip(*arrays, strict=True)]
    return np.array(values).reshape(len(values), *result.shape)


def _kernel(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    kernel = kernels.compile(function, {f"x{k}": a.shape[1:] for k, a in enumerate(arrays)}, cache="off")
    return kernel(*arrays)


KINDS: dict[str, Evaluate] = {
    "float": _float,
    "batch": _batch,
    "sympy": _sympy,
    "casadi": _casadi,
    "kernel": _kernel,
}


@pytest.fixture(params=list(KINDS))
def scalar(request: pytest.FixtureRequest) -> Evaluate:
    """evaluate(function, *arrays (n, ...)) -> (n, ...): the formula run on one type of number."""
    return KINDS[request.param]


@pytest.fixture
def octave() -> str:
    """The command of Octave, for tests that are marked so."""
    return str(NEEDS["octave"][0])


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261120)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Interrupts as in a program of one's own: tests in the background ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# OpenSim brings a CasADi of its own, which cannot live beside ours in one process. This program imports it once. Each
# line that it reads, [script, arguments, folder, file], is run by a fork of it, whose answer or error goes to the file.
# Where processes cannot fork, it runs them itself.
OPENSIM = """
import json, os, sys, traceback, numpy as np, opensim
opensim.Logger.setLevelString('off')
for line in sys.stdin:
    script, arguments, folder, file = json.loads(line)
    child = os.fork() if hasattr(os, 'fork') else 0
    if child:
        os.waitpid(child, 0)
    else:
        names = {'json': json, 'sys': sys, 'np': np, 'opensim': opensim, 'arguments': arguments}
        done, stdout = {}, os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            os.chdir(folder)
            exec(compile(script, 'script', 'exec'), names)
            done['answer'] = names['answer']
        except BaseException:
            done['error'] = traceback.format_exc()
        with open(file, 'w') as written:
            json.dump(done, written)
        if hasattr(os, 'fork'):
            os._exit(0)
        os.dup2(stdout, 1)
    print('ready', flush=True)
"""


@pytest.fixture(scope="session")
def opensim_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """run(script, arguments) in a process that has imported OpenSim, which is started when it is first needed."""
    file, process = tmp_path_factory.mktemp("opensim") / "answer.json", None

    def run(script: str, arguments: tuple[Any, ...]) -> dict[str, Any]:
        nonlocal process
        if process is None or process.poll() is not None:
            command = [sys.executable, "-c", OPENSIM]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        file.unlink(missing_ok=True)
        line = json.dumps([script, arguments, os.getcwd(), file], default=lambda x: getattr(x, "tolist", x.__str__)())
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        process.stdout.readline()
        return json.loads(file.read_text()) if file.exists() else {"error": "the process of OpenSim ended"}

    yield run
    if process is not None:
        process.communicate()


@pytest.fixture
def in_opensim(opensim_process: Callable[..., Any]) -> Callable[..., Any]:
    """run(script, *arguments): what a script puts into `answer`, run in a process of its own.

    The script finds `opensim`, `numpy` as np and `arguments`, where arrays are lists and paths are strings. Skips where
    OpenSim is not installed.
    """
    if importlib.util.find_spec("opensim") is None:
        pytest.skip("opensim is not installed")

    def run(script: str, *arguments: Any) -> Any:
        done = opensim_process(script, arguments)
        assert "answer" in done, done["error"]
        return done["answer"]

    return run
