"""Muscle redundancy along a motion: of all activations that produce it, those of the least effort.

minimise  sum_i w_i |a_i - t_i|^p + sum_j w_j |c_j|^p

under C^T (-J^T (F0 + F1 a) + R c) = C^T tau, bounds, and forces in joints within cones. C spans the velocities that
locks, couplers and constraints leave free. The targets t are 0 by default. Tendons are rigid, or stretch under the
muscles' forces (`tendons`).

A force law that is affine in the activation makes a frame a convex program. Other laws, such as Thelen's or one that is
cut off at zero, are solved by tangents until the forces themselves meet the equations. Such solutions are local, the
best of several starting points (`posed`). Without cones, where all efforts have a power of at least 2,
most frames of a long motion start from the solutions beside them (`sequential_programming`). The results are the same.

Sources: R. D. Crowninshield, R. A. Brand, A physiologically based criterion of muscle force prediction in locomotion,
J. Biomech. 14, 1981, for p-th powers. I. Belli et al., Does enforcing glenohumeral joint stability matter?, PLoS ONE
18, 2023, for the cone.
"""

from collections.abc import Sequence
from functools import partial
from types import NoneType
from typing import Any, Literal

import numpy as np

from myoquat.analysis.recruitment.convex import Status, are_met
from myoquat.analysis.recruitment.joint_loads import JointLoads, joint_loads
from myoquat.analysis.recruitment.stability import StabilityRule, margins_of
from myoquat.core import Array, Curve, Solved, check_types, frozen, pandas as pd
from myoquat.data.motions import Forces, Motion, MotionLike, motion_of
from myoquat.data.motions.motion import MotionResult
from myoquat.joints.evaluation import traced_once
from myoquat.joints.vectors import dot, joined, matvec
from myoquat.muscle.model import Model

from .actuators import AnyReserve, Reserves, reserve_wrenches
from .assembled_motion import check_consistent
from .coupled import Coupled, FrameCoupling, Recruited, WholeTrial, check_recruited, recruited
from .equations import Demands, Effort
from .solving import check_searched
from .tendons import Tendons

MISSING_SHARE = 1e-3  # of the greatest missing moment; less is what others leave through muscles of several joints
ROUND_OFF = 1e-6  # of the greatest moment of a muscle: less is missing where a cone alone cannot be met
MUSCLE_SHARE = 1e-9  # of a missing moment; moments of muscles that are smaller are round-off
CONE_TOLERANCE_RAD = 1e-6


