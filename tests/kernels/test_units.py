"""Long kernels are compiled in units, on several threads."""

import numpy as np
import pytest

from myoquat import kernels
from myoquat.kernels import build, settings
from myoquat.kernels.cache import Cache
from myoquat.kernels.machine import Assembler


def long(x):
    for k in range(400):
        x = np.sin(x) * x[::-1] / 4 + np.cos(k + x / 2)
    return x


def made(folder, monkeypatch, threads):
    """The kernel, and what is kept of it."""
    monkeypatch.setenv("MYOQUAT_THREADS", str(threads))
    kernel = kernels.compile(long, {"x": 4}, ["y"], cache=folder)
    (path,) = folder.glob("*.kernel")
    return kernel, build.stored_code(Cache(folder), path.stem)


def test_threads_compile_the_same_code_in_units(tmp_path, monkeypatch, rng):
    kernel, alone = made(tmp_path / "one", monkeypatch, 1)
    _, together = made(tmp_path / "several", monkeypatch, 3)
    assert alone == together
    assert len(alone[-1]) > 2
    x = rng.normal(size=(20, 4))
    loaded, _ = made(tmp_path / "several", monkeypatch, 3)
    assert (kernel.source, loaded.source) == ("compiled", "cache")
    assert np.array_equal(loaded(x), kernel(x))
    np.testing.assert_allclose(kernel(x[0]), long(x[0]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_unit_that_is_no_assembly_is_told(threads):
    with Assembler(settings.target(), threads) as assembler:
        for _ in range(4):
            assembler.give("define nothing")
        with pytest.raises(RuntimeError, match="expected"):
            assembler.objects()


def test_code_that_does_not_fit_its_lengths_is_not_there(tmp_path):
    kernels.compile(lambda x: 2 * x, {"x": 4}, cache=tmp_path)
    (path,) = tmp_path.glob("*.kernel")
    cache = Cache(tmp_path)
    header, code = cache.load(path.stem)
    assert header["objects"] == [len(code)]
    assert build.stored_code(cache, path.stem)[-1] == [code]
    for wrong in (None, [], [len(code) - 1], [len(code), 1], [len(code), 0], [float(len(code))], [-1, len(code) + 1]):
        cache.store(path.stem, header | {"objects": wrong}, code)
        assert build.stored_code(cache, path.stem) is None
