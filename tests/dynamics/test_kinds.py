"""Forward dynamics by a scan over types of links: the same as link by link."""

import numpy as np
import pytest

from myoquat import kernels
from myoquat.dynamics import Simulator, articulated, forward_dynamics, inverse_dynamics, simulate
from myoquat.joints import ArticulatedSystem, Body
from myoquat.joints.multibody.sampling import KINDS, random_joint, random_system
from myoquat.joints.types import RevoluteJoint, SphericalJoint

LINKS = 56  # more than `articulated.MANY`


def _kernel(system, **options):
    """The kernel itself: one of `forward_dynamics` is kept by the content of the system alone."""
    shapes = {"q": system.nq, "u": system.nu, "tau": system.nu}
    return kernels.compile(lambda q, u, tau: articulated.forward(system, q, u, tau), shapes, **options)


@pytest.fixture
def every_link(monkeypatch):
    """All trees are scans, for any number of links of a type."""
    monkeypatch.setattr(articulated, "MIN_LOOPED_LINKS", 1)
    monkeypatch.setattr(articulated, "MIN_LINKS_PER_TYPE", 0)


def _state(system, rng, batch=9):
    u, tau = rng.normal(size=(2, batch, system.nu))
    return system.random(batch, rng), u, tau


def _assert_same(found, expected, tolerance=1e-12):
    """Relative to the greatest acceleration of each state."""
    scale = np.abs(expected).max(axis=-1, keepdims=True, initial=0.0)
    assert (np.abs(found - expected) <= tolerance * scale).all(), np.abs(found - expected).max()


def _chain(links, joint, rng):
    """Links of different sizes, each on the one before by a joint(rng)."""
    return ArticulatedSystem(
        tuple(
            Body(
                f"b{i}", f"b{i - 1}" if i else "ground", joint(rng), position=tuple(rng.uniform(-0.2, 0.2, 3).tolist()),
                mass=float(rng.uniform(1, 2)), center_of_mass=(0.0, 0.1, 0.0), inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0),
            )
            for i in range(links)
        )
    )  # fmt: skip


@pytest.mark.parametrize("joint_type", KINDS)
def test_every_joint_type(every_link, joint_type, rng):
    """With springs, dampers and rotors, and links that do not move, in both velocity frames."""
    for frame, lanes in (("child", 1), ("parent", 8)):
        system = random_system(6, rng, (joint_type, "fixed"), passive=True, velocity_frame=frame)
        state = _state(system, rng)
        _assert_same(_kernel(system, lanes=lanes)(*state), articulated.forward(system, *state), 1e-10)


@pytest.mark.parametrize("joint", [lambda rng: SphericalJoint(), lambda rng: random_joint(rng, ["revolute"])])
def test_many_links_are_a_recursion_by_themselves(joint, rng):
    system = _chain(LINKS, joint, rng)
    q, u, tau = _state(system, rng)
    kernel = _kernel(system)
    assert "_type0" in kernel.ir
    _assert_same(kernel(q, u, tau), forward_dynamics(system, q, u, tau, backend="numpy"))
    back = inverse_dynamics(system, q, u, kernel(q, u, tau), backend="numpy")
    assert np.abs(back - tau).max() < 1e-9


def test_code_does_not_grow_with_the_links(tmp_path):
    """A link adds its numbers and slots, some hundred bytes, and no code, of which it had 14 kB."""

    def size(links):
        folder = tmp_path / str(links)
        _kernel(_chain(links, lambda rng: SphericalJoint(), np.random.default_rng(0)), cache=folder)
        return sum(file.stat().st_size for file in folder.iterdir())

    assert size(3 * LINKS) - size(LINKS) < 2 * LINKS * 1200


def test_few_links_and_many_types_are_unrolled(rng, monkeypatch):
    monkeypatch.setattr(articulated, "MIN_LOOPED_LINKS", 10)
    few, enough = (_chain(links, lambda rng: RevoluteJoint((0, 1, 0)), rng) for links in (9, 10))
    assert ["_type0" in _kernel(system).ir for system in (few, enough)] == [False, True]
    monkeypatch.setattr(articulated, "MIN_LOOPED_LINKS", 4)
    assert "_type0" not in _kernel(_chain(5, lambda rng: random_joint(rng, ["custom"]), rng)).ir


def test_derivatives_see_the_links(rng, monkeypatch):
    system = _chain(12, lambda rng: RevoluteJoint((0, 1, 0)), rng)
    state = _state(system, rng, 2)
    monkeypatch.setattr(articulated, "MIN_LOOPED_LINKS", 12)
    by_type = _kernel(system).jacobian("output0", "u")(*state)
    monkeypatch.setattr(articulated, "MIN_LOOPED_LINKS", 13)
    expected = _kernel(system).jacobian("output0", "u")(*state)
    np.testing.assert_allclose(by_type, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_numbers_that_vary_are_seen_link_by_link(rng):
    system = _chain(LINKS, lambda rng: RevoluteJoint((0, 1, 0)), rng)
    q = system.random(1, rng)[0]
    given = {"duration": 2e-3, "step": 1e-3}
    own = {"bodies.b3.mass": system.bodies[3].mass, "gravity.z": system.gravity[2]}
    expected = simulate(system, q, np.zeros(system.nu), **given).u[-1]
    for name, value in own.items():
        run = Simulator(system, parameters=[name])(q, np.zeros(system.nu), parameters={name: value}, **given)
        np.testing.assert_allclose(run.u[-1], expected, rtol=1e-9, atol=1e-10)
