"""ExternalForce in the force set of a model: columns of a table push a body, in the axes of any other."""

import re
from itertools import product

import numpy as np
import pytest

from myoquat.data import UnsupportedWarning, load_model
from myoquat.dynamics import forward_dynamics
from myoquat.joints.errors import ModelError
from myoquat.joints.functions import Constant, NaturalSpline
from myoquat.muscle import Model, limit_torques
from myoquat.muscle.forces import PrescribedForce
from tests.data.osim.two_bodies import OPENSIM, SYSTEM

LOADS = {
    "push": ("B", "ground", "ground", "f_v", "f_p", "f_m"),
    "pull": ("A", "B", "A", "f_v", "f_p", ""),
    "lean": ("B", "A", "ground", "f_p", "", "f_v"),
    "twist": ("A", "A", "B", "", "", "f_m"),
    "press": ("B", "B", "A", "f_m", "f_p", ""),
}
AGAINST = OPENSIM.replace(
    "state = model", "model.addModelComponent(opensim.ExternalLoads(arguments[2], True))\nstate = model"
).replace("for q, u in zip(*arguments[1]):",
          "for k, (q, u) in enumerate(zip(*arguments[1])):\n    state.setTime(0.004 * k)")  # fmt: skip


def elements(names):
    """The loads as elements of a file."""
    keys = ("applied_to_body", "force_expressed_in_body", "point_expressed_in_body", "force_identifier",
            "point_identifier", "torque_identifier")  # fmt: skip
    found = ""
    for name in names:
        parts = "".join(f"<{key}>{value}</{key}>" for key, value in zip(keys, LOADS[name], strict=True) if value)
        found += f'<ExternalForce name="{name}">{parts}<data_source_name>plate</data_source_name></ExternalForce>\n'
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model without forces, ours with them, and OpenSim's document of the same loads beside their table."""
    folder = tmp_path_factory.mktemp("external")
    Model(SYSTEM, name="pushed").save(folder / "bare.osim")
    rng, n = np.random.default_rng(1), 12
    table = np.column_stack([np.linspace(0, 0.8, n), 20 * rng.normal(size=(n, 9))])
    table[:, 4:7] /= 100
    labels = "\t".join(["time", *(f"f_{key}{axis}" for key in "vpm" for axis in "xyz")])
    rows = "\n".join("\t".join(map(repr, map(float, row))) for row in table)
    head = f"plate\nversion=1\nnRows={n}\nnColumns=10\ninDegrees=no\nendheader\n{labels}\n{rows}\n"
    (folder / "plate.sto").write_text(head)
    loads = elements(LOADS).replace("<data_source_name>plate</data_source_name>", "")
    (folder / "loads.xml").write_text(
        f'<OpenSimDocument Version="40600"><ExternalLoads name="loads"><objects>{loads}</objects>'
        f"<datafile>{folder / 'plate.sto'}</datafile></ExternalLoads></OpenSimDocument>"
    )
    write(folder / "bare.osim", folder / "pushed.osim", elements(LOADS))
    return folder


def write(bare, path, forces):
    text = bare.read_text()
    for empty in ('<ForceSet name="forceset">\n      <objects/>', '<ForceSet name="forceset"><objects/>'):
        text = text.replace(empty, f'<ForceSet name="forceset"><objects>{forces}</objects>')
    assert forces in text
    path.write_text(text)


@pytest.mark.peers
def test_opensim_pushes_alike(folder, rng, in_opensim):
    """At 200 states, each at a time of its own: 1e-9 of the greatest acceleration."""
    model = load_model(folder / "pushed.osim", strict=True)
    q, u = rng.uniform(-0.6, 0.6, (200, 5)), rng.uniform(-2, 2, (200, 5))
    theirs = np.array(in_opensim(AGAINST, folder / "bare.osim", [q, u], folder / "loads.xml"))
    udot = forward_dynamics(model, q, u, limit_torques(model, q, u, 0.004 * np.arange(200), backend="numpy"))
    np.testing.assert_allclose(udot, theirs, atol=1e-9 * np.abs(theirs).max())


