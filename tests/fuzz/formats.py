"""The file formats that are read: seeds of their mutants, how mutants are made and read, and the promised errors."""

import hashlib
import json
import os
import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from myoquat import kernels
from myoquat.analysis.studies import Study, open_results
from myoquat.analysis.studies.durable import StoreError
from myoquat.analysis.studies.results import verify_results
from myoquat.apps.moco import load_moco_study
from myoquat.data import load_forces, load_model, load_orientations, motions
from myoquat.data.meshes import read_mesh
from myoquat.data.osim.sets import read_force_set
from myoquat.data.setups import read_setup
from myoquat.data.setups.motion import read_controls
from myoquat.dynamics import Trajectory, simulate
from myoquat.joints.errors import ModelError, OffSphereError
from myoquat.kernels.runtime import build
from myoquat.kernels.runtime.cache import Cache

from . import captures, mutate, problems, sets, setups

MAX_SEED = 60_000  # bytes of a file that mutants begin from
DATA = Path(__file__).parents[1] / "data"
STUDY = b"""format = "myoquat-study"
version = 1
model = "two_link"

[sample]
design = "latin_hypercube"
samples = 8
seed = 0

[vary]
"muscles.m1.max_isometric_force" = { uniform = [0.8, 1.2], relative = true }
"bodies.A.mass" = { normal = [5.0, 0.2] }

[simulate]
duration = 0.01
step = 1e-3
method = "rk4"
activation = { times = [0.0, 0.01], values = [[0.1, 1.0, 0.1, 1.0, 0.1, 0.1], [0.1, 1.0, 0.1, 1.0, 0.1, 0.2]] }
[simulate.limits]
"A.omega_x" = [-50.0, 50.0]

[keep]
final = true
times = 2
summaries = ["peak_force", "range_of_motion"]
summary_step = 0.005
"""
Mutation = Callable[[Any, Random], Any]


@dataclass(frozen=True)
class FileFormat:
    """seeds(folder): what mutants begin from; write(seed, rng, folder): a mutant's path; read(path); promised: the
    exceptions with which a mutant may be refused."""

    name: str
    seeds: Callable[[Path], list[Any]]
    write: Callable[[Any, Random, Path], Path]
    read: Callable[[Path], Any]
    promised: tuple[type[Exception], ...]


def text_format(
    name: str, suffix: str, seeds: Callable[[Path], list[bytes]], change: Mutation, read: Any, *promised: Any
):
    """A format of single files."""

    def write(seed: bytes, rng: Random, folder: Path) -> Path:
        path = folder / f"mutant{suffix}"
        path.write_bytes(change(seed, rng))
        return path

    return FileFormat(name, seeds, write, read, promised)


# ---- seeds ---------------------------------------------------------------------------------------------------


def saved(model: str | Path, suffix: str) -> Callable[[Path], bytes]:
    """The bytes of a model in another format."""

    def seed(folder: Path) -> bytes:
        path = folder / f"seed{suffix}"
        load_model(model).save(path, overwrite=True)
        return path.read_bytes()

    return seed


def osim_seeds(folder: Path) -> list[bytes]:
    return [(DATA / "small_leg.osim").read_bytes(), saved("two_link", ".osim")(folder), problems.FORCES.encode()]


def toml_seeds(folder: Path) -> list[bytes]:
    return [saved(model, ".toml")(folder) for model in ("two_link", DATA / "small_leg.osim")]


def read_mjcf(path: Path) -> Any:
    """A model with contact."""
    return load_model(path, contact=True)


def mjcf_seeds(folder: Path) -> list[bytes]:
    """Models that were saved, one with classes, tendons and what goes with them, and one that includes a file. With
    MYOQUAT_FUZZ_MJCF, the files below that folder, without the files that they include."""
    (folder / "part.xml").write_text(sets.MJCF_PART)
    saved_ones = [saved("two_link", ".xml")(folder), saved("two_link_euler", ".xml")(folder)]
    folders = [Path(given) for given in (os.environ.get("MYOQUAT_FUZZ_MJCF"),) if given]
    given = [path.read_bytes() for top in folders for path in sorted(top.rglob("*.xml"))]
    more = [re.sub(rb"<include[^>]*/>", b"", text) for text in given if b"<mujoco" in text and len(text) < MAX_SEED]
    return more or [*saved_ones, *(sets.MJCF.format(part).encode() for part in ("", '<include file="part.xml"/>'))]