@frozen(eq=False)
class Redundancy(MotionResult, Solved):
    """Activations over a motion, and what belongs to them, frame by frame.

    velocities  (e,) the free ones
    activation  (t, m)
    force       (t, m) tensions [N]
    reserve     (t, r) [N m, N] what each of `reserves` gives
    residual    (t, e) [N m, N] what muscles and reserves give on the free velocities beyond what the motion needs
    status      (t,) of `Status`: `SOLVED` where effort and bound meet, `LOCAL` where only no solution nearby is better
    effort      (t,)
    bound       (t,) a lower bound of the effort of all solutions. NaN where none is known: for force laws that are
                not affine in the activation. With elastic tendons it is that of fibers with the
                same lengths and speeds.
    price       (t, e) the change of the effort with what a velocity needs
    pressed     (t, c, 3) [N] the force of the child on the parent of every joint of `cones`, in the parent's axes
    pull        (t, c, 3) the change of the effort with minus that force
    columns     (t, nu, r), or (nu, r) for all frames alike: generalized forces of the reserves at their full strengths
    arms        (t, m, e) torques of a unit tension
    lines       (t, c, m, 3) the part of `pressed` of a unit tension
    slopes      (t, m) [N] the changes of the tensions with the activations
    states      (t, ns) [m] fiber lengths of elastic tendons (`myoquat.muscle.state_names`); ns = 0 for rigid tendons
    external    (t, bodies, 6) external loads [N, N m] on the bodies at their origins, in world axes
    trial       a `WholeTrial` where all frames are one problem, otherwise None

    Where a frame is infeasible, activations and reserves violate its conditions the least, and price and pull prove
    that it is. With a `trial`, effort and price are parts and derivatives of the sum. The bound is still one of a
    frame's own effort.

    The sum of squares of activations and of reserves over their strengths is least at one point. Activations differ
    from it by sqrt(effort - bound) at most, so that great reserves of little strength blur small activations.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import redundancy
    >>> from myoquat.data import Motion
    >>> from myoquat.muscle import ExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, ExponentialMuscle(0.5, 100.0)),))
    >>> held = Motion(model, [0.0, 0.1], [[0.0], [0.0]], [[0.0], [0.0]], [[0.0], [0.0]])
    >>> found = redundancy(model, held)
    >>> found.force.ravel().round(3)  # m g 0.5 m over the moment arm of 0.24 m
    array([40.875, 40.875])
    """

    model: Model
    motion: Motion
    velocities: tuple[str, ...]
    reserves: tuple[AnyReserve, ...]
    cones: tuple[StabilityRule, ...]
    activation: Array
    force: Array
    reserve: Array
    residual: Array
    status: Array
    effort: Array
    bound: Array
    price: Array
    pressed: Array
    pull: Array
    columns: Array
    arms: Array
    lines: Array
    slopes: Array
    states: Array
    external: Array
    trial: WholeTrial | None = None

    def __repr__(self) -> str:
        counts = [f"{int((self.status == s).sum())} {s.name.lower()}" for s in Status if (self.status == s).any()]
        return f"<Redundancy {self.activation.shape[1]} muscles, {len(self.status)} frames: {', '.join(counts)}>"

    @property
    def success(self) -> bool:
        """Whether all frames have solutions, `SOLVED` or `LOCAL`."""
        return bool(are_met(self.status).all())

    @property
    def loads(self) -> Array:
        """(t, bodies, 6) `external`."""
        return self.external

    @property
    def margin(self) -> Array:
        """(t, c) [rad] how far the force in each joint is from the edge of its cone; negative outside."""
        return margins_of(self.cones, self.pressed)

    @property
    def gains(self) -> Array:
        """(t, m, e) the changes of the torques with the activations."""
        return self.arms * self.slopes[..., None]

    @property
    def joint_gains(self) -> Array:
        """(t, m, c, 3) the changes of `pressed` with the activations."""
        return np.moveaxis(self.lines, 2, 1) * self.slopes[..., None, None]

    def joint_loads(self) -> JointLoads:
        """What the joints carry under the muscles, reserves and external loads of the solution, and the forces of the
        model's constraints. `JointLoads.residual` is what reserves at joints give and what the solution misses."""
        share = self.reserve / np.array([reserve.strength for reserve in self.reserves])
        each = [reserve_wrenches(self.model.system, reserve, self.motion.q, c)
                for reserve, c in zip(self.reserves, share.T, strict=True)]  # fmt: skip
        wrenches = sum((acting for acting in each if acting is not None), start=self.external)
        within_joints = share * np.array([acting is None for acting in each])
        torque = matvec(self.columns, within_joints) if self.model.constraints else None
        return joint_loads(self.model, self.motion, self.force, torque=torque, wrenches=wrenches)

    def shares(self) -> "pd.DataFrame":
        """The share of each equation and cone in each activation: rows (time, muscle), a column per velocity and per
        cone.

        A share is the price of the velocity's equation, or the pull of the joint's cone, times its change with the
        activation of the muscle. Where an activation is not at a bound, the shares add up to the derivative of its
        effort. For a whole trial the column "reach" has the part of the neighbouring frames.
        """
        per_torque = self.price[:, None, :] * self.gains
        per_joint = dot(self.pull[:, None], self.joint_gains)
        columns = [*self.velocities, *(cone.joint for cone in self.cones)]
        index = pd.MultiIndex.from_product([self.motion.time, self.model.muscle_names], names=["time", "muscle"])
        parts = [per_torque, per_joint]
        if self.trial is not None:
            columns, parts = [*columns, "reach"], [*parts, self.trial.reach_price[..., None]]
        values = joined(parts)
        return pd.DataFrame(values.reshape(len(index), -1), index=index, columns=pd.Index(columns))

    def failures(self) -> "pd.DataFrame":
        """A row per frame whose conditions are not met: its time and status, and the worst violations.

        The velocity with the largest residual comes with this residual [N m, N]. The joint whose force is farthest
        outside its cone comes with the angle [rad].
        """
        rows = []
        for t in np.flatnonzero(~are_met(self.status)):
            row = {"time": self.motion.time[t], "status": Status(self.status[t]).name.lower()}
            if self.velocities:
                worst = int(np.argmax(np.abs(self.residual[t])))
                row |= {"velocity": self.velocities[worst], "missing": -self.residual[t, worst]}
            if self.cones:
                joint = int(np.argmin(self.margin[t]))
                row |= {"joint": self.cones[joint].joint, "outside": max(-float(self.margin[t, joint]), 0.0)}
            rows.append(row)
        return pd.DataFrame(rows, index=pd.Index(np.flatnonzero(~are_met(self.status)), name="frame"))

    def reasons(self) -> list[str]:
        """Why frames are infeasible, and what to add: a sentence for each velocity whose moment is missing and for each
        joint whose force is outside its cone, where the conditions are violated the least."""
        frames = np.flatnonzero(self.status == Status.INFEASIBLE)
        if not len(frames):
            return []
        missing = -self.residual[frames]
        pulled = np.abs(self.arms[frames] * self.force[frames, :, None]).max(initial=0.0)
        least = max(MISSING_SHARE * np.abs(missing).max(initial=0.0), ROUND_OFF * pulled)
        found = [
            self._why_missing(e, frames[np.abs(missing[:, e]) > least])
            for e in range(len(self.velocities))
            if (np.abs(missing[:, e]) > least).any()
        ]
        for cone, margin in zip(self.cones, self.margin[frames].T, strict=True):
            if margin.min() < -CONE_TOLERANCE_RAD:
                worst, outside = self.motion.time[frames[margin.argmin()]], np.degrees(-margin.min())
                where = f"at {worst:g} s, in {(margin < -CONE_TOLERANCE_RAD).sum()} frames"
                found.append(
                    f"{cone.joint}: the force is up to {outside:.3g} degrees outside its cone, {where}. Add reserves, "
                    "widen the cone, or turn it around if its ends are swapped"
                )
        return found

    def _why_missing(self, e: int, frames: Array) -> str:
        """Why the moment of a velocity is missing in some frames."""
        name = self.velocities[e]
        missing = -self.residual[frames, e]
        worst = int(np.abs(missing).argmax())
        t, sign = frames[worst], np.sign(missing[worst])
        gains, a = sign * self.gains[t, :, e], self.activation[t]
        at_most = float((sign * self.arms[t, :, e] * self.force[t] + np.maximum(gains * (1 - a), -gains * a)).sum())
        reserve = next((reserve for reserve in self.reserves if reserve.name == name), None)
        unit = self.system.force_units.get(name, "N")
        pulls = np.abs(gains).max(initial=0.0) > MUSCLE_SHARE * abs(missing[worst])
        acting = [*(["muscle"] if pulls else []), *(["reserve"] if reserve is not None else [])]
        if not acting:
            why = "no muscle and no reserve acts on it"
        elif acting == ["muscle"]:
            why = f"no reserve acts on it, and its muscles give at most {at_most:.3g} {unit} in this direction"
        elif acting == ["reserve"]:
            why = "no muscle acts on it, and its reserve is at its bound"
        else:
            why = f"its muscles give at most {at_most:.3g} {unit} in this direction, and its reserve is at its bound"
        more = f"{np.abs(missing).max() + (0.0 if reserve is None else reserve.strength):.3g}"
        where = f"{missing[worst]:.3g} {unit} are missing at {self.motion.time[t]:g} s, in {len(frames)} frames"
        return f"{name}: {where}: {why}. Add reserves={{{name!r}: {more}}} (--reserve {name}={more})"

    def to_dataframe(self) -> "pd.DataFrame":
        """Columns '<muscle>.activation', '<muscle>.force', '<velocity>.reserve', '<velocity>.residual',
        '<joint>.margin', 'effort', 'status', over the index time [s]."""
        table = self._table("activation", "force", "reserve", "residual", "margin")
        return table.assign(effort=self.effort, status=self.status)

    def curves(self) -> dict[str, Curve]:
        """Those of the muscles, and arrays over (time, actuator), (time, velocity), and (time, joint, axis)."""
        units = self.system.force_units
        of_joints = ("time", "joint", "axis")
        return {
            **super().curves(),
            "reserve": Curve(("time", "actuator"), self.reserve, [units.get(r.name, "N") for r in self.reserves]),
            "residual": self._on_velocities(self.residual),
            "price": Curve(("time", "velocity"), self.price, [f"1/({units[name]})" for name in self.velocities]),
            "margin": Curve(("time", "joint"), self.margin, "rad"),
            "pressed": Curve(of_joints, self.pressed, "N"),
            "pull": Curve(of_joints, self.pull, "1/N"),
            **{name: Curve(("time",), getattr(self, name)) for name in ("status", "effort", "bound")},
        }

    def labels(self) -> dict[str, Any]:
        """Those of all results along a motion, and names of reserves, of joints with cones, and axes."""
        names = {"actuator": [r.name for r in self.reserves], "joint": [cone.joint for cone in self.cones]}
        return super().labels() | names | {"axis": list("xyz")}


