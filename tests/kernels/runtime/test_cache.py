"""The cache of machine code: whatever happens to its files or folder, kernels work."""

import hashlib
import multiprocessing
import os
import pickle
import stat
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from myoquat import kernels
from myoquat.core import digest
from myoquat.kernels.runtime import build, compiled, settings
from myoquat.kernels.runtime.cache import Cache


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
    assert Cache(folder).size() == entry.stat().st_size


def test_formula_and_lanes_are_part_of_the_key(folder, entry):
    assert kernels.compile(lambda q: np.sin(q) * q[1], {"q": 4}, cache=folder).source == "compiled"
    assert kernels.compile(wave, {"q": 4}, cache=folder, lanes=1).source == "compiled"


def test_machines_that_share_a_folder_keep_their_own_code(folder, monkeypatch):
    """As in a home on a network: a machine runs its own code only, and finds it again after the others have been."""
    here, versions = settings.target(), build.versions()
    machines = {
        "this one": (here, versions),
        "another processor": (replace(here, cpu="x86-64", features="", fma=False), versions),
        "a feature": (replace(here, features=here.features.rpartition(",")[0]), versions),
        "another system": (replace(here, triple=here.triple.replace("unknown", "other")), versions),
        "another compiler": (here, versions | {"llvmlite": "0.45.0"}),
    }
    wanted = wave(Q.T).T
    for source in ("compiled", "cache"):
        for name, (machine, compiler) in machines.items():
            monkeypatch.setattr(compiled, "target", lambda machine=machine: machine)
            monkeypatch.setattr(build, "versions", lambda compiler=compiler: compiler)
            kernel = made(folder)
            assert kernel.source == source, name
            np.testing.assert_allclose(kernel(Q), wanted, rtol=1e-13)
    assert len(list(folder.glob("*.kernel"))) == len(machines)


def test_a_thousand_corruptions_are_ignored(folder, entry):
    """Flipped bits, cut ends, foreign and empty files: never loaded, never a crash."""
    key, data = entry.stem, entry.read_bytes()
    cache, rng = Cache(folder), np.random.default_rng(1)
    assert cache.load(key) is not None
    for trial in range(1000):
        damaged = bytearray(data)
        damage = trial % 4
        if damage == 0:
            damaged[rng.integers(len(data))] ^= 1 << rng.integers(8)
        elif damage == 1:
            del damaged[rng.integers(len(data)) :]
        elif damage == 2:
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


@pytest.mark.posix
def test_a_folder_that_others_may_write_into_is_not_trusted(folder, entry):
    folder.chmod(0o777)
    assert made(folder).source == "compiled"
    folder.chmod(0o700)
    assert made(folder).source == "cache"


def sealed(entry, seal):
    """The entry with another seal."""
    data = entry.read_bytes()
    start = data.index(b"\n") + 1
    entry.write_bytes(data[:start] + seal(data[start + 32 :]) + data[start + 32 :])


@pytest.mark.parametrize(
    "seal",
    [
        lambda body: hashlib.sha256(body).digest(),
        lambda body: hashlib.blake2b(body, digest_size=32).digest(),
        lambda body: hashlib.blake2b(body, key=bytes(32), digest_size=32).digest(),
    ],
    ids=["sha256", "without a secret", "another secret"],
)
def test_entry_without_the_secret_is_ignored(folder, entry, seal):
    """A checksum that anybody can compute does not let an entry in, whoever it belongs to."""
    secret = (folder / "secret").read_bytes()
    sealed(entry, lambda body: hashlib.blake2b(body, key=secret, digest_size=32).digest())
    assert made(folder).source == "cache"
    sealed(entry, seal)
    assert Cache(folder).load(entry.stem) is None
    assert made(folder).source == "compiled"
    assert made(folder).source == "cache"


SPOILED = {
    "missing": lambda secret: secret.unlink(),
    "cut": lambda secret: secret.write_bytes(secret.read_bytes()[:31]),
    "empty": lambda secret: secret.write_bytes(b""),
    "longer": lambda secret: secret.write_bytes(secret.read_bytes() * 100),
    "of others too": lambda secret: secret.chmod(0o604),
    "of a group too": lambda secret: secret.chmod(0o640),
    "a link": lambda secret: secret.symlink_to(secret.rename(secret.with_name("kept"))),
}


