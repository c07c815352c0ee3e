"""The base installation: what works without any extra, and what names the extra that it needs."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from myoquat.core.lazy_imports import EXTRAS

ROOT = Path(__file__).parents[1]
WITHOUT = f"""
import importlib.util, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(EXTRAS)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
found = importlib.util.find_spec
missing = {sorted(EXTRAS)}
importlib.util.find_spec = lambda name, *more: None if name.partition(".")[0] in missing else found(name, *more)
"""

BASE = """
import numpy as np
import myoquat as mq
from myoquat.analysis.apps.command import main
model = mq.load_model("two_link")
assert mq.path_jacobian(model, model.start_q).shape == (6, 6)
assert np.isfinite(mq.simulate(model, duration=0.01, step=1e-3).energy).all()
assert len(mq.simulate(model, duration=0.01, step=1e-3).to_dataframe())
mq.mapping_analysis(model, n=5)
import sympy
mq.joints.E(np.array(sympy.symbols("Q0:4")))
main(["mapping", "two_link", "--samples", "5", "--figures", "figures"])
"""

FEATURES = {
    "studies": "import myoquat as mq; mq.Study",
    "control": "from myoquat.kernels import symbols_casadi; symbols_casadi('x', (3,))",
    "mocap": "from myoquat.data import load_markers; open('a.c3d', 'wb').write(bytes(600)); load_markers('a.c3d')",
    "notebooks": "from myoquat.analysis.apps.explorer import explore",
}


def run(code, folder):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT), "MYOQUAT_CACHE": str(folder / "cache")}
    call = [sys.executable, "-c", WITHOUT + code]
    return subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_base_installation_needs_no_library_of_an_extra(tmp_path):
    done = run(BASE, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tmp_path / "figures").iterdir())


@pytest.mark.parametrize("extra", FEATURES)
def test_a_feature_without_its_extra_names_the_command_that_installs_it(extra, tmp_path):
    done = run(FEATURES[extra], tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "MissingExtraError" in last
    assert last.endswith(f"python -m pip install 'myoquat[{extra}]'")


def test_a_command_without_its_extra_prints_one_sentence(tmp_path):
    code = "from myoquat.analysis.apps.command import main; main(['sweep', 'study.toml'])"
    done = run(code, tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "myoquat[studies]" in done.stderr


def test_every_library_of_the_table_is_in_the_extra_that_it_names():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    renamed = {"google_crc32c": "google-crc32c", "imageio_ffmpeg": "imageio-ffmpeg"}
    for library, extra in EXTRAS.items():
        name = renamed.get(library, library)
        assert any(requirement.startswith(f"{name}>") for requirement in extras[extra]), (library, extra)
    brought = set(extras["all"][0].removeprefix("myoquat[").removesuffix("]").split(","))
    assert set(EXTRAS.values()) <= brought
