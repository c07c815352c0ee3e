"""Random models of OpenSim's own classes: inverse dynamics with all forces, kinetic energies and lengths.

They have joints of every type at offset frames, springs, bushings, contact, muscles, path springs, ligaments and
actuators. Axes with which OpenSim's velocities are not the rates of its poses are left out, as are contacts of several
spheres in one force (docs/measurements/agreement.md).
"""

import numpy as np
import pytest

import myoquat as mq
from myoquat.data.motions.angular_speeds import angular_accelerations, angular_triples, axes_of_angles, rates_of_angles
from myoquat.dynamics import inverse_dynamics, kinetic_energy
from myoquat.dynamics.integrators import StateEquations
from myoquat.joints.vectors import matvec, transpose
from tests.data.osim.two_bodies import check_like

SEEDS, STATES = range(20), 3
MODELS = """
import json, opensim as osim
osim.Logger.setLevelString("Off")
kept = []
V = lambda x: osim.Vec3(*map(float, x))
def own(x):
    kept.append(x)
    return x

class Draft:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.model, self.bodies, self.plain = own(osim.Model()), [], []
        self.model.setGravity(self.vec(5.0))

    def U(self, a, b): return float(self.rng.uniform(a, b))
    def vec(self, size=0.15): return V(self.rng.normal(size=3) * size)
    def pick(self, items): return items[self.rng.integers(len(items))]

    def function(self, size, plain=False):
        law = 0 if plain else self.rng.integers(5)
        if law == 0: return own(osim.LinearFunction(1.0 if self.rng.random() < 0.5 else self.U(0.5, 1.5), 0.1 * size))
        if law == 1: return own(osim.PolynomialFunction(osim.Vector(self.rng.normal(size=4) * size * 0.3)))
        if law == 2: return own(osim.Sine(self.U(0.1, 0.5) * size, self.U(0.5, 2), self.U(-1, 1)))
        spline = own(osim.SimmSpline())
        for x in np.linspace(-1.5, 1.5, 6): spline.addPoint(float(x), size * float(0.5 * x + 0.2 * self.rng.normal()))
        return spline if law == 3 else own(osim.MultiplierFunction(spline, self.U(0.5, 1.5)))

    def axes(self, name):  # one to three coordinates, each on a turn of its own or a slide; functions of them elsewhere
        turns, count = own(osim.SpatialTransform()), int(self.rng.integers(1, 4))
        names = [f"{name}_c{k}" for k in range(count)]
        rows = list(range(count)) if self.rng.random() < 0.6 else [0, 3, 4][:count]
        for row in [*rows, *(p for p in (3, 4, 5) if p not in rows)]:
            axis, own_name = turns.updTransformAxis(int(row)), row in rows
            if not own_name and self.rng.random() < 0.5: continue
            labels = osim.ArrayStr()
            labels.append(names[rows.index(row)] if own_name else self.pick(names))
            axis.setCoordinateNames(labels)
            axis.setFunction(self.function(1.0 if own_name else 0.1, own_name))
        return turns

    def add_body(self, k):
        rng, name, root = self.rng, f"j{k}", np.eye(3) * 0.15 + self.rng.normal(size=(3, 3)) * 0.1
        S = root @ root.T
        I = np.trace(S) * np.eye(3) - S
        inertia = osim.Inertia(*map(float, (*np.diag(I), I[0, 1], I[0, 2], I[1, 2])))
        body = own(osim.Body(f"b{k}", self.U(0.5, 3), self.vec(0.1), inertia))
        self.model.addBody(body)
        parent = self.pick(self.bodies) if self.bodies and rng.random() < 0.9 else self.model.getGround()
        frames = name, parent, self.vec(), self.vec(0.8), body, self.vec(), self.vec(0.8)
        chosen = str(self.pick(KINDS))
        radii = V(rng.uniform(0.1, 0.4, 3))
        more = {"EllipsoidJoint": lambda: [radii], "CustomJoint": lambda: [self.axes(name)],
                "ScapulothoracicJoint": lambda: [radii, osim.Vec2(0.05, -0.03), self.U(-0.5, 0.5)]}
        joint = own(getattr(osim, chosen)(*frames, *more.get(chosen, list)()))
        self.model.addJoint(joint)
        for c in range(joint.numCoordinates()):
            joint.upd_coordinates(c).setName(f"{name}_c{c}")
            if chosen not in ANGULAR or (chosen == "FreeJoint" and c > 2): self.plain.append(f"{name}_c{c}")
        self.bodies.append(body)

    def two(self):
        both = [*self.bodies, self.model.getGround()]
        first, second = self.rng.permutation(len(both))[:2]
        return both[first], both[second]

    def along(self, force):
        for k, frame in enumerate([*self.two(), *self.two()][: 2 + int(self.rng.integers(2))]):
            force.updGeometryPath().appendNewPathPoint(f"{force.getName()}{k}", frame, self.vec())
        return force

    def forces(self):
        U, vec, two, some = self.U, self.vec, self.two, lambda: self.rng.random() < 0.45
        on = lambda: str(self.pick(self.plain))
        found = []
        def add(force, name):
            force.setName(name)
            found.append(own(force))
            return found[-1]
        if self.plain and some():
            spring = add(osim.SpringGeneralizedForce(on()), "spring")
            spring.setStiffness(U(1, 30)), spring.setRestLength(U(-0.5, 0.5)), spring.setViscosity(U(0, 2))
        if self.plain and some(): add(osim.CoordinateLimitForce(on(), 10, U(1, 30), -10, U(1, 30), 0.2, 9), "limit")
        if self.plain and some(): add(osim.ExpressionBasedCoordinateForce(on(), "-3*q^2-0.4*qdot+sin(q)"), "formula")
        if self.plain and some(): add(osim.CoordinateActuator(on()), "motor").setOptimalForce(U(1, 20))
        if some():
            sizes = [V(self.rng.uniform(0.5, 20, 3)) for _ in range(4)]
            (a, b) = two()
            add(osim.BushingForce("bush", a, b, *sizes), "bush")
        if some(): (a, b) = two(); add(osim.PointToPointSpring(a, vec(), b, vec(), U(5, 50), U(0.1, 0.5)), "string")
        if some():
            pushed = add(osim.PrescribedForce("push", self.pick(self.bodies)), "push")
            line = lambda size: own(osim.LinearFunction(U(-size, size), U(-size, size)))
            pushed.setForceFunctions(line(5), own(osim.Sine(U(1, 20), U(1, 3), 0.3)), line(5))
            pushed.setPointFunctions(line(0.2), line(0.2), line(0.2))
            pushed.setTorqueFunctions(line(3), line(3), line(3))
            pushed.setForceIsInGlobalFrame(some()), pushed.setPointIsInGlobalFrame(some())
        if some():
            (a, b) = two()
            turning = add(osim.TorqueActuator(a, b, vec(1.0)), "torque")
            turning.setTorqueIsGlobal(some()), turning.setOptimalForce(U(1, 5))
        if some(): self.along(add(osim.PathSpring("cord", U(0.1, 0.4), U(10, 60), U(0, 0.5)), "cord"))
        if some():
            ligament = self.along(add(osim.Ligament(), "ligament"))
            ligament.setRestingLength(U(0.1, 0.3)), ligament.setMaxIsometricForce(U(10, 60))
        if some():
            plane = own(osim.ContactHalfSpace(vec(0.3), vec(1.0), self.model.getGround(), "plane"))
            ball = own(osim.ContactSphere(U(0.1, 0.4), vec(), self.pick(self.bodies), "ball"))
            self.model.addContactGeometry(plane), self.model.addContactGeometry(ball)
            contact = add(osim.HuntCrossleyForce(), "contact")
            contact.setStiffness(1e4), contact.setDissipation(0.5), contact.setStaticFriction(0.6)
            contact.setDynamicFriction(0.4), contact.setViscousFriction(0.2)
            contact.addGeometry("plane"), contact.addGeometry("ball")
        for k in range(int(self.rng.integers(3))):
            muscle = self.along(add(self.pick([osim.Millard2012EquilibriumMuscle, osim.RigidTendonMuscle])(), f"m{k}"))
            muscle.setMaxIsometricForce(U(100, 500)), muscle.setOptimalFiberLength(U(0.3, 0.5))
            muscle.setTendonSlackLength(U(0.02, 0.1)), muscle.setPennationAngleAtOptimalFiberLength(U(0, 0.3))
            muscle.set_ignore_tendon_compliance(True), muscle.set_ignore_activation_dynamics(True)
        for force in found: self.model.addForce(force)

def evaluated(model, rng):
    state = model.initSystem()
    coordinates = [model.getCoordinateSet().get(k) for k in range(model.getNumCoordinates())]
    rows = []
    for c in coordinates:  # where its speed is in u
        state.setU(osim.Vector(state.getNU(), 0.0))
        c.setSpeedValue(state, 1.0)
        rows.append(int(np.argmax([abs(state.getU().get(k)) for k in range(state.getNU())])))
    for _ in range(STATES):
        t = float(rng.uniform(0, 2))
        q, u, udot = (rng.normal(size=len(coordinates)) * size for size in (0.3, 0.7, 1.0))
        state.setTime(t)
        for c, x, v in zip(coordinates, q, u): c.setValue(state, float(x), False), c.setSpeedValue(state, float(v))
        controls, levels = osim.Vector(model.getNumControls(), 0.0), {}
        for k in range(model.getActuators().getSize()):
            actuator = model.getActuators().get(k)
            levels[actuator.getName()] = float(rng.uniform(0.1, 0.9))
            actuator.setControls(osim.Vector([levels[actuator.getName()]]), controls)
        model.realizeVelocity(state), model.setControls(state, controls)
        muscles = [model.getMuscles().get(k) for k in range(model.getMuscles().getSize())]
        model.realizeDynamics(state)
        accelerations = osim.Vector(state.getNU(), 0.0)
        for row, a in zip(rows, udot): accelerations.set(row, float(a))
        tau = osim.InverseDynamicsSolver(model).solve(state, accelerations)
        yield {"names": [c.getName() for c in coordinates], "t": t, "levels": levels, "q": q.tolist(), "u": u.tolist(),
               "udot": udot.tolist(), "tau": [tau.get(p) for p in rows], "energy": model.calcKineticEnergy(state),
               "lengths": {m.getName(): m.getLength(state) for m in muscles}}

answer = []
for seed in arguments[1]:
    draft = Draft(seed)
    for k in range(3): draft.add_body(k)
    draft.model.finalizeConnections()
    draft.forces()
    draft.model.finalizeConnections()
    draft.model.initSystem()
    draft.model.printToXML(f"{arguments[0]}/{seed}.osim")
    answer.append(list(evaluated(own(osim.Model(f"{arguments[0]}/{seed}.osim")), draft.rng)))
"""
KINDS = ("PinJoint", "SliderJoint", "BallJoint", "FreeJoint", "EllipsoidJoint", "GimbalJoint", "UniversalJoint",
         "PlanarJoint", "WeldJoint", "ScapulothoracicJoint", "CustomJoint", "CustomJoint", "CustomJoint")  # fmt: skip
