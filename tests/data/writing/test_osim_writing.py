"""Writing OpenSim files: what is read back, what OpenSim makes of them, and what they cannot hold."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from parts import SLANTED, body, point

from myoquat import dynamics
from myoquat.data import load_model
from myoquat.data.reports import UnwrittenWarning
from myoquat.dynamics.inverse import passive_force
from myoquat.joints import (
    ArticulatedSystem,
    Axis,
    CustomJoint,
    EllipsoidJoint,
    EulerJoint,
    FixedJoint,
    FloatingJoint,
    ModelError,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    Shape,
    SphericalJoint,
    UniversalJoint,
    convert_coordinates,
)
from myoquat.joints.functions import AxisFunction, Linear, Multiplier, PiecewiseLinear, Polynomial, SimmSpline
from myoquat.muscle import (
    ActivationDynamics,
    ConditionalPoint,
    CoordinateLimit,
    Model,
    MovingPoint,
    Muscle,
    MusclePath,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
    limit_torques,
    path_lengths,
)
from myoquat.muscle.coordinates import Coordinate, Coupler, Marker
from myoquat.muscle.laws import (
    CubicExponentialMuscle,
    DeGrooteFregly2016,
    Ligament,
    Millard2012,
    PathActuator,
    PathSpring,
    RigidTendonMuscle,
    Thelen2003,
)
from tests.bodies import on_hinge
from tests.data.osim import (
    test_accepted as accepted,
    test_frames as frames,
    test_geometry as geometry,
    test_groups as groups,
    test_loops as loops,
    test_names as names,
    test_older as older,
    test_rods as rods,
)
from tests.data.osim.forces.test_contact import MODEL as STANDING
from tests.data.osim.forces.test_passive_forces import MODEL as SOFT
from tests.data.osim.test_obstacles import arm
from tests.data.osim.two_bodies import check_like
from tests.data.tables import write
from tests.muscle.laws.test_schutte import FILE as SCHUTTE

FILE = Path(__file__).parents[2] / "data" / "small_leg.osim"
PIECEWISE = ActivationDynamics(0.02, 0.06, "piecewise", minimum_activation=0.01)

OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
coordinates = [model.getCoordinateSet().get(name) for name in arguments[3]]
forces = [model.getForceSet().get(i) for i in range(model.getForceSet().getSize())]
classes = (opensim.Muscle, opensim.PathActuator, opensim.PathSpring, opensim.Ligament)
paths = [cls.safeDownCast(f) for f in forces for cls in classes if cls.safeDownCast(f) is not None]
paths = [p for i, p in enumerate(paths) if p.getName() not in [q.getName() for q in paths[:i]]]
answer = {"names": [c.getName() for c in coordinates], "paths": [p.getName() for p in paths]}
answer["count"] = model.getNumCoordinates()
single = [f for f in forces if f.getConcreteClassName() in ("SpringGeneralizedForce", "CoordinateLimitForce")]
answer |= {"start": [c.getDefaultValue() for c in coordinates], "lengths": [], "mass": [], "force": []}
for c in coordinates:
    c.setLocked(state, False)
order = []
for c in coordinates:
    for other in coordinates:
        other.setSpeedValue(state, 0.0)
    c.setSpeedValue(state, 1.0)
    order.append(int(np.argmax(np.abs(state.getU().to_numpy()))))
for c in coordinates:
    c.setSpeedValue(state, 0.0)
for q in arguments[1]:
    for c, x in zip(coordinates, q):
        c.setValue(state, x, False)
        c.setSpeedValue(state, 0.0)
    model.realizeDynamics(state)
    answer["lengths"].append([p.getGeometryPath().getLength(state) for p in paths])
    M = opensim.Matrix()
    model.getMatterSubsystem().calcM(state, M)
    answer["mass"].append(M.to_numpy()[np.ix_(order, order)].tolist())
    for c, speed in zip(coordinates, arguments[2]):
        c.setSpeedValue(state, speed)
    model.realizeDynamics(state)
    answer["force"].append({f.getName(): f.getRecordValues(state).get(0) for f in single})
"""


