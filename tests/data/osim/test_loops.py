"""Joints of a file that form no tree: closed loops, bodies without a joint, joints that carry their parents."""

from itertools import product

import numpy as np
import pytest

from myoquat.analysis.motion import scale_model
from myoquat.data import load_model
from myoquat.data.osim.tree import Edge, Way, spanning_tree
from myoquat.data.reports import ImplausibleWarning
from myoquat.dynamics import forward_dynamics, inverse_dynamics, mass_matrix, simulate
from myoquat.dynamics.constraints import ConstraintArrays, Constraints, Weld
from myoquat.joints import ModelError, convert_coordinates
from myoquat.joints.vectors import vecmat
from tests.data.osim.two_bodies import on_constraints
from tests.data.tables import rejected, write

OPENSIM = """
model = opensim.Model(arguments[0])
state = model.initSystem()
names, U, Q, udot, end = arguments[1]
coordinates = [model.getCoordinateSet().get(name) for name in names]
bodies = [body for body in model.getComponentsList() if opensim.Body.safeDownCast(body)]
bodies = [opensim.Body.safeDownCast(body) for body in bodies]
indices = []
for c in coordinates:
    for other in coordinates:
        other.setSpeedValue(state, 1.0 if other.getName() == c.getName() else 0.0)
    indices.append(max(range(state.getNU()), key=lambda k: abs(state.getU().get(k))))
solver, matter = opensim.InverseDynamicsSolver(model), model.getMatterSubsystem()
answer = {"udot": [], "tau": [], "error": [], "mass": [], "poses": []}

def put(q, u):
    for c, x, v in zip(coordinates, q, u):
        c.setValue(state, x, False)
        c.setSpeedValue(state, v)

for q, u, a in zip(Q, U, udot):
    put(q, u)
    model.realizeAcceleration(state)
    answer["udot"].append([c.getAccelerationValue(state) for c in coordinates])
    answer["error"].append(max([abs(state.getQErr().get(i)) for i in range(state.getQErr().size())], default=0.0))
    M, wanted = opensim.Matrix(), opensim.Vector(state.getNU(), 0.0)
    matter.calcM(state, M)
    answer["mass"].append([[M.get(i, k) for k in indices] for i in indices])
    for place, x in zip(indices, a):
        wanted.set(place, x)
    tau = solver.solve(state, wanted)
    answer["tau"].append([tau.get(i) for i in indices])
    found = {}
    for body in bodies:
        T = body.getTransformInGround(state)
        R = T.R().asMat33()
        found[body.getName()] = [[R.get(i, k) for k in range(3)] for i in range(3)], [T.p().get(i) for i in range(3)]
    answer["poses"].append(found)

put(Q[0], [0.0 * x for x in Q[0]])
state.setTime(0)
manager = opensim.Manager(model)
manager.setIntegratorAccuracy(1e-10)
manager.initialize(state)
state = manager.integrate(end)
answer["end"] = [c.getValue(state) for c in coordinates]
"""


def body(name, mass, center=(0.0, 0.0, 0.0)):
    return f"""<Body name="{name}"><mass>{mass}</mass><mass_center>{written(center)}</mass_center>
        <inertia>0.02 0.03 0.04 0.001 0.002 0.003</inertia></Body>"""


LINE = '<LinearFunction name="function"><coefficients>{} {}</coefficients></LinearFunction>'
BEND = '<PolynomialFunction name="function"><coefficients>0.3 -0.1 0.02</coefficients></PolynomialFunction>'
REST = '<Constant name="function"><value>{}</value></Constant>'
SCREW = (  # what moves along an axis, the number of its coordinate, and how
    ("rotation1", 0, (0, 0.6, 0.8), LINE.format(1, 0.2)), ("rotation2", 1, (1, 0, 0), LINE.format(-1, 0)),
    ("rotation3", "", (0, 1, 0), REST.format(0.1)), ("translation1", 0, (1, 0, 0), BEND),
    ("translation2", 2, (0, 1, 0), LINE.format(1, 0)), ("translation3", "", (0, 0, 1), REST.format(0)),
)  # fmt: skip


def screw(joint):
    """A motion of two turns, of which the first one also slides, and a slide."""
    axes = "".join(
        f"""<TransformAxis name="{name}"><coordinates>{joint}_{i}</coordinates><axis>{written(axis)}</axis>{how}
        </TransformAxis>""".replace(f"{joint}_<", "<")
        for name, i, axis, how in SCREW
    )
    return f"<SpatialTransform>{axes}</SpatialTransform>"


