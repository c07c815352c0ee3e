"""The names that other packages may use."""

import importlib
import pkgutil

import pytest

from myoquat import core, kernels


def modules_within(package):
    """A package and all modules in it, those of subpackages included."""
    names = [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [package, *map(importlib.import_module, names)]


@pytest.mark.parametrize("package", [core, kernels], ids=lambda package: package.__name__)
def test_every_module_declares_its_names(package):
    modules = modules_within(package)
    assert len(modules) > 6  # those of subpackages were found
    for module in modules:
        missing = [name for name in module.__all__ if not hasattr(module, name)]
        assert not missing, (module.__name__, missing)
        assert module.__doc__