@pytest.mark.posix
@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_with_a_secret_of_no_use_nothing_is_there_and_another_is_made(folder, entry, spoil):
    before = (folder / "secret").read_bytes()
    spoil(folder / "secret")
    assert Cache(folder).load(entry.stem) is None
    assert made(folder).source == "compiled"
    assert made(folder).source == "cache"
    after = (folder / "secret").read_bytes()
    assert len(after) == 32
    assert after != before
    assert stat.S_IMODE((folder / "secret").lstat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.posix
@pytest.mark.parametrize("name", ["secret", "entry"])
def test_what_belongs_to_another_owner_is_not_there(folder, entry, monkeypatch, name):
    """Who asks is changed, not the files: only root can give those away."""
    file = folder / "secret" if name == "secret" else entry
    fstat = os.fstat

    def foreign(handle):
        status = fstat(handle)
        if not os.path.samestat(status, file.stat()):
            return status
        return os.stat_result((*status[:4], status.st_uid + 1, *status[5:]))

    assert Cache(folder).load(entry.stem) is not None
    monkeypatch.setattr("os.fstat", foreign)
    assert Cache(folder).load(entry.stem) is None
    monkeypatch.undo()
    assert Cache(folder).load(entry.stem) is not None


def test_a_secret_that_cannot_be_made_is_done_without(folder):
    folder.mkdir(mode=0o700)
    (folder / "secret").mkdir()
    assert made(folder).source == "compiled"
    assert made(folder).source == "compiled"
    assert [file.name for file in folder.iterdir()] == ["secret"]


def test_a_file_system_without_links(folder, monkeypatch):
    def none(*args, **kwargs):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", none)
    assert made(folder).source == "compiled"
    assert made(folder).source == "cache"


def test_a_full_disk_is_done_without(folder, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert made(folder).source == "compiled"
    assert [file.name for file in folder.iterdir()] == ["secret"]
    monkeypatch.setattr("os.link", full)
    assert made(folder / "other").source == "compiled"
    assert list((folder / "other").iterdir()) == []


def test_obstacle_of_a_folder_is_reported(folder, monkeypatch):
    assert Cache(folder).obstacle() is None
    assert [file.name for file in folder.iterdir()] == ["secret"]
    assert Cache(None).obstacle() == "it is off"
    assert Cache(folder / "secret" / "below").obstacle() is not None  # in the words of the system
    monkeypatch.setattr("os.replace", lambda *args: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert "No space left" in Cache(folder).obstacle()
    assert [file.name for file in folder.iterdir()] == ["secret"]
    if hasattr(os, "getuid"):
        folder.chmod(0o777)
        assert "others may write" in Cache(folder).obstacle()


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


def test_a_folder_is_looked_through_after_a_share_of_what_is_written(folder, monkeypatch):
    looks = []
    monkeypatch.setattr(Cache, "_shrink", lambda cache: looks.append(cache))
    cache = Cache(folder, limit=2**20)  # of which a 64th is 16 KiB: about 32 files of half a KiB
    keys = [digest(str(k)) for k in range(320)]
    assert all(cache.store(key, {}, b"x" * 380) for key in keys)
    assert 4 <= len(looks) <= 20


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
    assert len(list(folder.glob("*.kernel"))) == 1
    assert len(list(folder.iterdir())) == 2  # and the secret, of which there is one: no entry is lost
    assert made(folder).source == "cache"


def test_a_kernel_travels_to_another_process(folder, monkeypatch):
    kernel = made(folder)
    with ProcessPoolExecutor(1, mp_context=_context()) as pool:
        assert np.array_equal(pool.submit(_evaluate, kernel).result(), kernel(Q))
    derivative = kernel.jacobian()
    assert np.array_equal(pickle.loads(pickle.dumps(derivative))(Q), derivative(Q))
    loop = kernels.step_loop(4, rhs=lambda t, x: -x, cache=folder)
    copy = pickle.loads(pickle.dumps(loop))
    assert np.array_equal(copy(Q, h=0.1, steps=5).states, loop(Q, h=0.1, steps=5).states)


@pytest.mark.posix
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
