"""Models by name or by file."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from myoquat import muscle
from myoquat.core import PATH, check_types, resources
from myoquat.data import osim
from myoquat.joints import ModelError
from myoquat.joints.errors import errors_in

from .files import near_file
from .formats import MODEL_FORMATS, CompiledModel, ModelSpec, model_format


def library_models() -> tuple[str, ...]:
    """Names of the models that come with the package.

    >>> import myoquat as mq
    >>> "two_link" in mq.library_models()
    True
    """
    return tuple(sorted(p.name.removesuffix(".toml") for p in _folder().iterdir() if p.name.endswith(".toml")))


def load_model(
    name_or_path: str | Path | CompiledModel | ModelSpec,
    rotations: str | dict[str, str] = "file",
    strict: bool = False,
    marker_set: str | Path | None = None,
    wrapping: str | None = None,
    **options: Any,
) -> "muscle.Model":
    """A model by its name in the package or by the path of its file, or that of a `mujoco.MjModel` or `mujoco.MjSpec`.

    The suffix says the format: `.toml`, OpenSim's `.osim`, MuJoCo's `.xml` (MJCF), or `.urdf` (without muscles).

    rotations   "file" leaves the joints as the file has them. Anything else is what `Model.with_rotations` takes, such
                as "quaternion".
    strict      reject an .osim, .xml or .urdf file with parts that are not supported, instead of warning.
    marker_set  a file of OpenSim's <MarkerSet>. The model gets its markers, in place of its own of the same names.

    anywhere    True: meshes and files that an .osim or .xml file includes may lie outside its folder.

    sets        files of OpenSim's sets, such as a <ContactGeometrySet> and a <ForceSet>, whose objects join those of an
                .osim file.

    Options of `.xml`:

    wrapping  the rule for surfaces with a side site (`Wrap.rule`): "mujoco" that of MuJoCo 4, by default; "mujoco3"
              that of MuJoCo 3; "shortest" that of a quadrant.
    contact   True: geoms press on each other.

    In `.xml`, coordinates keep the names of hinges and slides. Spatial tendons are muscles, sites that no tendon uses
    are markers, and equality constraints of joints are couplers. The keyframe "start", or the first, is the start.

    Options of `.urdf`:

    base                                  "fixed" welds the root to the world, "floating" puts it on a floating joint.
    joint_order, velocity_frame, gravity  as for `ArticulatedSystem`.

    Raises ModelError with file, element and line if the file does not describe a model. It is raised too for a name
    that is neither a model of the package nor a file. Raises ValueError for an option of another format.

    >>> import myoquat as mq
    >>> model = mq.load_model("two_link")
    >>> model.muscle_names
    ('m1', 'm2', 'm3', 'm4', 'm5', 'm6')
    >>> mq.load_model("two_link", rotations="sequence").system.nq
    6
    """
    options = options if wrapping is None else {"wrapping": wrapping, **options}
    with ExitStack() as unpacked:
        if isinstance(name_or_path, (CompiledModel, ModelSpec)):
            model = MODEL_FORMATS[".xml"].read(name_or_path, strict, options)
        else:
            check_types(name_or_path=(name_or_path, PATH))
            path = Path(name_or_path)
            if str(name_or_path) in library_models():
                path = unpacked.enter_context(resources.as_file(_folder() / f"{name_or_path}.toml"))
            elif not os.path.exists(path):  # nor for names that no file can have
                known = f"no such model file, and no model of this name; known: {', '.join(library_models())}"
                raise ModelError(known + near_file(path), file=path)
            elif path.is_dir():
                raise ModelError("this is a directory, not a file", file=path)
            model = model_format(path).read(path, strict, options)
    if rotations != "file":
        model = model.with_rotations(rotations)
    if marker_set is None:
        return model
    with errors_in(marker_set):
        return osim.with_markers(model, osim.read_marker_set(Path(marker_set)))


def save_model(model: "muscle.Model", path: str | Path, strict: bool = False, overwrite: bool = False) -> None:
    """Write a model in the format that the suffix of the path names; see `Model.save`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import myoquat as mq
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mq.load_model("two_link").save(f"{folder}/arm.toml")
    ...     mq.load_model(f"{folder}/arm.toml") == mq.load_model("two_link")
    True
    """
    check_types(model=(model, muscle.Model), path=(path, PATH))
    path = Path(path)
    model_format(path).write(model, path, strict, overwrite)


def _folder() -> "resources.abc.Traversable":
    return resources.files("myoquat.data") / "models"