def joint(tag, name, parent, at, child, back, count, orientation=(0, 0, 0)):
    """A joint from a point of one body to a point of the other; a CustomJoint that turns and slides."""
    axes = screw(name) if tag == "CustomJoint" else ""
    coordinates = "".join(f'<Coordinate name="{name}_{i}"/>' for i in range(count))
    frames = "".join(
        f"""<PhysicalOffsetFrame name="{end}"><socket_parent>{"/ground" if on == "ground" else f"/bodyset/{on}"}
        </socket_parent><translation>{written(place)}</translation>
        <orientation>{written(orientation)}</orientation></PhysicalOffsetFrame>"""
        for end, on, place in (("p", parent, at), ("c", child, back))
    )
    return f"""<{tag} name="{name}"><socket_parent_frame>p</socket_parent_frame>
        <socket_child_frame>c</socket_child_frame><coordinates>{coordinates}</coordinates>
        <frames>{frames}</frames>{axes}</{tag}>"""


def written(numbers):
    return " ".join(map(str, numbers))


def text_of(bodies, joints, constraints="", name="loop"):
    return f"""<?xml version="1.0" encoding="UTF-8" ?><OpenSimDocument Version="40600"><Model name="{name}">
        <BodySet><objects>{"".join(bodies)}</objects></BodySet>
        <JointSet><objects>{"".join(joints)}</objects></JointSet>
        <ConstraintSet><objects>{constraints}</objects></ConstraintSet></Model></OpenSimDocument>"""


def file_of(folder, *parts):
    return write(folder, text_of(*parts))


# OpenSim 4.6 gives the parts of a body that it adds the inertia G [m^2], about the body's origin, as one about their
# center of mass (Body.cpp, setInertia(slaveMassProps.getUnitInertia())). It is the right one, I / n, for n parts of a
# body of n kg whose center of mass is its origin: so are the bodies here that are cut.
LIGHT = [body("a", 1.0, (0.1, 0.02, 0.03)), body("b", 1.5, (-0.1, 0.02, 0.04))]
Z = (0.0, 0.0, 0.0)
CASES = {
    "four bars": (
        [*LIGHT, body("c", 2.0)],
        [
            joint("PinJoint", "j1", "ground", Z, "a", Z, 1),
            joint("PinJoint", "j2", "a", (0, -1, 0), "b", Z, 1),
            joint("PinJoint", "j3", "b", (1, 0, 0), "c", (0, -0.5, 0), 1),
            joint("PinJoint", "j4", "ground", (1, 0.2, 0), "c", (0, 0.7, 0), 1),
        ],
    ),
    "in space": (
        [*LIGHT, body("c", 2.0)],
        [
            joint("GimbalJoint", "j1", "ground", Z, "a", Z, 3),
            joint("UniversalJoint", "j2", "a", (0, -1, 0), "b", Z, 2),
            joint("GimbalJoint", "j3", "ground", (1, 0.2, 0), "c", (0, 0.7, 0.1), 3),
            joint("GimbalJoint", "j4", "b", (1, 0, 0), "c", (0, -0.5, 0.1), 3),
        ],
    ),
    "two loops on a body": (
        [*LIGHT, body("c", 3.0)],
        [
            joint("GimbalJoint", "j1", "ground", Z, "a", Z, 3),
            joint("GimbalJoint", "j2", "ground", (1.1, -0.2, 0.1), "b", Z, 3),
            joint("GimbalJoint", "j3", "ground", (0.5, -1.5, 0), "c", Z, 3),
            joint("GimbalJoint", "j4", "a", (0, -1, 0), "c", (-0.5, 0.5, 0), 3),
            joint("GimbalJoint", "j5", "b", (0, -1, 0), "c", (0.5, 0.5, 0), 3),
        ],
    ),
    "floating": (
        [*LIGHT, body("c", 2.0, (0.1, 0.0, 0.2))],
        [joint("PinJoint", "j1", "a", (0, -1, 0), "b", Z, 1)],
    ),
    "carrying its parent": (
        [*LIGHT, body("c", 2.0)],
        [
            joint("PinJoint", "j1", "a", (0.1, 0.2, 0.3), "b", (0.3, 0.0, 0.1), 1),
            joint("GimbalJoint", "j2", "ground", Z, "b", Z, 3),
            joint("SliderJoint", "j3", "c", (0.1, 0.2, 0.3), "a", (0.3, 0.0, 0.1), 1),
        ],
    ),
    "all carrying their parents": (
        [*LIGHT, body("c", 2.0), body("d", 1.2, (0.0, 0.1, 0.2)), body("e", 0.7, (0.1, 0.1, 0.0))],
        [
            joint("CustomJoint", "j1", "e", (0.1, 0.2, 0.3), "d", (0.3, 0.0, 0.1), 3, (0.3, -0.2, 0.1)),
            joint("PlanarJoint", "j2", "d", (0.1, 0.0, 0.3), "c", (0.0, 0.2, 0.1), 3, (0.1, 0.5, 0.1)),
            joint("UniversalJoint", "j3", "c", (0.1, -0.2, 0.3), "b", (0.3, 0.0, 0.1), 2),
            joint("GimbalJoint", "j4", "b", (0.0, 0.2, -0.3), "a", (0.3, 0.1, 0.0), 3, (0.2, 0.2, 0.4)),
            joint("WeldJoint", "j5", "a", Z, "ground", (0.3, 0.1, 0.0), 0, (0.3, 0.2, 0.4)),
        ],
    ),
}  # fmt: skip
COUNT = 20
SIMULATED = ("four bars", "floating")  # the others have the same equations and compile for long
WELDED = (
    [*LIGHT, body("c", 1.7, (0.1, -0.2, 0.05))],
    [
        joint("GimbalJoint", "j1", "ground", Z, "a", Z, 3),
        joint("UniversalJoint", "j2", "a", (0, -1, 0), "b", Z, 2),
        joint("GimbalJoint", "j3", "ground", (1, 0, 0), "c", (0, 1, 0), 3),
        joint("WeldJoint", "j4", "b", (1, 0, 0), "c", Z, 0),
    ],
)
pytestmark = pytest.mark.filterwarnings("ignore::myoquat.data.reports.ImplausibleWarning")


