"""The names that other rooms may use."""

import importlib
import pkgutil

from myoquat import kernels


def test_public_names_exist():
    assert len(set(kernels.__all__)) == len(kernels.__all__)
    assert all(hasattr(kernels, name) for name in kernels.__all__)


def test_every_module_declares_its_names():
    for found in pkgutil.iter_modules(kernels.__path__):
        module = importlib.import_module(f"myoquat.kernels.{found.name}")
        missing = [name for name in module.__all__ if not hasattr(module, name)]
        assert not missing, (found.name, missing)
        assert module.__doc__