def motion_seeds(folder: Path) -> list[bytes]:
    model = load_model("two_link")
    q = np.tile(model.system.neutral(), (4, 1))
    frame = motions.motion_from_states(model, np.arange(4) / 10, q, np.zeros((4, model.system.nu)))
    motions.save_table(frame, folder / "seed.sto", overwrite=True)
    written = (folder / "seed.sto").read_bytes()
    return [written, b"Coordinates\nversion=1\nnRows=2\nnColumns=2\ninDegrees=yes\nendheader\ntime\ta\n0\t1\n1\t2\n"]


def marker_seeds(folder: Path) -> list[bytes]:
    axes = ("x", "y", "z")
    columns = pd.MultiIndex.from_product([["a", "b"], axes])
    frame = pd.DataFrame(np.arange(24.0).reshape(4, 6), np.arange(4) / 100, columns)
    frame.iloc[1, 2] = np.nan
    motions.save_table(frame, folder / "seed.trc", overwrite=True)
    return [(folder / "seed.trc").read_bytes()]


ORIENTATIONS = b"""DataRate=100
DataType=Quaternion
version=3
endheader
time\tpelvis\ttibia_r
0\t1,0,0,0\t0.6,0.8,0,0
0.01\t1,0,0,0\tnan,nan,nan,nan
0.02\t0,1,0,0\t0.6,0,0.8,0
"""
LOADS = b"""<?xml version="1.0" encoding="UTF-8" ?>
<OpenSimDocument Version="40000"><ExternalLoads name="loads"><objects>
<ExternalForce name="right"><applied_to_body>calcn_r</applied_to_body>
<force_expressed_in_body>ground</force_expressed_in_body><point_expressed_in_body>ground</point_expressed_in_body>
<force_identifier>force_v</force_identifier><point_identifier>point_p</point_identifier>
<torque_identifier>torque_</torque_identifier></ExternalForce>
<ExternalForce name="left"><appliesForce>false</appliesForce><applied_to_body>calcn_l</applied_to_body></ExternalForce>
</objects><datafile>loads.sto</datafile></ExternalLoads></OpenSimDocument>
"""


def load_seeds(folder: Path) -> list[bytes]:
    """Loads beside the table that they name, which stays whole: tables are a format of their own."""
    labels = [f"{name}{axis}" for name in ("force_v", "point_p", "torque_") for axis in "xyz"]
    frame = pd.DataFrame(np.ones((2, 9)), pd.Index([0.0, 0.1], name="time"), labels)
    motions.save_table(frame, folder / "loads.sto", overwrite=True)
    return [LOADS]


def read_moving(path: Path) -> None:
    """A motion of the model whose coordinates the table names."""
    motions.load_motion(path, load_model("two_link"))


def read_tasks(path: Path) -> None:
    """A setup of CMC that names the tasks."""
    folder = path.parent
    for name in ("leg.osim", "reserves.xml", "walk.mot"):
        (folder / name).touch()
    (folder / "cmc.xml").write_text(setups.CMC.replace("tasks.xml", path.name))
    read_setup(folder / "cmc.xml")


def read_marker_set(path: Path) -> None:
    """A setup of scaling that names the markers."""
    folder = path.parent
    for name in ("leg.osim", "walk.trc"):
        (folder / name).touch()
    named = f"</model_file><marker_set_file>{path.name}</marker_set_file></GenericModelMaker>"
    (folder / "scale.xml").write_text(setups.SCALE.replace("</model_file></GenericModelMaker>", named))
    read_setup(folder / "scale.xml")


