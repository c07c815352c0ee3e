"""URDF behind the verbs of every model format: a URDF file holds a system, what drives its joints, and no muscles."""

from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from myoquat.data.leftovers import Census, Leftovers
from myoquat.data.urdf import xml
from myoquat.data.urdf.drives import read_actuators, read_coordinates, read_couplers, tell_left_out
from myoquat.data.urdf.read import read_system
from myoquat.data.urdf.write import write_system
from myoquat.data.urdf.written import written_drives
from myoquat.data.xml import located
from myoquat.joints.errors import ModelError
from myoquat.muscle.coordinates import follow
from myoquat.muscle.model import Model

__all__ = ["read_model", "write_model"]


def read_model(path: str | Path, strict: bool = False, **options: Any) -> Model:
    """The model in a URDF file, without muscles, with the `options` of `read_system`.

    Ranges of joints are those of `Model.coordinates`, efforts bounds of actuators with the names of the joints, joints
    that mimic others couplers, which the start obeys. Friction, greatest speeds and other tools' elements are told in
    one UnsupportedWarning; `strict` makes it an error.
    """
    path = Path(path)
    robot, census = xml.parse(path), Census()
    system = read_system(robot, path, **options)
    names = set(system.coordinate_names)
    joints = {xml.name_of(j): j for j in xml.children(robot, "joint") if j.get("name", "").strip() in names}
    try:
        couplers = read_couplers(joints)
        tell_left_out(robot, census)
        model = Model(
            system,
            name=system.name,
            file=path,
            coordinates=read_coordinates(joints),
            couplers=couplers,
            actuators=read_actuators(joints),
        )
    except ModelError as error:
        raise located(error, path, robot) from None
    census.report(path, strict)
    return _obeying(model)


def _obeying(model: Model) -> Model:
    """The model, with a start that its couplers allow where the neutral one is none."""
    q = model.start
    driven = {coupler.dependent: coupler for coupler in model.couplers}
    drivers = {name: [coupler.independent] for name, coupler in driven.items()}
    order = TopologicalSorter(drivers).static_order()  # a joint may mimic one that mimics a third
    follow([driven[name] for name in order if name in driven], model.system, q)
    return model if (q == model.start).all() else replace(model, start_q=tuple(map(float, q)))


def write_model(model: Model, path: str | Path, strict: bool = False, overwrite: bool = False) -> None:
    """Write a model's system, ranges, couplers and the bounds of its actuators on coordinates.

    What else it has, muscles included, is told in one UnwrittenWarning, or refused if `strict`.
    """
    path = Path(path)
    left = Leftovers()
    drives = written_drives(model, left)
    if strict:  # before anything is written
        left.report(path, strict)
    write_system(model.system, path, overwrite, drives)
    left.report(path, strict)
