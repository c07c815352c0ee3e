"""Fibers, metabolic power and energy of the muscles along a motion."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from myoquat.core import (
    Array,
    ArrayLike,
    Curve,
    Curves,
    check_types,
    frozen,
    indices_of,
    pandas as pd,
    real_array,
    time_table,
)
from myoquat.data.motions import MotionLike, motion_of
from myoquat.joints.errors import ModelError
from myoquat.joints.vectors import matvec
from myoquat.muscle import path_jacobian, path_lengths
from myoquat.muscle.laws import HillLaw
from myoquat.muscle.metabolics import Fiber, MetabolicCost, Umberger2010
from myoquat.muscle.model import Model
from myoquat.muscle.states import check_start, state_names, state_slices


class MuscleFibers(NamedTuple):
    """The law, the share of slow-twitch fibers and the mass [kg] of every muscle."""

    laws: list[HillLaw]
    slow: list[float]
    masses: list[float]

    @classmethod
    def of(
        cls,
        model: Model,
        cost: MetabolicCost,
        slow_twitch: float | Mapping[str, float],
        masses: Mapping[str, float] | None,
    ) -> Self:
        """Fibers of the muscles of a model.

        slow_twitch  one for all or by muscle, 0.5 for others
        masses       by muscle; those of others follow from strength and fiber length

        ValueError for unknown names, shares outside [0, 1] and masses that are not positive. ModelError for a muscle
        whose law has no fiber.
        """
        laws = _fiber_laws(model)
        return cls(laws, _shares(model, slow_twitch), _masses(model, cost, laws, masses))

    def fiber(self, i: int, at: tuple[Array, Array, Array], excitation: Array, state: Array | None = None) -> Fiber:
        """(...) that of the i-th muscle at path length [m], its speed [m/s] and activation."""
        return Fiber.of(self.laws[i], at, excitation, state, mass=self.masses[i], slow=self.slow[i])


def _fiber_laws(model: Model) -> list[HillLaw]:
    found = []
    for muscle in model.muscles:
        if not isinstance(muscle.law, HillLaw):
            what = "no law" if muscle.law is None else f"law {muscle.law.kind!r}, which has no fiber"
            raise ModelError(f"its metabolic power is not known: {what}", element=f"muscle {muscle.name!r}")
        found.append(muscle.law)
    return found


def _shares(model: Model, given: float | Mapping[str, float]) -> list[float]:
    named = given if isinstance(given, Mapping) else dict.fromkeys(model.muscle_names, float(given))
    indices_of("muscle", list(named), model.muscle_names)
    for name, share in named.items():
        if not 0 <= share <= 1:
            raise ValueError(f"slow_twitch of {name!r} must lie in [0, 1], not {share}")
    return [float(named.get(name, 0.5)) for name in model.muscle_names]


def _masses(model: Model, cost: MetabolicCost, laws: list[HillLaw], given: Mapping[str, float] | None) -> list[float]:
    given = given or {}
    indices_of("muscle", list(given), model.muscle_names)
    for name, mass in given.items():
        if not (np.isfinite(mass) and mass > 0):
            raise ValueError(f"the mass of {name!r} must be positive [kg], not {mass}")
    return [
        float(given[name]) if name in given else cost.mass(law.max_isometric_force, law.optimal_fiber_length)
        for name, law in zip(model.muscle_names, laws, strict=True)
    ]


BASAL_POWER = 1.2  # [W/kg] of the body, standing, as in OpenSim's probes after Umberger, Gerritsen and Martin (2003)


@frozen(eq=False)
class MetabolicPower(Curves):
    """power (t, m) [W] of the muscles `names`; basal [W], what the body needs besides.

    >>> import numpy as np
    >>> from myoquat.analysis.recruitment import MetabolicPower
    >>> found = MetabolicPower(np.array([0.0, 1.0, 2.0]), ("soleus",), np.array([[10.0], [20.0], [10.0]]), basal=80.0)
    >>> found.total, float(found.energy)
    (array([ 90., 100.,  90.]), 190.0)
    """

    time: Array
    names: tuple[str, ...]
    power: Array
    basal: float

    def __repr__(self) -> str:
        mean = f"{self.total.mean():.4g} W on average" if len(self.time) else "no frames"
        return f"<MetabolicPower {len(self.names)} muscles, {len(self.time)} frames, {mean}>"

    @property
    def total(self) -> Array:
        """(t,) [W] of all muscles and the basal rate."""
        return self.power.sum(axis=-1) + self.basal

    @property
    def energy(self) -> float:
        """[J] over the whole time, by trapezoids."""
        return float(np.trapezoid(self.total, self.time))

    def curves(self) -> dict[str, Curve]:
        """The power over (time, muscle), and the total."""
        return {"power": Curve(("time", "muscle"), self.power, "W"), "total": Curve(("time",), self.total, "W")}

    def labels(self) -> dict[str, Any]:
        """Times and names of the muscles."""
        return {"time": self.time, "muscle": list(self.names)}

    def to_dataframe(self) -> "pd.DataFrame":
        """A column per muscle, 'basal' and 'total' [W], over the index time [s]."""
        columns = {name: self.power[:, k] for k, name in enumerate(self.names)}
        return time_table(self.time, columns | {"basal": self.basal, "total": self.total})


def metabolic_power(
    model: Model,
    motion: MotionLike,
    activation: ArrayLike,
    *,
    excitation: ArrayLike | None = None,
    states: ArrayLike | None = None,
    cost: MetabolicCost | None = None,
    slow_twitch: float | Mapping[str, float] = 0.5,
    masses: Mapping[str, float] | None = None,
    basal_coefficient: float = BASAL_POWER,
    basal_exponent: float = 1.0,
) -> MetabolicPower:
    """Metabolic power of a model's muscles along a motion (q, u).

    activation   (t, m), of `redundancy`, EMG or a simulation; excitation (t, m), equal to it if not given.
    states       (t, ns) fiber lengths of elastic tendons (`myoquat.muscle.state_names`); a model with rigid tendons has
                 none.
    cost         `myoquat.muscle.metabolics.Umberger2010` (the default) or `Bhargava2004`.
    slow_twitch  share of slow-twitch fibers in [0, 1], one for all or by muscle (0.5 for others).
    masses       [kg] by muscle; of the others they follow from strength and fiber length.
    basal_...    basal power, coefficient * M^exponent with the mass M [kg] of the model.

    Raises ValueError for arrays that do not fit or lie outside [0, 1], unknown names, masses that are not positive, and
    a motion without u. ModelError for a muscle whose law has no fiber.

    >>> import myoquat as mq
    >>> from myoquat.analysis.recruitment import metabolic_power
    >>> from myoquat.data import Motion
    >>> from myoquat.muscle import PathPoint
    >>> from myoquat.muscle.laws import Thelen2003
    >>> rod = mq.Body("rod", "ground", mq.joints.RevoluteJoint((0, 1, 0)), mass=2.0, center_of_mass=(0.5, 0, 0))
    >>> path = (PathPoint("ground", (0.0, 0.0, 0.4)), PathPoint("rod", (0.3, 0.0, 0.0)))
    >>> law = Thelen2003(1000.0, optimal_fiber_length=0.2, tendon_slack_length=0.3, tendon="rigid")
    >>> model = mq.Model(mq.ArticulatedSystem((rod,)), (mq.Muscle("biceps", path, law),))
    >>> still = Motion(model, [0.0, 0.1], [[0.0]] * 2, [[0.0]] * 2)
    >>> metabolic_power(model, still, [[0.5], [0.0]]).power.round(1)  # [W]
    array([[52.4],
           [ 1.3]])
    """
    check_types(model=(model, Model))
    motion = motion_of(motion)
    u = motion.speeds
    model = motion.check_system(model)
    cost = cost or Umberger2010()
    fibers = MuscleFibers.of(model, cost, slow_twitch, masses)
    shape = (len(motion.time), len(model.muscles))
    a = model.check_activation(real_array("activation", activation, shape))
    e = a if excitation is None else model.check_activation(real_array("excitation", excitation, shape), "excitation")
    given = np.zeros((len(a), 0)) if states is None else states
    own = check_start(model, "states", real_array("states", given, (len(a), len(state_names(model)))))
    l, v = path_lengths(model, motion.q), matvec(path_jacobian(model, motion.q), u)
    power = np.zeros(shape)
    for i, s in enumerate(state_slices(model)):
        state = own[:, s] if s.stop > s.start else None
        power[:, i] = cost.power(fibers.fiber(i, (l[:, i], v[:, i], a[:, i]), e[:, i], state))
    body_mass = sum(body.mass for body in model.system.bodies)
    return MetabolicPower(motion.time, model.muscle_names, power, basal_coefficient * body_mass**basal_exponent)