def accelerated(model, held, q, u):
    """What gravity does."""
    nothing = np.zeros(u.shape)
    if not model.constraints:
        return forward_dynamics(model.system, q, u, nothing)
    return held.motion(q, u, nothing, np.zeros(COUNT)).acceleration


@pytest.mark.peers
@pytest.mark.parametrize("case", CASES)
def test_loops_are_cut_as_in_opensim(tmp_path, rng, in_opensim, case):
    path = file_of(tmp_path, *CASES[case])
    model, end = load_model(path), 0.1
    system = model.system
    held, q, u = on_constraints(model, COUNT, 0.3, rng)
    udot = rng.uniform(-1, 1, u.shape)
    answer = in_opensim(OPENSIM, path, [system.coordinate_names, u, q, udot, end])
    assert max(answer["error"]) < 1e-8
    if case != "floating":  # speeds of OpenSim's FreeJoint are no rates of its coordinates
        M = mass_matrix(system, q)
        np.testing.assert_allclose(M, answer["mass"], atol=1e-12 * np.abs(M).max())
        tau = inverse_dynamics(system, q, u, udot)
        np.testing.assert_allclose(tau, answer["tau"], rtol=1e-9, atol=1e-9 * np.abs(tau).max())
        moved = accelerated(model, held, q, u)
        np.testing.assert_allclose(moved, answer["udot"], rtol=1e-7, atol=1e-7 * np.abs(moved).max())
    for pose, found in zip(q, answer["poses"], strict=True):
        for name, theirs in found.items():
            for ours, other in zip(system.poses(pose)[name], theirs, strict=True):
                np.testing.assert_allclose(ours, other, atol=1e-12)
    if case in SIMULATED:
        motion = simulate(model, q[0], 0.0 * u[0], duration=end, step=end, method="dop853", rtol=1e-10)
        np.testing.assert_allclose(motion.q[-1], answer["end"], atol=1e-7)


POINT = """<PointConstraint name="j4"><socket_body_1>/bodyset/b</socket_body_1>
    <socket_body_2>/bodyset/c</socket_body_2><location_body_1>1 0 0</location_body_1>
    <location_body_2>0 -0.5 0.1</location_body_2></PointConstraint>"""
GLUE = """<WeldConstraint name="j4"><socket_frame1>p</socket_frame1><socket_frame2>/bodyset/c</socket_frame2><frames>
    <PhysicalOffsetFrame name="p"><socket_parent>/bodyset/b</socket_parent><translation>1 0 0</translation>
    </PhysicalOffsetFrame></frames></WeldConstraint>"""