CUSTOM = CustomJoint(
    ("bend", "draw"),
    (Axis(SLANTED, 0, SimmSpline((-2.0, 0.0, 1.0, 2.0), (-1.9, 0.1, 0.9, 2.2))), Axis((0.0, 1.0, 0.0), 1)),
    (
        Axis((0.0, 1.0, 0.0), 0, Multiplier(PiecewiseLinear((-1.0, 0.0, 1.0), (0.0, 0.1, 0.15)), 0.5)),
        Axis((1.0, 0.0, 0.0), 0, Polynomial((0.01, 0.02, -0.03))),
    ),
)
SYSTEM = ArticulatedSystem(
    (
        body("trunk", "world", FloatingJoint()),
        body("head", "trunk", SphericalJoint(), joint_name="neck"),
        body("arm", "trunk", EulerJoint("ZXY"), coordinate_names=("raise", "swing", "twist")),
        body("fore", "arm", RevoluteJoint(SLANTED), coordinate_names=("flex",), stiffness=3.0, damping=0.2,
             spring_mount=(0.4,)),
        body("hand", "fore", UniversalJoint((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))),
        body("sled", "trunk", PlanarJoint((0.0, 1.0, 0.0))),
        body("rod", "sled", PrismaticJoint((0.0, 0.6, 0.8)), coordinate_names=("out",)),
        body("tip", "rod", CUSTOM),
        body("nail", "tip", FixedJoint()),
    ),
    ground="world",
    gravity=(0.0, -9.81, 0.1),
    name="medley",
)  # fmt: skip


MEDLEY = Model(
    SYSTEM,
    (
        Muscle("thelen", (point("trunk", 0.1, 0, 0.02), point("head", 0.03, 0.1, 0)),
               Thelen2003(300.0, 0.08, 0.1, 0.1), activation_dynamics=PIECEWISE),
        Muscle("millard", (point("trunk", 0.1, 0.2, 0), ConditionalPoint("arm", (0.03, -0.05, 0.0), "flex", (0.1, 2.0)),
                           point("fore", 0.04, -0.1, 0)), Millard2012(500.0, 0.1, 0.12)),
        Muscle("degroote", (point("arm", 0.02, -0.1, 0.1), point("hand", 0.0, -0.05, 0.1)),
               DeGrooteFregly2016(400.0, 0.1, 0.1, damping=0.1, minimum_activation=0.0),
               activation_dynamics=ActivationDynamics(0.01, 0.05)),
        Muscle("spring", (point("world", 0.3, 0, 0), MovingPoint("rod", (0.0, 0.0, 0.0), ("out", "", "out"),
               (SimmSpline((-1.0, 0.0, 1.0), (0.0, 0.02, 0.05)), Polynomial((0.01,)), Linear(0.1, 0.02)),
               ((-1.0, 1.0), (-10.0, 10.0), (-1.0, 1.0)))), PathSpring(900.0, 0.2, 0.05)),
        Muscle("ligament", (point("rod", 0.1, 0, 0), point("nail", 0.0, 0.1, 0)), Ligament(0.1, 200.0)),
        Muscle("rigid", (point("trunk", 0.2, 0, 0), point("tip", 0.0, 0.1, 0)), RigidTendonMuscle(300.0, 0.1, 0.1)),
        Muscle("pull", MusclePath((point("arm", 0.06, 0.02, 0), point("fore", 0.05, -0.02, 0.02)),
               (WrapSphere(body="fore", position=(0.01, 0.0, 0.0), radius=0.02, name="ball"),)), PathActuator(20.0)),
    ),
    name="medley",
    description="Every joint, point and law that both programs know.",
    start_q=(0.1, -0.2, 0.9, 0.5, 0.5, -0.5, 0.5, 1.0, 0.0, 0.0, 0.0) + (0.1,) * 12,
    coordinates=(Coordinate("flex", (-1.0, 2.0), clamped=True), Coordinate("out", (-1.0, 1.0), locked=True)),
    couplers=(Coupler("together", "twist", "raise", Linear(0.5, 0.1), 1.2),),
    limits=(CoordinateLimit("stop", "flex", -0.2, 0.3, 20.0, 30.0, 0.1, 0.5),
            CoordinateLimit("end", "out", -0.1, 0.2, 500.0, 900.0, 0.05)),
    markers=(Marker("lamp", "head", (0.0, 0.2, 0.0)), Marker("wall", "world", (1.0, 0.0, 0.0))),
)  # fmt: skip


