"""Long kernels are compiled in units, on several threads."""

import numpy as np
import pytest
from packed_loop import iterate

from myoquat import kernels
from myoquat.core import BoundedTable
from myoquat.kernels.codegen import ir as compilation_units
from myoquat.kernels.runtime import build, llvm, settings
from myoquat.kernels.runtime.cache import Cache
from myoquat.kernels.runtime.llvm import Assembler


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
    _, together = made(tmp_path / "multi_block", monkeypatch, 3)
    assert alone == together
    assert len(alone[-1]) > 2
    x = rng.normal(size=(20, 4))
    loaded, _ = made(tmp_path / "multi_block", monkeypatch, 3)
    assert (kernel.source, loaded.source) == ("compiled", "cache")
    assert np.array_equal(loaded(x), kernel(x))
    np.testing.assert_allclose(kernel(x[0]), long(x[0]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_invalid_assembly_is_reported(threads):
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
    assert sum(header["objects"]) == len(code)
    assert b"".join(build.stored_code(cache, path.stem)[-1]) == code
    for wrong in (None, [], [len(code) - 1], [len(code), 1], [len(code), 0], [float(len(code))], [-1, len(code) + 1]):
        cache.store(path.stem, header | {"objects": wrong}, code)
        assert build.stored_code(cache, path.stem) is None


@pytest.fixture
def compiled(monkeypatch):
    """The assembly that is compiled from here on: nothing is known yet."""
    texts, compile_object = [], llvm.compile_object
    monkeypatch.setattr(llvm, "compile_object", lambda text, target: texts.append(text) or compile_object(text, target))
    monkeypatch.setattr(llvm, "_known", BoundedTable(2**20, len))
    return texts


def test_what_two_kernels_have_in_common_is_compiled_once(compiled, monkeypatch):
    def halved(z, c):
        for k in range(5):
            z = np.sin(z) / 2 + c * k
        return z

    monkeypatch.setattr(compilation_units, "UNIT_CHARACTERS", 1)  # every function that can stand alone does
    first = kernels.compile(lambda x: iterate(halved, x, x, 4), {"x": 2}, ["y"], cache="off")
    before = len(compiled)
    second = kernels.compile(lambda x, y: x * iterate(halved, y, x, 4), {"x": 2, "y": 2}, ["z"], cache="off")
    assert before > 2
    assert 0 < len(compiled) - before < before
    x = np.array([0.3, 0.4])
    np.testing.assert_array_equal(second(x, x), x * first(x))


def test_functions_of_other_object_files_may_lie_anywhere(compiled):
    """The address of a hidden function is relative to the code that takes it, within 2 GiB. That of a loop's step is
    taken, so that linking failed where a process had its object files farther apart."""
    kernels.compile(lambda x: iterate(lambda z, c: np.cos(z + c), x, x, 9), {"x": 40}, ["y"], cache="off")
    assert compiled
    assert not any("hidden" in text for text in compiled)


def test_functions_that_all_kernels_share_are_compiled_once(compiled):
    """Those that move rows and the elementary ones: of a second kernel only its formula and its driver are new."""
    kernels.compile(lambda x, y: np.sin(x) * y[0], {"x": 20, "y": 3}, ["z"], cache="off")
    before = len(compiled)
    kernels.compile(lambda x, y: np.sin(x + 1.0) @ np.ones((20, 20)) + y[2], {"x": 20, "y": 3}, ["z"], cache="off")
    assert before == 5  # the sine, the kernel, reading 20, reading 3 and writing 20
    assert len(compiled) == before + 1


def test_what_is_kept_is_forgotten_beyond_a_size():
    made, known = [], BoundedTable(10, len)
    for text in ("12345", "abcde", "12345", "last", "12345", "abcde", "longer than all"):
        assert known.get(text, lambda text=text: made.append(text) or text) == text
    assert made == ["12345", "abcde", "last", "abcde", "longer than all"]