@traced_once()
def redundancy(
    model: Model,
    motion: MotionLike,
    loads: Forces | None = None,
    *,
    effort: Effort | None = None,
    reserves: Reserves = (),
    cones: Sequence[StabilityRule] = (),
    dynamics: FrameCoupling | None = None,
    tendons: Literal["rigid", "elastic"] = "rigid",
    backend: str = "kernel",
) -> Redundancy:
    """Activations, reserves and muscle forces for a motion (q, u, udot) under external loads, all frames at once.

    effort    what is minimal; None for the sum of squares of activations and reserves.
    reserves  actuators beside the muscles, on velocities (`Reserve`) or anywhere (`ReserveActuator`); or strengths
              [N m, N] by velocity or pattern, such as "pelvis.*", or one strength for all free velocities. () has none.
    cones     stability rules of joints, such as `JointCone`; one at most may be a `SearchedRule`.
    dynamics  None: frames are independent. `Sequential()`: activations of muscles with `activation_dynamics` change no
              further between frames than excitations of 0 or 1 bring them; `Coupled()`: with the least total.
    tendons   "rigid", or "elastic" for those of the model's muscles that are. Then fiber and tendon pull alike in every
              frame, to 1e-7 of the greatest strength. The speeds of fibers are differences of second order over the
              frames. Frames that do not get there are unsolved.
    backend   "kernel" compiles a step of the solver at its first use for each size of problem; "numpy" does without.

    Activations reach from `minimum_activation` of a muscle's law, or 0, to 1. Locked coordinates need no torque;
    couplers and constraints pass on what they carry, and the motion must keep them (`consistent_motion`). A frame
    without a solution says so and gets what violates its conditions the least.

    Raises ValueError for a motion without frames, without u and udot, of another system or off the constraints, and for
    locked coordinates that accelerate. So do efforts, reserves and cones that do not fit, a metabolic effort with
    elastic tendons or `Coupled`, and cones where constraints are redundant. ModelError for muscles without a law.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import redundancy
    >>> from myoquat.data import Motion
    >>> from myoquat.muscle import ExponentialMuscle, PathPoint
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> muscles = tuple(mq.Muscle(name, path, ExponentialMuscle(0.5, 100.0)) for name in ("biceps", "brachialis"))
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), muscles)
    >>> held = Motion(model, [0.0, 0.1], [[0.0], [0.0]], [[0.0], [0.0]], [[0.0], [0.0]])
    >>> redundancy(model, held).force[0].round(3)  # alike muscles share alike
    array([20.437, 20.437])
    """
    check_types(model=(model, Model), loads=(loads, (Forces, NoneType)), dynamics=(dynamics, (FrameCoupling, NoneType)))
    motion, effort = motion_of(motion), effort or Effort()
    check_recruited(effort, dynamics, tendons)
    check_searched(cones, isinstance(dynamics, Coupled))
    if not len(motion.time):
        raise ValueError("the motion has no frames")
    model = motion.check_system(model)
    rigid = model.with_rigid_tendons()
    demands = Demands.of_motion(rigid, motion, loads, reserves, cones)
    check_consistent(rigid, motion)
    if tendons == "rigid" or rigid is model:
        return rigid_redundancy(demands, motion, effort, backend, dynamics)
    solve = partial(recruited, effort=effort, backend=backend, time=motion.time, dynamics=dynamics)
    elastic = Tendons(model)
    demands, found = elastic.solved(demands, motion.time, solve)
    return _result(model, demands, motion, found, elastic.fibers(demands))


