"""Metabolic power: OpenSim's probes at equal states, bounds, and all number types."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import myoquat as mq
from myoquat.analysis.recruitment import metabolic_power
from myoquat.data import Motion
from myoquat.joints.errors import ModelError
from myoquat.kernels import formula
from myoquat.muscle import ActivationDynamics, ExponentialMuscle, Model, Muscle, PathPoint
from myoquat.muscle.laws import Millard2012, Thelen2003
from myoquat.muscle.metabolics import Bhargava2004, Fiber, Umberger2010
from tests.bodies import on_slide

PROBES = """
model = opensim.Model(arguments[0])
rows = arguments[1]
names = [model.getMuscles().get(i).getName() for i in range(model.getMuscles().getSize())]
probes, settings = [], arguments[2]
for name_of_probe, options in settings:
    probe = getattr(opensim, name_of_probe + 'MuscleMetabolicsProbe')()
    probe.setName(f'probe{len(probes)}')
    probe.set_report_total_metabolics_only(False)
    for name, value in options.items():
        getattr(probe, 'set_' + name)(value)
    for name in names:
        probe.addMuscle(name, 0.3) if name_of_probe[0] == 'U' else probe.addMuscle(name, 0.3, 40, 133, 74, 111)
    model.addProbe(probe); probes.append(probe)
state = model.initSystem()
coordinate = model.getCoordinateSet().get(0)
answer = [[] for _ in probes]
for row in rows:
    coordinate.setValue(state, row[0], False); coordinate.setSpeedValue(state, row[1])
    controls = opensim.Vector(len(names), 0.0)
    for i, name in enumerate(names):
        muscle = model.getMuscles().get(i)
        muscle.setActivation(state, row[2 + 3 * i]); controls.set(i, row[3 + 3 * i])
        if not muscle.get_ignore_tendon_compliance():
            model.setStateVariableValue(state, f'/forceset/{name}/fiber_length', row[4 + 3 * i])
    model.realizeVelocity(state); model.setControls(state, controls)
    model.realizeDynamics(state)
    for k, probe in enumerate(probes):
        found = probe.computeProbeInputs(state)
        answer[k].append([found.get(j) for j in range(found.size())])