def c3d_seeds(folder: Path) -> list[bytes]:
    """Markers and channels, without and with a force plate."""
    for name, plate in (("seed.c3d", False), ("plate.c3d", True)):
        captures.write_c3d(folder / name, plate=plate)
    return [(folder / name).read_bytes() for name in ("seed.c3d", "plate.c3d")]


def setup_seeds(folder: Path) -> list[bytes]:
    """Setups beside the files that they name, which are not opened."""
    for name in ("leg.osim", "placed.osim", "reserves.xml", "walk.trc", "walk.mot", "walk.sto"):
        (folder / name).touch()
    (folder / "tasks.xml").write_text(sets.TASKS)
    texts = (setups.IK, setups.ID, setups.REACTION, setups.SCALE, setups.WHOLE, setups.PLACER, setups.TRACKING)
    texts += (setups.CMC, setups.FORWARD)
    return [text.encode() for text in texts]


VTP = b"""<?xml version="1.0"?>
<VTKFile type="PolyData"><PolyData><Piece NumberOfPoints="4" NumberOfPolys="2">
<Points><DataArray type="Float32" NumberOfComponents="3" format="ascii">0 0 0 1 0 0 1 1 0 0 1.5 0</DataArray></Points>
<Polys><DataArray Name="connectivity" format="ascii">0 1 2 0 2 3</DataArray>
<DataArray Name="offsets" format="ascii">3 6</DataArray></Polys></Piece></PolyData></VTKFile>
"""
OBJ = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1.5 0\nf 1 2 3 4\nf 1/1/1 -2/2/2 -1/3/3\n"
FACET = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 1 1.5 0\nendloop\nendfacet\n"
MSH = struct.pack("<4i9f3i", 3, 0, 0, 1, *map(float, range(9)), 0, 1, 2)
STL = [f"solid a\n{FACET}{FACET}endsolid a\n".encode(), bytes(80) + struct.pack("<I12fH", 1, *range(12), 0)]


# ---- archives of arrays --------------------------------------------------------------------------------------


def npz_seeds(folder: Path) -> list[bytes]:
    simulate(load_model("two_link"), duration=0.003).save(folder / "seed.npz", overwrite=True)
    return [(folder / "seed.npz").read_bytes()]


def write_npz(seed: bytes, rng: Random, folder: Path) -> Path:
    path = folder / "mutant.npz"
    path.write_bytes(seed)
    if rng.random() < 0.4:
        path.write_bytes(mutate.damaged(seed, rng))
        return path
    with np.load(path) as archive:
        arrays = dict(archive)
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(sorted(arrays))
        change = rng.choice(ARRAYS)
        if change is None and len(arrays) > 1:
            del arrays[name]
        elif change is not None:
            arrays[name] = change(arrays[name], rng)
    np.savez_compressed(path, **arrays)
    return path


def _text_of(array: np.ndarray, rng: Random) -> np.ndarray:
    text = mutate.text(str(array).encode(), rng).decode("utf-8", "replace").rstrip("\x00")
    return np.array(text if array.dtype.kind == "U" else "x")


ARRAYS: tuple[Any, ...] = (
    None,
    lambda array, rng: array[..., None],
    lambda array, rng: np.ravel(array)[: rng.randrange(3)],
    lambda array, rng: np.zeros(()),
    lambda array, rng: np.full(np.shape(array), rng.choice((np.nan, 1e300, -1.0, 99.0))),
    lambda array, rng: array.astype(str),
    lambda array, rng: np.ones(np.shape(array), rng.choice(("complex", "bool", "int8", "S3", "datetime64[s]"))),
    _text_of,
    _text_of,
)


# ---- stores --------------------------------------------------------------------------------------------------


def store_seeds(folder: Path) -> list[Path]:
    path = folder / "seed.toml"
    path.write_bytes(STUDY)
    if not (folder / "seed.zarr").exists():
        Study.load(path).run(folder / "seed.zarr", threads=1, block=4, progress=False)
    return [folder / "seed.zarr"]