def rigid_redundancy(
    demands: Demands, motion: Motion, effort: Effort, backend: str, dynamics: FrameCoupling | None = None
) -> Redundancy:
    """What `redundancy` finds for the demands of a motion on a model without tendons that stretch."""
    found = recruited(demands, effort=effort, backend=backend, time=motion.time, dynamics=dynamics)
    return _result(demands.model, demands, motion, found, np.zeros((len(motion.time), 0)))


def _result(model: Model, demands: Demands, motion: Motion, recruitment: Recruited, states: Array) -> Redundancy:
    demands = demands if recruitment.parameter is None else demands.with_rules(recruitment.parameter)
    m, found = len(model.muscles), recruitment.found
    a, c = found.x[:, :m], found.x[:, m:]
    force = demands.tensions(a)
    return Redundancy(
        model=model,
        motion=motion,
        velocities=demands.names,
        reserves=demands.reserves,
        cones=demands.cones,
        activation=a,
        force=force,
        reserve=c * np.array([reserve.strength for reserve in demands.reserves]),
        residual=demands.missing(force, c),
        status=found.status,
        effort=found.objective,
        bound=found.bound,
        price=found.y,
        pressed=demands.pressed(force, c),
        pull=demands.pull(found.z),
        columns=demands.columns,
        arms=demands.arms,
        lines=demands.lines,
        slopes=recruitment.slopes,
        states=states,
        external=demands.needed.wrenches,
        trial=recruitment.whole,
    )
