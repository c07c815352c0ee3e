"""The cache of machine code: whatever happens to its files or folder, kernels work."""

import multiprocessing
import os
import pickle
import stat
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from myoquat import kernels
from myoquat.kernels.cache import Cache, digest


def wave(q):
    return np.sin(q) * q[0]


def made(folder):
    return kernels.compile(wave, {"q": 4}, cache=folder)


Q = np.random.default_rng(0).normal(size=(7, 4))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def entry(folder):
    first = made(folder)
    assert first.source == "compiled"
    (path,) = folder.glob("*.kernel")
    return path


def test_second_kernel_comes_from_the_cache(folder, entry):
    again = made(folder)
    assert again.source == "cache"
    assert np.array_equal(again(Q), made("off")(Q))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert Cache(folder).size() == entry.stat().st_size


def test_every_circumstance_is_part_of_the_key(folder, entry, monkeypatch):
    assert kernels.compile(lambda q: np.sin(q) * q[1], {"q": 4}, cache=folder).source == "compiled"
    assert kernels.compile(wave, {"q": 4}, cache=folder, lanes=1).source == "compiled"
    if "x86-64" in kernels.info()["triple"].replace("_", "-"):
        monkeypatch.setenv("MYOQUAT_CPU", "x86-64")
        assert made(folder).source == "compiled"


def test_a_thousand_corruptions_are_ignored(folder, entry):
    """Flipped bits, cut ends, foreign and empty files: never loaded, never a crash."""
    key, data = entry.stem, entry.read_bytes()
    cache, rng = Cache(folder), np.random.default_rng(1)
    assert cache.load(key) is not None
    for trial in range(1000):
        damaged = bytearray(data)
        kind = trial % 4
        if kind == 0:
            damaged[rng.integers(len(data))] ^= 1 << rng.integers(8)
        elif kind == 1:
            del damaged[rng.integers(len(data)) :]
        elif kind == 2:
            begin = rng.integers(len(data))
            damaged[begin : begin + 64] = rng.bytes(min(64, len(data) - begin) + 1)
        else:
            damaged = bytearray(rng.bytes(rng.integers(0, 300)))
        entry.write_bytes(damaged)
        assert cache.load(key) is None
    kernel = made(folder)
    assert kernel.source == "compiled"
    assert entry.read_bytes() == data
    assert made(folder).source == "cache"


def test_a_foreign_entry_under_this_name_is_ignored(folder, entry):
    other = kernels.compile(lambda q: q + 1.0, {"q": 4}, cache=folder)
    foreign = next(path for path in folder.glob("*.kernel") if path != entry)
    entry.write_bytes(foreign.read_bytes())
    kernel = made(folder)
    assert kernel.source == "compiled"
    assert np.array_equal(kernel(Q), made("off")(Q))
    assert np.array_equal(other(Q), Q + 1.0)


def test_a_folder_that_cannot_be_used_is_done_without(tmp_path):
    file = tmp_path / "file"
    file.write_text("not a folder")
    assert made(file).source == "compiled"
    assert made(file / "below").source == "compiled"
    assert made(file / "below").source == "compiled"


def test_a_folder_that_others_may_write_into_is_not_trusted(folder, entry):
    if not hasattr(os, "getuid"):
        pytest.skip("no modes here")
    folder.chmod(0o777)
    assert made(folder).source == "compiled"
    folder.chmod(0o700)
    assert made(folder).source == "cache"


def test_a_full_disk_is_done_without(folder, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert made(folder).source == "compiled"
    assert list(folder.iterdir()) == []


def test_the_least_recently_used_go_first(folder):
    cache = Cache(folder, limit=5000)
    keys = [digest(str(k)) for k in range(4)]
    for age, key in enumerate(keys[:3]):
        assert cache.store(key, {}, b"x" * 1400)
        os.utime(folder / f"{key}.kernel", (age, age))
    assert cache.load(keys[0]) is not None  # now the most recent
    assert cache.store(keys[3], {}, b"x" * 1400)
    assert [cache.load(key) is not None for key in keys] == [True, False, True, True]
    assert cache.size() <= 5000


def _compile_and_evaluate(folder):
    return made(folder)(Q)


def _evaluate(kernel):
    return kernel(Q, threads=2)


def _context():
    return multiprocessing.get_context("spawn")


def test_two_processes_compile_the_same_kernel_at_once(folder):
    with ProcessPoolExecutor(2, mp_context=_context()) as pool:
        results = list(pool.map(_compile_and_evaluate, [folder] * 4))
    assert all(np.array_equal(r, made("off")(Q)) for r in results)
    assert len(list(folder.iterdir())) == 1


def test_a_kernel_travels_to_another_process(folder, monkeypatch):
    kernel = made(folder)
    with ProcessPoolExecutor(1, mp_context=_context()) as pool:
        assert np.array_equal(pool.submit(_evaluate, kernel).result(), kernel(Q))
    program = kernels.Program("twice", {"q": 4})
    program.formula(wave, ["q"], ["y"])
    for other in (program.compile(["y"], cache=folder), kernel.jacobian()):
        assert np.array_equal(pickle.loads(pickle.dumps(other))(Q), other(Q))
    loop = kernels.step_loop(4, rhs=lambda t, x: -x, cache=folder)
    copy = pickle.loads(pickle.dumps(loop))
    assert np.array_equal(copy(Q, h=0.1, steps=5).states, loop(Q, h=0.1, steps=5).states)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork_after_compile_and_after_threads(folder):
    kernel = made(folder)
    many = np.tile(Q, (60_000, 1))
    wanted = kernel(many, threads=2)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(kernel(many, threads=2), wanted) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_info_reports_the_settings(folder, entry, monkeypatch):
    monkeypatch.setenv("MYOQUAT_CACHE", str(folder))
    monkeypatch.setenv("MYOQUAT_LANES", "2")
    info = kernels.info()
    assert info["lanes"] == 2
    assert info["cache_bytes"] == entry.stat().st_size
    assert info["environment"]["MYOQUAT_CACHE"] == info["cache"] == str(folder)
    assert set(info["versions"]) == {"python", "numpy", "casadi", "llvmlite", "llvm"}
    monkeypatch.setenv("MYOQUAT_CACHE", "off")
    assert kernels.info()["cache"] == "off"
