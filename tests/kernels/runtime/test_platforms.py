"""Facts of a platform come from LLVM's triple, and machine code is made for platforms that are not at hand."""

from dataclasses import replace

import numpy as np
import pytest

from myoquat import kernels
from myoquat.core import lazy_imports, llvm, metadata
from myoquat.kernels.runtime import settings
from myoquat.kernels.runtime.build import Recipe, assembly
from myoquat.kernels.runtime.llvm import compile_object
from myoquat.kernels.tracing.trace import trace


@pytest.fixture
def native(monkeypatch):
    """What this package takes for the processor on a machine with another triple."""

    def found(triple):
        monkeypatch.setattr(llvm, "get_default_triple", lambda: triple)
        return settings._native.__wrapped__()

    return found


@pytest.mark.parametrize(
    ("triple", "used", "lanes"),
    [
        ("arm64-apple-darwin23.0.0", "arm64-apple-darwin23.0.0", 2),
        ("aarch64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", 2),
        ("x86_64-pc-windows-msvc", "x86_64-pc-windows-msvc-elf", None),
    ],
)
def test_platform_follows_from_the_triple(native, triple, used, lanes):
    found = native(triple)
    assert found.triple == used
    assert found.windows == ("windows" in triple)
    assert lanes in (None, found.lanes)


def test_windows_on_arm_is_rejected_with_what_to_use_instead(native):
    with pytest.raises(RuntimeError, match="install Python for Windows x86-64 instead"):
        native("aarch64-pc-windows-msvc")


def test_info_names_libraries_that_are_not_installed(monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(lazy_imports, "metadata", type("Metadata", (), {
        "version": staticmethod(version), "PackageNotFoundError": metadata.PackageNotFoundError,
    }))  # fmt: skip
    assert kernels.info()["versions"]["casadi"] == "not installed"


def test_machine_code_for_windows_is_made_with_large_addresses_in_elf():
    """LLVM may link it into any free memory, since Windows has no JITLink. Its older linker takes objects in ELF."""
    here = settings.target()
    if not here.triple.startswith("x86_64"):
        pytest.skip("LLVM's targets of other processors are not initialized")
    traced = trace(lambda x: np.sin(x) * x, {"x": ()}, ["y"])
    there = replace(here, triple="x86_64-pc-windows-msvc-elf")
    text = assembly(Recipe.of_formula(lambda: traced), there, lanes=here.lanes)
    large, small = (compile_object(text, target) for target in (there, here))
    assert large[:4] == b"\x7fELF"
    assert large != small