"""
OPTIONS = {
    "forbid_negative_power": "forbid_negative_total_power",
    "negative_work": "include_negative_mechanical_work",
    "enforce_minimum_heat": "enforce_minimum_heat_rate_per_muscle",
    "recruitment": "use_Bhargava_recruitment_model",
    "force_dependent": "use_force_dependent_shortening_prop_constant",
}


@pytest.fixture(scope="module")
def sled():
    """A body on a slide that two muscles with different laws pull."""
    body = on_slide("sled", mass=3.0, inertia=0.1)
    path = (PathPoint("ground", (-0.3, 0.0, 0.0)), PathPoint("sled", (0.0, 0.0, 0.0)))
    laws = (
        Thelen2003(800.0, 0.1, 0.2, pennation=0.2, max_contraction_velocity=8.0),
        Millard2012(500.0, 0.12, 0.18, pennation=0.1, tendon="rigid", damping=0.1),
    )
    muscles = tuple(
        Muscle(f"m{k}", path, law, activation_dynamics=ActivationDynamics(form="piecewise", minimum_activation=0.01))
        for k, law in enumerate(laws)
    )
    return Model(mq.ArticulatedSystem((body,)), muscles)


def states(n, rng):
    """Rows: slide, speed, and per muscle activation, excitation and fiber length, which only the first has."""
    rows = np.empty((n, 8))
    rows[:, 0], rows[:, 1] = rng.uniform(-0.05, 0.06, n), rng.normal(size=n) * 0.3
    rows[:, 2::3], rows[:, 3::3] = rng.uniform(0.02, 1, (n, 2)), rng.uniform(0.0, 1, (n, 2))
    along = 0.3 + rows[:, 0] - 0.2 * rng.uniform(1.0, 1.03, n)
    rows[:, 4] = rows[:, 7] = np.hypot(along, 0.1 * np.sin(0.2))
    return rows


@pytest.mark.peers
def test_opensims_probes(sled, rng, tmp_path, in_opensim):
    """Every choice of every probe at 40 random states, to 1e-9 of the greatest power, where OpenSim's own curves are
    ours to that."""
    rows = states(40, rng)
    sled.save(tmp_path / "sled.osim")
    costs = [Umberger2010(*flags, recruitment=r) for *flags, r in product((True, False), repeat=4)]
    costs += [Bhargava2004(*flags, force_dependent=r) for *flags, r in product((True, False), repeat=4)]
    settings = [(type(c).__name__, {o: getattr(c, n) for n, o in OPTIONS.items() if hasattr(c, n)}) for c in costs]
    theirs = in_opensim(PROBES, tmp_path / "sled.osim", rows, settings)
    motion = Motion(sled, np.arange(40.0), rows[:, :1], rows[:, 1:2])
    for cost, expected in zip(costs, np.array(theirs), strict=True):
        found = metabolic_power(sled, motion, rows[:, 2::3], excitation=rows[:, 3::3], states=rows[:, 4:5], cost=cost,
                                slow_twitch=0.3)  # fmt: skip
        np.testing.assert_allclose(found.basal, expected[:, 1], rtol=1e-12)
        np.testing.assert_allclose(found.power, expected[:, 2:], atol=1e-9 * np.abs(expected).max())
        np.testing.assert_allclose(found.total, expected[:, 0], atol=1e-9 * np.abs(expected).max())


ROUNDED = Bhargava2004(speed_rounding=0.1, length_rounding=0.02)


@pytest.mark.parametrize("cost", [Umberger2010(), ROUNDED], ids=["umberger", "rounded"])
def test_all_number_types(cost, scalar):
    law = Thelen2003(800.0, 0.1, 0.2, tendon="rigid")

    @formula(x=(4,))
    def power(x):
        return cost.power(Fiber.of(law, (x[..., 0], x[..., 1], x[..., 2]), x[..., 3], mass=0.3))

    x = np.array([[0.29, -0.2, 0.4, 0.6], [0.33, 0.1, 0.7, 0.2], [0.25, -0.7, 0.02, 0.0]])
    np.testing.assert_allclose(scalar(power, x), [power(row) for row in x], rtol=1e-12)


def test_rounded_heat_is_that_of_the_source_away_from_its_corners():
    """It differs near 0.5, 1 and 1.5 optimal lengths and at slow fibers only, and tends to it with the rounding."""
    law = Thelen2003(800.0, 0.1, 0.2, tendon="rigid")
    length, speed = np.meshgrid(np.linspace(0.235, 0.36, 26), np.linspace(-0.8, 0.8, 17))
    fiber = Fiber.of(law, (length, speed, 0.5), 0.6, mass=0.3)
    sharp = Bhargava2004().heat(fiber)
    far = np.abs(fiber.speed) > 0.05
    for corner in (0.5, 1.0, 1.5):
        far &= np.abs(fiber.length - corner) > 0.05
    np.testing.assert_allclose(ROUNDED.heat(fiber)[far], sharp[far], rtol=0.01)
    close = Bhargava2004(speed_rounding=1e-4, length_rounding=1e-5)
    np.testing.assert_allclose(close.heat(fiber), sharp, atol=1e-3 * np.abs(sharp).max())


def test_a_fiber_that_would_push_has_no_shortening_heat():
    """Damping of a fast shortening Millard fiber exceeds what it pulls with. Only activation and maintenance remain,
    0.3 kg (A_s u_s + A_f u_f + L (M_s u_s + M_f u_f)), which no force enters."""
    law = Millard2012(500.0, 0.1, 0.2, tendon="rigid", damping=0.5)
    fiber = Fiber.of(law, (0.3, -1.4, 0.05), 0.1, mass=0.3)
    assert fiber.active_force + fiber.passive_force < 0
    slow, fast = 0.5 * np.sin(0.05 * np.pi), 0.5 * (1 - np.cos(0.05 * np.pi))
    expected = 0.3 * (40 * slow + 133 * fast + 74 * slow + 111 * fast)
    assert Bhargava2004().heat(fiber) == pytest.approx(expected, rel=1e-12)


def test_bounds(sled, rng):
    """Power is never negative, and at least 1 W/kg of heat beside the work, where that is asked for."""
    rows = states(30, rng)
    motion = Motion(sled, np.arange(30.0), rows[:, :1], 2 * rows[:, 1:2])
    given = {"excitation": rows[:, 3::3], "states": rows[:, 4:5]}
    for cost_type in (Umberger2010, Bhargava2004):
        free = metabolic_power(sled, motion, rows[:, 2::3], cost=cost_type(forbid_negative_power=False), **given)
        assert metabolic_power(sled, motion, rows[:, 2::3], cost=cost_type(), **given).power.min() >= 0
        paid = metabolic_power(sled, motion, rows[:, 2::3], cost=cost_type(negative_work=False), **given)
        assert paid.power.min() >= 0
        assert free.power.min() < 0


def test_masses_and_sums(sled, rng):
    rows = states(5, rng)
    motion = Motion(sled, np.arange(5.0), rows[:, :1], 0 * rows[:, 1:2])
    given = {"excitation": rows[:, 3::3], "states": rows[:, 4:5], "cost": Umberger2010(negative_work=False)}
    one = metabolic_power(sled, motion, rows[:, 2::3], masses={"m0": 0.2, "m1": 0.1}, **given)
    two = metabolic_power(sled, motion, rows[:, 2::3], masses={"m0": 0.2, "m1": 0.2}, **given)
    np.testing.assert_allclose(two.power[:, 1], 2 * one.power[:, 1])  # without motion all is heat, in proportion
    table = one.to_dataframe()
    np.testing.assert_allclose(table.total, table.m0 + table.m1 + table.basal)
    assert one.basal == pytest.approx(1.2 * 3.0)
    assert one.energy == pytest.approx(np.trapezoid(table.total, table.index))
    assert repr(one).startswith("<MetabolicPower 2 muscles, 5 frames, ")


def test_bad_input(sled):
    still = Motion(sled, [0.0, 0.1], [[0.0]] * 2, [[0.0]] * 2)
    a, l = np.full((2, 2), 0.5), np.full((2, 1), 0.1)
    with pytest.raises(ValueError, match=r"activation must have the shape \(2, 2\)"):
        metabolic_power(sled, still, a[0], states=l)
    with pytest.raises(ValueError, match=r"states must have the shape \(2, 1\)"):
        metabolic_power(sled, still, a)
    with pytest.raises(ValueError, match="slow_twitch of 'm0' must lie in"):
        metabolic_power(sled, still, a, states=l, slow_twitch={"m0": 2.0})
    with pytest.raises(ValueError, match="the mass of 'm0' must be positive"):
        metabolic_power(sled, still, a, states=l, masses={"m0": 0.0})
    with pytest.raises(ValueError, match="m7"):
        metabolic_power(sled, still, a, states=l, masses={"m7": 1.0})
    with pytest.raises(ValueError, match="the motion has no u"):
        metabolic_power(sled, Motion(sled, [0.0], [[0.0]]), a[:1], states=l[:1])
    other = replace(sled, muscles=(replace(sled.muscles[0], law=ExponentialMuscle(0.5, 100.0)),))
    with pytest.raises(ModelError, match="has no fiber"):
        metabolic_power(other, still, a[:, :1])
    with pytest.raises(ValueError, match="density"):
        Umberger2010(density=-1.0)