def again(model, path, rotations="file"):
    model.save(path, overwrite=True)
    return load_model(path, rotations)


def test_every_joint_point_and_law_comes_back(tmp_path, rng):
    with pytest.warns(UnwrittenWarning) as caught:
        back = again(replace(MEDLEY, system=MEDLEY.system.with_body("arm", damping=0.1)), tmp_path / "x.osim")
    assert "1 springs and dampers of ball joints (arm)" in str(caught[0].message)
    back = back.with_rotations({"trunk": "quaternion", "head": "quaternion"})
    assert [m.name for m in back.muscles] == [m.name for m in MEDLEY.muscles]
    for mine, theirs in zip(MEDLEY.muscles, back.muscles, strict=True):
        assert (mine.law, mine.activation_dynamics) == (theirs.law, theirs.activation_dynamics)
    q = MEDLEY.system.random(20, rng)
    np.testing.assert_allclose(path_lengths(back, q), path_lengths(MEDLEY, q), atol=1e-13)
    M = dynamics.mass_matrix(MEDLEY.system, q)
    np.testing.assert_allclose(dynamics.mass_matrix(back.system, q), M, atol=1e-12)
    rest = np.zeros(MEDLEY.system.nu)
    torque = dynamics.inverse_dynamics(MEDLEY.system, q, rest, rest)
    np.testing.assert_allclose(dynamics.inverse_dynamics(back.system, q, rest, rest), torque, atol=1e-11)
    check_like(back.start_q, MEDLEY.start_q)
    assert back.system.coordinate_names[:3] == ("trunk.x", "trunk.y", "trunk.z")
    check_like(back.couplers, MEDLEY.couplers)
    check_like(back.limits, MEDLEY.limits)
    for name in ("fore", "hand"):
        a, b = (system.bodies[system.body_names.index(name)] for system in (MEDLEY.system, back.system))
        assert (a.stiffness, a.damping, a.spring_mount) == (b.stiffness, b.damping, b.spring_mount)
    assert [marker.body for marker in back.markers] == ["head", "ground"]
    assert [c for c in back.coordinates if c.name in ("flex", "out")] == list(MEDLEY.coordinates)


@pytest.mark.peers
@pytest.mark.parametrize("rotations", ["file", "quaternion"])
def test_opensim_opens_what_was_written(rotations, tmp_path, rng, in_opensim):
    """Lengths, the mass matrix and the springs of joints, at random values of OpenSim's coordinates."""
    model = MEDLEY if rotations == "file" else load_model(FILE, "quaternion")
    back = again(model, tmp_path / "x.osim")
    q, u = rng.uniform(-0.6, 0.6, (4, back.system.nq)), rng.normal(size=back.system.nu)
    theirs = in_opensim(OPENSIM, tmp_path / "x.osim", q, u, back.system.coordinate_names)
    assert (theirs["names"], theirs["count"]) == (list(back.system.coordinate_names), back.system.nq)
    there = convert_coordinates(back.system, model.system, q) if rotations == "quaternion" else q
    known = [model.muscles.index(m) for m in model.muscles if m.name in theirs["paths"] and not m.path.wraps]
    columns = [theirs["paths"].index(model.muscles[i].name) for i in known]
    assert len(known) >= 4
    read = path_lengths(model if rotations == "quaternion" else back, there)
    np.testing.assert_allclose(read[:, known], np.array(theirs["lengths"])[:, columns], atol=1e-12)
    np.testing.assert_allclose(dynamics.mass_matrix(back.system, q), theirs["mass"], atol=1e-11)
    if rotations == "file":
        own = [theirs["names"].index(name) for name in ("flex", "out")]
        forces = limit_torques(back, q, u)
        assert (np.abs(forces[:, own]) > 1e-3).any(axis=0).all()
        found = np.array([[force["stop"], force["end"], force["fore_flex_spring"]] for force in theirs["force"]])
        np.testing.assert_allclose(found[:, :2], forces[:, own], atol=1e-11)
        passive = passive_force(back.system, q, u)
        np.testing.assert_allclose(found[:, 2], -passive[:, own[0]], atol=1e-12)