@pytest.mark.parametrize(("joints", "constraint"), [(CASES["in space"][1], POINT), (WELDED[1], GLUE)])
def test_the_cut_changes_no_motion(tmp_path, rng, joints, constraint):
    """A joint that closes a loop is compared with a constraint in its place, which cuts no body. OpenSim 4.6 counts the
    mass of a body twice if a WeldJoint carries it beside another joint."""
    cut = load_model(file_of(tmp_path, WELDED[0], joints))
    whole = load_model(file_of(tmp_path, WELDED[0], joints[:-1], constraint))
    held, q, u = on_constraints(cut, COUNT, 0.3, rng)
    nu = whole.system.nu
    found = accelerated(cut, held, q, u)[:, :nu]
    expected = accelerated(whole, ConstraintArrays(Constraints(whole.system, whole.constraints)), q[:, :nu], u[:, :nu])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_joints_that_carry_their_parents_come_back(tmp_path, rng):
    """The same joints, on frames that angles in the file give to round-off; quaternions put the bodies alike."""
    path = file_of(tmp_path, *CASES["all carrying their parents"])
    model, quaternions = load_model(path), load_model(path, rotations="quaternion")
    model.save(tmp_path / "back.osim", strict=True)
    back = load_model(tmp_path / "back.osim", strict=True)
    assert [b.joint for b in back.system.bodies] == [b.joint for b in model.system.bodies]
    assert [b.joint.kind for b in quaternions.system.bodies if b.joint.nq == 4] == ["spherical"]
    q = rng.uniform(-1, 1, (5, model.system.nq))
    turned = convert_coordinates(model.system, quaternions.system, q)
    for name, (R, p) in model.system.poses(q).items():
        for poses in (back.system.poses(q), quaternions.system.poses(turned)):
            np.testing.assert_allclose(poses[name][0], R, atol=1e-14)
            np.testing.assert_allclose(poses[name][1], p, atol=1e-14)


@pytest.mark.parametrize(
    "tag", ["UniversalJoint", "GimbalJoint", "BallJoint", "PlanarJoint", "CustomJoint", "FreeJoint"]
)
def test_a_body_is_where_its_joint_puts_it_whichever_carries(tmp_path, rng, tag):
    """The pose of one body seen from the other, with the first or the second welded to the ground, also when both are
    stretched."""
    count = {"UniversalJoint": 2, "FreeJoint": 6}.get(tag, 3)
    link = joint(tag, "j", "a", (0.1, 0.2, 0.3), "b", (0.3, 0.0, 0.1), count, (0.3, -0.2, 0.1))
    q, seen = rng.uniform(-1, 1, (5, count)), []
    for base, factors in product("ab", ({}, {"a": np.array([1.1, 1.2, 0.9]), "b": np.array([0.8, 1.3, 1.0])})):
        welded = joint("WeldJoint", "base", "ground", Z, base, Z, 0)
        model = scale_model(load_model(file_of(tmp_path, LIGHT, [welded, link])), factors=factors)
        poses = model.system.poses(q)
        (R_a, p_a), (R_b, p_b) = poses["a"], poses["b"]
        seen.append((np.swapaxes(R_a, -1, -2) @ R_b, vecmat(p_b - p_a, R_a)))
    pairs = [pair for k in (0, 1) for pair in zip(seen[k], seen[k + 2], strict=True)]
    for first, second in pairs:
        np.testing.assert_allclose(np.broadcast_to(first, second.shape), second, atol=1e-14)


def test_parts_are_equal_and_welded(tmp_path):
    model = load_model(file_of(tmp_path, [*LIGHT, body("c", 1.5, (0.1, -0.2, 0.05))], CASES["two loops on a body"][1]))
    parts = [next(b for b in model.system.bodies if b.name == name) for name in ("c", "c_slave_0", "c_slave_1")]
    assert [part.mass for part in parts] == [0.5] * 3
    assert len({(part.center_of_mass, part.inertia) for part in parts}) == 1
    assert model.constraints == (
        Weld("c", "c_slave_0", name="c_slave_0_weld"),
        Weld("c", "c_slave_1", name="c_slave_1_weld"),
    )