def write_store(seed: Path, rng: Random, folder: Path) -> Path:
    """A copy of the store with one file changed. The copy stays, and what the mutant before has changed is mended."""
    path, changed = folder / "mutant.zarr", folder / "mutant.txt"
    if path.exists():
        _restore(seed, path, changed.read_text())
    else:
        shutil.copytree(seed, path)
    files = _files(seed)
    described = [file for file in files if file.endswith("zarr.json")]
    name = rng.choice((rng.choice(files), rng.choice(described), "zarr.json"))
    changed.write_text(name)
    _change(path / name, rng)
    return path


@cache
def _files(store: Path) -> list[str]:
    return sorted(str(file.relative_to(store)) for file in store.rglob("*") if file.is_file())


def _restore(seed: Path, path: Path, name: str) -> None:
    if (path / name).is_dir():
        (path / name).rmdir()
    shutil.copyfile(seed / name, path / name)


def _change(file: Path, rng: Random) -> None:
    choice = rng.randrange(8)
    if choice == 0:
        file.unlink()
    elif choice == 1:
        file.unlink()
        file.mkdir()
    elif choice <= 4 and file.name == "zarr.json":
        file.write_text(json.dumps(_metadata(json.loads(file.read_text()), rng)))
    else:
        file.write_bytes(mutate.text(file.read_bytes(), rng))


def _metadata(found: dict, rng: Random) -> dict:
    """Changed metadata: of the file as a whole, or of the study inside."""
    study = found.get("attributes", {}).get("study")
    if study is None or rng.random() < 0.5:
        return mutate.tree(found, rng)
    found["attributes"]["study"] = json.dumps(mutate.tree(json.loads(study), rng))
    return found


def read_store(path: Path) -> None:
    """The results, and, also where they could not be read, their verification."""
    try:
        open_results(path).load()
    except Exception as error:
        if type(error) in STORES or isinstance(error, OSError):
            verify_results(path)
        raise
    verify_results(path)


# ---- cache entries -------------------------------------------------------------------------------------------


def wave(q):
    return np.sin(q) * q[0]


@cache
def _first(folder: Path) -> Any:
    """What `build` finds in the entry before it is mutated."""
    (path,) = folder.glob("*.kernel")
    return build.stored_code(Cache(folder), path.stem)


def cache_seeds(folder: Path) -> list[tuple[str, bytes]]:
    kernels.compile(wave, {"q": 4}, cache=folder / "cache")
    _first(folder / "cache")
    return [(path.name, path.read_bytes()) for path in (folder / "cache").glob("*.kernel")][:1]


def write_entry(seed: tuple[str, bytes], rng: Random, folder: Path) -> Path:
    """A damaged entry, or one with a valid checksum over a header that is not ours; the code is never changed then."""
    name, data = seed
    path = folder / "cache" / name
    if rng.random() < 0.4:
        changed = mutate.damaged(data, rng)
        path.write_bytes(changed if changed != data else b"")
        return path
    magic, body = data[: data.index(b"\n") + 1], data[data.index(b"\n") + 33 :]
    key, rest = body[: body.index(b"\n") + 1], body[body.index(b"\n") + 1 :]
    (length,) = struct.unpack("<Q", rest[:8])
    header, code = rest[8 : 8 + length], rest[8 + length :]
    for _ in range(20):
        new = _header(header, rng)
        if new != header:
            break
    wrong = struct.pack("<Q", rng.choice((len(new), len(new), len(new), 2**63, 0, len(new) + 10**6)))
    body = key + wrong + new + code if rng.random() < 0.9 else (key + wrong + new)[: rng.randrange(len(key) + 12)]
    secret = (folder / "cache" / "secret").read_bytes()
    path.write_bytes(magic + hashlib.blake2b(body, key=secret, digest_size=32).digest() + body)
    return path


def _header(header: bytes, rng: Random) -> bytes:
    if rng.random() < 0.4:
        return mutate.text(header, rng)
    if rng.random() < 0.2:
        return json.dumps(rng.choice(mutate.VALUES)).encode()
    return json.dumps(mutate.tree(json.loads(header), rng)).encode()