@pytest.mark.peers
def test_opensim_opens_muscles_that_it_lacks(tmp_path, in_opensim):
    """OpenSim 4.6 opens no Thelen2003Muscle with a rigid tendon, and none without activation dynamics."""
    link = body("b", "ground", RevoluteJoint((0.0, 0.0, 1.0)), coordinate_names=("q",))
    path = (point("ground", 0, 0, 0.3), point("b", 0.1, 0, 0))
    law = Thelen2003(100.0, 0.1, 0.2, tendon="rigid")
    muscles = tuple(Muscle(name, path, law, activation_dynamics=d) for name, d in (("m", PIECEWISE), ("n", None)))
    with pytest.warns(UnwrittenWarning, match="2 rigid tendons .*; 1 controls that are activations"):
        Model(ArticulatedSystem((link,)), muscles).save(tmp_path / "m.osim")
    script = "model = opensim.Model(arguments[0])\nanswer = model.initSystem().getNQ()"
    assert in_opensim(script, tmp_path / "m.osim") == 1


def test_velocities_at_the_start_come_back_where_opensim_has_angular_ones(tmp_path, rng):
    system = ArticulatedSystem((body("b", "ground", EllipsoidJoint((0.1, 0.2, 0.3))),))
    (q,), u = system.random(1, rng), rng.normal(size=3)
    Model(system, name="tumbling", start_q=tuple(q), start_u=tuple(u)).save(tmp_path / "a.osim", strict=True)
    assert "<EllipsoidJoint" in (tmp_path / "a.osim").read_text()
    np.testing.assert_allclose(load_model(tmp_path / "a.osim").start_u, u, atol=1e-12)


@pytest.mark.peers
def test_coordinates_that_move_nothing_stand_behind_the_others(tmp_path, in_opensim):
    """Generic models have them where a joint is made simpler."""
    joint = replace(CUSTOM, coordinates=("bend", "draw", "idle"), units=())
    names = ("bend", "draw", "idle")
    model = Model(ArticulatedSystem((body("tip", "ground", joint, coordinate_names=names),), ground="ground"))
    back = again(model, tmp_path / "x.osim")
    q = np.array([[0.3, -0.2, 0.5]])
    theirs = in_opensim(OPENSIM, tmp_path / "x.osim", q, [0.0] * 3, names)
    assert (back.system.coordinate_names, theirs["count"]) == (names, 3)
    np.testing.assert_allclose(
        dynamics.mass_matrix(back, q)[:, :2, :2], np.array(theirs["mass"])[:, :2, :2], atol=1e-12
    )


SURFACES = (
    WrapSphere(body="fore", position=(0.01, 0.0, 0.0), radius=0.02, name="ball"),
    WrapCylinder(body="arm", radius=0.03, length=0.2, quadrant="-y", name="ball"),
    WrapEllipsoid(body="fore", radii=(0.03, 0.02, 0.01), points=(1, 2)),
    WrapTorus(body="world", ring_radius=0.1, tube_radius=0.02, orientation=(0.5, 0.5, 0.5, 0.5)),
)