ANGULAR = ("BallJoint", "FreeJoint", "EllipsoidJoint", "ScapulothoracicJoint")


def in_rates(model, q, u, udot):
    """u and udot with rates of angles where OpenSim's speeds are an angular velocity, and E of each such joint."""
    u, udot, axes, names = u.copy(), udot.copy(), [], model.system.coordinate_names
    for three in angular_triples(model):
        at = [names.index(name) for name in three]
        x, y = q[..., at[0]], q[..., at[1]]
        u[..., at] = rates_of_angles(x, y, u[..., at])
        axes.append((at, axes_of_angles(x, y)))
    drift = angular_accelerations(model, q, u, 0.0 * u)
    for at, E in axes:
        udot[..., at] = np.linalg.solve(E, (udot - drift)[..., at][..., None])[..., 0]
    return u, udot, axes


def close(found, expected):
    """To 1e-7 of the greatest value, or of 1."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * max(1.0, np.abs(expected).max(initial=0.0)))


def check(model, states, speeds_of):
    """Forces, energies and lengths are OpenSim's, with its speeds for the joints of a model."""
    names = model.system.coordinate_names
    order = [states[0]["names"].index(name) for name in names]
    q, u, udot, tau = (np.array([state[what] for state in states])[:, order] for what in ("q", "u", "udot", "tau"))
    u, udot, axes = in_rates(speeds_of, q, u, udot)
    equations = StateEquations(model, True)
    levels = {"activation": model.muscle_names, "excitation": model.muscle_names, "controls": model.control_names}
    inputs = {what: np.array([[state["levels"].get(n, 0.0) for n in levels[what]] for state in states])
             for what, _ in equations.inputs.items() if what in levels}  # fmt: skip
    inputs |= {"torque": 0.0 * u} if "torque" in equations.inputs else {}
    forces = equations.force(np.array([state["t"] for state in states]), q, u, inputs)
    found = inverse_dynamics(model.system, q, u, udot) - forces
    for at, E in axes:
        found[:, at] = matvec(np.linalg.inv(transpose(E)), found[:, at])
    close(found, tau)
    close(kinetic_energy(model.system, q, u), [state["energy"] for state in states])
    for name in states[0]["lengths"]:
        found = mq.path_lengths(model, q)[:, model.muscle_names.index(name)]
        close(found, [state["lengths"][name] for state in states])


@pytest.mark.peers
def test_random_models_have_opensims_forces(tmp_path, in_opensim):
    script = f"KINDS, ANGULAR, STATES = {KINDS}, {ANGULAR}, {STATES}\n{MODELS}"
    for seed, states in zip(SEEDS, in_opensim(script, tmp_path, [*SEEDS]), strict=True):
        model = mq.load_model(tmp_path / f"{seed}.osim")
        model.save(tmp_path / "again.osim", overwrite=True)
        again = mq.load_model(tmp_path / "again.osim")
        check(model, states, model)
        if "Scapulothoracic" in (tmp_path / f"{seed}.osim").read_text():  # which is a row of other joints there
            check(again, states, model)
        else:
            check_like(again, model)
