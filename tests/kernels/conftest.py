"""Kernels of the tests are compiled into a cache folder of their own."""

import os

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """One folder per session, for all of its workers, so that equal kernels of several tests are compiled once."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "kernel-cache"
    monkeypatch.setenv("MYOQUAT_CACHE", str(folder))
    for name in ("MYOQUAT_LANES", "MYOQUAT_CPU", "MYOQUAT_THREADS", "MYOQUAT_OPTIMIZATION"):
        monkeypatch.delenv(name, raising=False)