def test_surfaces_are_written_once_and_named_apart(tmp_path):
    path = (point("world", 0.2, 0.3, 0), point("arm", 0.1, 0.2, 0.1), point("fore", 0.1, -0.1, 0))
    muscles = (
        Muscle("a", MusclePath(path, wraps=SURFACES), PathActuator(1.0)),
        Muscle("b", MusclePath(path, wraps=(replace(SURFACES[0], points=(1, 2)),)), PathActuator(1.0)),
    )
    back = again(replace(MEDLEY, muscles=muscles), tmp_path / "x.osim")
    assert (tmp_path / "x.osim").read_text().count("<WrapSphere") == 1
    assert {wrap.name for wrap in back.muscles[0].path.wraps} == {"ball", "ball_2", "a_ellipsoid", "a_torus"}
    assert back.muscles[1].path.wraps[0].points == (1, 2)


LAWS = [
    Thelen2003(300.0, 0.08, 0.1, 0.1, 12.0, "elastic", 0.05, 0.02, 1.2, 0.5, 0.4, 5.0, 0.2, 1.6, 0.9),
    Millard2012(500.0, 0.1, 0.12, 0.2, 9.0, tendon_strain=0.05, damping=0.0, active_lowest=0.12,
                concentric_slope_at_vmax=0.15, eccentric_slope_at_vmax=0.08, passive_strain=0.6),
    Millard2012(500.0, 0.1, 0.12, passive_low_stiffness=0.3, passive_stiffness_ratio=2.2, passive_curviness=0.7,
                tendon_stiffness_ratio=1.4, tendon_toe_force=0.6, tendon_curviness=0.4),
    DeGrooteFregly2016(400.0, 0.1, 0.1, passive_scale=0.0, width_scale=1.1),
    RigidTendonMuscle(400.0, 0.1, 0.1, active_curve=PiecewiseLinear((0.0, 1.0, 2.0), (0.0, 1.0, 0.0))),
    Ligament(0.1, 20.0, Linear(2.0, -2.0)),
    PathSpring(10.0, 0.1, 0.2),
    PathActuator(7.0),
]  # fmt: skip