def test_what_is_read_is_written_again(folder, tmp_path):
    """In TOML; in .osim as a PrescribedForce, but for axes of a third body, which OpenSim's files cannot hold."""
    model = load_model(folder / "pushed.osim", strict=True)
    assert [force.name for force in model.forces] == list(LOADS)
    assert isinstance(model.forces[0].forces[0], NaturalSpline)
    model.save(tmp_path / "again.toml")
    assert load_model(tmp_path / "again.toml").forces == model.forces
    with pytest.raises(ModelError, match=r"force 'pull': .* not of \['B'\]"):
        model.save(tmp_path / "again.osim")
    own = ["push", "twist"]
    write(folder / "bare.osim", folder / "own.osim", elements(own))
    few = load_model(folder / "own.osim", strict=True)
    few.save(tmp_path / "again.osim")
    assert load_model(tmp_path / "again.osim", strict=True).forces == few.forces


def test_external_loads_among_the_components_of_a_model_push_alike(folder):
    """As OpenSim writes a model to which its tool has added them: their table is the data of all."""
    loads = (folder / "loads.xml").read_text().partition("<ExternalLoads")[2].partition("</OpenSimDocument>")[0]
    own = loads.replace("</ExternalForce>", "<data_source_name>DataType=double</data_source_name></ExternalForce>")
    inside = f"<components><ExternalLoads{own}</components><gravity"
    (folder / "written.osim").write_text((folder / "bare.osim").read_text().replace("<gravity", inside))
    assert load_model(folder / "written.osim", strict=True).forces == load_model(folder / "pushed.osim").forces


def test_data_that_are_missing_are_reported_and_columns_that_are_missing_refused(folder):
    path = folder / "odd.osim"
    write(folder / "bare.osim", path, elements(["push"]).replace(">plate<", ">other<"))
    with pytest.warns(UnsupportedWarning, match=r"1 ExternalForce \(force\), line \d+"):
        assert not load_model(path).forces
    write(folder / "bare.osim", path, elements(["push"]).replace(">f_v<", ">g_v<"))
    with pytest.raises(ModelError, match=r"0 columns 'g_v'\.\.\., not three"):
        load_model(path)
    write(folder / "bare.osim", path, elements(["push"]).replace(">B<", ">C<"))
    with pytest.raises(ModelError, match="body 'C' does not exist"):
        load_model(path)


@pytest.mark.peers
def test_prescribed_forces_act_where_opensim_lets_them(tmp_path, rng, in_opensim):
    """In all frames, with and without points: a force without points acts at the body's origin, whatever the frame of
    points says."""
    q, u = rng.uniform(-0.6, 0.6, (1, 5)), rng.uniform(-2, 2, (1, 5))
    path = tmp_path / "pushed.osim"
    for in_world, point_in_world, without in product(
        (False, True), (False, True), ("", "pointFunctions", "forceFunctions")
    ):
        functions = [tuple(map(Constant, rng.normal(size=3))) for _ in range(3)]
        force = PrescribedForce("push", "B", *functions, in_world=in_world, point_in_world=point_in_world)
        Model(SYSTEM, forces=(force,), name="pushed").save(path, overwrite=True)
        text = path.read_text()
        if without:
            text = re.sub(rf'<FunctionSet name="{without}">.*?</FunctionSet>', "", text, flags=re.S)
        path.write_text(text)
        model = load_model(path)
        (answer,) = in_opensim(OPENSIM, path, [q, u])
        udot = forward_dynamics(model, q, u, limit_torques(model, q, u, np.zeros(1)))[0]
        np.testing.assert_allclose(
            udot, answer, rtol=1e-9, atol=1e-9, err_msg=f"{in_world}, {point_in_world}, {without}"
        )