def read_entry(path: Path) -> None:
    """Read the entry. If it is unchanged, the kernel is run. If it is rejected, this is done now and then: `build`
    compiles then as if there were no file. An entry of another form that has a valid checksum is not run. Only this
    user can have written it, and code of this user can do all that the user can."""
    found = build.stored_code(Cache(path.parent), path.stem)
    if found not in (None, _first(path.parent)) or (found is None and path.stat().st_size % 20):
        return
    kernel = kernels.compile(wave, {"q": 4}, cache=path.parent)
    if not np.array_equal(kernel(np.ones((2, 4))), np.sin(np.ones((2, 4)))):
        raise AssertionError("a damaged entry ran")


MODELS, STUDIES = (ModelError,), (ModelError, ValueError, OffSphereError, OSError)
STORES = (ValueError, StoreError, ModelError, OSError)
FORMATS = {
    file_format.name: file_format
    for file_format in (
        text_format("osim", ".osim", osim_seeds, mutate.xml, load_model, *MODELS),
        text_format("toml", ".toml", toml_seeds, mutate.toml, load_model, *MODELS),
        text_format("study", ".toml", lambda folder: [STUDY], mutate.toml, Study.load, *STUDIES),
        text_format(
            "urdf", ".urdf", lambda folder: [(DATA / "arm.urdf").read_bytes()], mutate.xml, load_model, *MODELS
        ),
        text_format("mjcf", ".xml", mjcf_seeds, mutate.xml, read_mjcf, *MODELS),
        text_format("mot", ".mot", motion_seeds, mutate.text, motions.load_table, *MODELS),
        text_format("sto", ".sto", motion_seeds, mutate.text, motions.load_table, *MODELS),
        text_format("trc", ".trc", marker_seeds, mutate.text, motions.load_table, *MODELS),
        text_format(
            "csv",
            ".csv",
            lambda folder: [b"time,a,b\n0,1,2\n0.1,,4\n0.2,5,6\n"],
            mutate.text,
            motions.load_table,
            *MODELS,
        ),
        text_format("quaternions", ".sto", lambda folder: [ORIENTATIONS], mutate.text, load_orientations, *MODELS),
        text_format("loads", ".xml", load_seeds, mutate.xml, load_forces, *MODELS),
        text_format("c3d", ".c3d", c3d_seeds, mutate.head, captures.read_c3d, *MODELS),
        text_format("setup", ".xml", setup_seeds, mutate.xml, read_setup, *MODELS),
        text_format("tasks", ".xml", lambda folder: [sets.TASKS.encode()], mutate.xml, read_tasks, *MODELS),
        text_format("markers", ".xml", lambda folder: [sets.MARKERS.encode()], mutate.xml, read_marker_set, *MODELS),
        text_format("controls", ".xml", lambda folder: [sets.CONTROLS.encode()], mutate.xml, read_controls, *MODELS),
        text_format("actuators", ".xml", lambda folder: [sets.ACTUATORS.encode()], mutate.xml, read_force_set, *MODELS),
        text_format("motion", ".sto", motion_seeds, mutate.text, read_moving, *MODELS),
        text_format("moco", ".omoco", problems.moco_seeds, mutate.xml, load_moco_study, *MODELS),
        text_format("vtp", ".vtp", lambda folder: [VTP], mutate.xml, read_mesh, *MODELS),
        text_format("obj", ".obj", lambda folder: [OBJ], mutate.text, read_mesh, *MODELS),
        text_format("stl", ".stl", lambda folder: STL, mutate.text, read_mesh, *MODELS),
        text_format("msh", ".msh", lambda folder: [MSH], mutate.head, read_mesh, *MODELS),
        FileFormat("npz", npz_seeds, write_npz, Trajectory.load, (ValueError, ModelError)),
        FileFormat("store", store_seeds, write_store, read_store, STORES),
        FileFormat("cache", cache_seeds, write_entry, read_entry, ()),
    )
}