FILES = {  # texts of files
    "leg": FILE.read_text(), "muscles of Schutte": SCHUTTE, "accepted": accepted.TEXT, "joints": names.TWICE,
    "oldest": names.OLD, "older": older.TEXT, "frames": frames.LANDMARKS, "solids": geometry.SOLIDS.format(more=""),
    "meshes": geometry.OLD.format(version=30000, shown=geometry.SHOWN), "groups": groups.text_of(40000),
    **{f"loop: {name}": loops.text_of(*case) for name, case in loops.CASES.items() if name != "carrying its parent"},
    "rod": loops.text_of([loops.body("a", 1.2)], [rods.LINK]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::myoquat.data.ImplausibleWarning", "ignore::myoquat.data.UnsupportedWarning")
@pytest.mark.parametrize("name", [*FILES, "leg in quaternions"])
def test_a_file_that_is_read_written_and_read_is_the_same_model(name, tmp_path):
    """Quaternions are written as the angles that they were."""
    rotations = "quaternion" if name.endswith("quaternions") else "file"
    model = load_model(write(tmp_path, FILES[name.removesuffix(" in quaternions")]), rotations)
    check_like(again(model, tmp_path / "again.osim", rotations), model)
    if rotations == "file":
        check_like(again(model, tmp_path / "again.toml"), model)


def lawful(law):
    """The medley with a muscle of a law, and with the activation that OpenSim gives it always."""
    dynamics = replace(PIECEWISE, minimum_activation=0.02) if isinstance(law, Thelen2003) else None
    return replace(MEDLEY, muscles=(replace(MEDLEY.muscles[0], law=law, activation_dynamics=dynamics),))


MODELS = [SOFT, STANDING, arm(), *map(lawful, LAWS)]


@pytest.mark.parametrize("suffix", ["osim", "toml"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.muscles[0].law.kind if model.muscles else model.name)
def test_laws_paths_and_forces_come_back(model, suffix, tmp_path):
    back = again(model, tmp_path / f"x.{suffix}")
    for part in ("muscles", "forces"):
        check_like(getattr(back, part), getattr(model, part))


THELEN = MEDLEY.muscles[0]
MOVING = MEDLEY.muscles[3].path.points[1]
START = THELEN.path.points[0]
CYLINDER = WrapCylinder(body="arm", radius=0.01)


class Odd(AxisFunction):
    """A function that no file knows."""

    def value(self, x):
        return x

    slope = curvature = value

    def __repr__(self):
        return "Odd()"


def with_muscle(**changes):
    return replace(MEDLEY, muscles=(replace(THELEN, **changes),))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (replace(MEDLEY, name="two words"), "the model: OpenSim allows no blanks"),
        (
            Model(ArticulatedSystem((on_hinge("ground", "z", "turn", "world"),), ground="world")),
            "body 'ground': 'ground' is the name of OpenSim's ground",
        ),
        (with_muscle(name="a/b"), "muscle 'a/b': OpenSim allows no blanks"),
        (with_muscle(activation_dynamics=ActivationDynamics()), "cannot have this activation_dynamics"),
        (with_muscle(activation_dynamics=replace(PIECEWISE, minimum_activation=0.05)), "minimum_activation"),
        (
            with_muscle(law=DeGrooteFregly2016(1.0, 0.1, 0.1, passive_scale=0.5), activation_dynamics=None),
            "DeGrooteFregly2016Muscle cannot have this passive_scale",
        ),
        (with_muscle(path=replace(THELEN.path, wraps=(CYLINDER,))), "cylinders have a length"),
        (with_muscle(path=(START, replace(MOVING, position=(0.1, 0.0, 0.0)))), "no position beside"),
        (with_muscle(path=(START, replace(MOVING, ranges=()))), r"that of 'out' is \(-1.0, 1.0\), not None"),
        (
            with_muscle(path=(START, replace(MOVING, coordinates=("out", "flex", "out"),
                    functions=(Linear(), Linear(), Linear())))),  # OpenSim 4.6 does not open such a file
            "muscle 'thelen': one coordinate moves a point in OpenSim, not 'out' and 'flex'",
        ),
        (
            with_muscle(path=(START, replace(MOVING, functions=(Odd(), Linear(), Linear())))),
            "muscle 'thelen': OpenSim has no function like Odd",
        ),
        (
            replace(MEDLEY, system=MEDLEY.system.with_body("arm", joint=EulerJoint("YZY"))),
            "body 'arm': OpenSim refuses rotation axes along one line",
        ),
        (
            replace(MEDLEY, system=MEDLEY.system.with_body("tip", joint=replace(CUSTOM, coordinates=("a", "b", "c"),
                    units=(), rotations=(replace(CUSTOM.rotations[0], coordinate=2), *CUSTOM.rotations[1:]),
                    translations=())), start_q=None),
            "coordinate 'tip.a' moves nothing",
        ),
    ],
)  # fmt: skip
def test_what_opensim_cannot_have_raises_a_named_error(model, words, tmp_path):
    path = tmp_path / "x.osim"
    path.write_text("before")
    warnings.simplefilter("ignore", UnwrittenWarning)
    with pytest.raises(ModelError, match=words):
        model.save(path, overwrite=True)
    assert path.read_text() == "before"


def test_what_is_left_out_is_reported_or_refused(tmp_path):
    system = MEDLEY.system.with_body("fore", rotor_inertia=0.1, shapes=(Shape("capsule", (0.1, 0.2)),))
    muscles = (replace(THELEN, law=CubicExponentialMuscle(0.1, 5.0), activation_dynamics=None, activation=0.5),)
    model = replace(MEDLEY, system=system, muscles=(*muscles, replace(THELEN, name="bare", law=None,
                    activation_dynamics=None)))  # fmt: skip
    with pytest.warns(UnwrittenWarning) as caught:
        back = again(model, tmp_path / "x.osim")
    message = str(caught[0].message)
    assert "1 muscles with law 'A', written as PathActuator (thelen)" in message
    for words in ("without a law", "1 activations", "1 rotor inertias (fore)", "1 shapes of bodies (fore: capsule)"):
        assert words in message
    assert back.muscles[0].law == PathActuator(5.0)
    with pytest.raises(ModelError, match="the file cannot hold"):
        model.save(tmp_path / "y.osim", strict=True)
    assert not (tmp_path / "y.osim").exists()