def test_parts_are_scaled_with_their_body(tmp_path):
    """To the same sizes, and so that the loop closes at the stretched points."""
    model = load_model(file_of(tmp_path, *CASES["in space"]))
    factors = np.array([1.1, 1.2, 0.9])
    scaled = scale_model(model, factors={"c": factors})
    whole, part, other = (next(b for b in scaled.system.bodies if b.name == name) for name in ("c", "c_slave_0", "b"))
    assert (part.mass, part.center_of_mass, part.inertia) == (whole.mass, whole.center_of_mass, whole.inertia)
    np.testing.assert_allclose(part.mass, model.system.bodies[-1].mass * np.prod(factors), rtol=1e-14)
    np.testing.assert_allclose(part.position, -factors * (0.0, -0.5, 0.1), atol=1e-15)
    assert other == next(b for b in model.system.bodies if b.name == "b")


def test_a_body_without_a_joint_floats_and_is_reported(tmp_path):
    path = file_of(tmp_path, *CASES["floating"])
    with pytest.warns(ImplausibleWarning, match=r"bodies without a joint to the ground, taken as floating \(c, a\)"):
        model = load_model(path)
    assert model.system.coordinate_names[1:7] == tuple(f"free_c_coord_{i}" for i in range(6))
    with pytest.raises(ModelError, match="taken as floating"):
        load_model(path, strict=True)


def test_starts_that_say_nothing_and_joints_without_coordinates(tmp_path):
    """OpenSim takes the one as zero, and calls the coordinates of the others `_coord_0`, all of them."""
    plain = [text.replace(f'<coordinates><Coordinate name="{name}_0"/></coordinates>', "")
             for name, text in zip(("j1", "j2", "j3", "j4"), CASES["four bars"][1], strict=True)]  # fmt: skip
    model = load_model(file_of(tmp_path, CASES["four bars"][0], plain), strict=True)
    assert model.system.coordinate_names == tuple(f"j{i}._coord_0" for i in (1, 2, 3, 4))
    *first, last = CASES["four bars"][1]
    blank = [*first, last.replace('"j4_0"/>', '"j4_0"><default_value> </default_value></Coordinate>')]
    path = file_of(tmp_path, CASES["four bars"][0], blank)
    with pytest.warns(ImplausibleWarning, match=r"a <default_value> without a number, taken as zero \(j4_0\)"):
        assert load_model(path).start[-1] == 0.0


test_loops_that_cannot_be_cut_are_refused_by_their_line = rejected(
    text_of(CASES["in space"][0], [*CASES["in space"][1], "<LAST/>"]), "loop.osim",
    ("<LAST/>", joint("PinJoint", "last", "c", Z, "ground", Z, 1), "closes a loop at its child, the ground.*parent"),
    ("<LAST/>", joint("FreeJoint", "last", "a", Z, "c", Z, 6), "a <FreeJoint> holds nothing: remove it"),
    ("<LAST/>", joint("PinJoint", "last", "a", Z, "a", Z, 1), "the joint links 'a' with itself"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("masses", "edges", "ways", "hung"),
    [
        # breadth first, though c is named behind a body that comes later
        ({"a": 1, "b": 1, "c": 1}, ["ground a", "a b", "b c", "ground c"], "FFLF", ()),
        # from a body without mass on to the heaviest behind it, forward where that has mass
        ({"a": 0, "b": 1, "c": 2}, ["ground a", "ground b", "a b", "a c"], "FFLF", ()),
        ({"a": 0, "b": 1, "c": 0}, ["ground a", "b a", "a c", "ground b"], "FBFL", ()),
        # not through a weld
        ({"a": 0, "b": 1}, ["ground-a", "ground b", "a b"], "FFL", ()),
        # first what has no joint, then what no joint carries, the parent of most first
        ({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}, ["a b", "c b", "c d"], "BFF", ("e", "c")),
        # a ring without a base
        ({"a": 1, "b": 1}, ["a b", "b a"], "FL", ("a",)),
    ],
)
def test_the_tree_of_a_graph(masses, edges, ways, hung):
    links = [Edge(*edge.replace("-", " ").split(), "-" not in edge) for edge in edges]
    found = spanning_tree(masses, links)
    letters = {"F": Way.FORWARD, "B": Way.BACKWARD, "L": Way.LOOP}
    assert found == (tuple(letters[x] for x in ways), hung)


def test_a_long_chain_and_many_loose_bodies_take_linear_time():
    names = [str(i) for i in range(20_000)]
    chain = [Edge(a, b, True) for a, b in zip(["ground", *names], names, strict=False)]
    assert set(spanning_tree(dict.fromkeys(names, 1.0), chain)[0]) == {Way.FORWARD}
    assert spanning_tree(dict.fromkeys(names, 1.0), [])[1] == tuple(names)
