"""Random files of MuJoCo: accelerations and lengths of tendons are MuJoCo's, or a report says what is left out."""

import warnings
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from myoquat import dynamics
from myoquat.data import UnsupportedWarning, load_model
from myoquat.muscle import actuator_forces, limit_torques, muscle_torques, path_lengths
from tests.data.mujoco_engine import forward, in_axes_of_bodies, opened, write

ORIENTATIONS = (("quat", 4), ("euler", 3), ("axisangle", 4), ("xyaxes", 6), ("zaxis", 3))
GEOMS = (("sphere", 1), ("box", 3), ("cylinder", 2), ("ellipsoid", 3), ("capsule", 2))
DEFAULTS = """<default><geom contype="0" conaffinity="0" density="700"/><joint damping="0.1"/><default class="stiff">
<joint stiffness="3" springref="0.2" armature="0.05"/><geom density="1500"/></default></default>"""


class Draw:
    """The text of a random model: a tree of bodies, tendons past surfaces and over joints, and actuators."""

    def __init__(self, rng):
        self.rng, self.joints, self.sites, self.surfaces, self.count = rng, [], [], [], 0

    def numbers(self, size, low=-1.0, high=1.0):
        return " ".join(f"{x:.6g}" for x in self.rng.uniform(low, high, size))

    def name(self, letter, names=None):
        self.count += 1
        found = f"{letter}{self.count}"
        if names is not None:
            names.append(found)
        return found

    def sometimes(self, text, share=0.3):
        return text if self.rng.random() < share else ""

    def placed(self, size=0.2):
        key, width = ORIENTATIONS[self.rng.integers(len(ORIENTATIONS))]
        pos = f'pos="{self.numbers(3, -size, size)}" '
        return pos + self.sometimes(f'{key}="{self.numbers(width)}"', 0.7)

    def joint(self, choices):
        word = self.rng.choice(choices)
        given = [
            f'pos="{self.numbers(3, -0.1, 0.1)}"',
            'class="stiff"',
            'armature="0.03"',
            f'damping="{self.numbers(1, 0)}"',
        ]
        if word != "ball":
            given += [f'{key}="{self.numbers(1, -0.3, 0.3)}"' for key in ("ref", "springref")] + ['stiffness="2"']
        name = self.name("j", None if word == "ball" else self.joints)
        axis = "" if word == "ball" else f'axis="{self.numbers(3)}"'
        return f'<joint name="{name}" type="{word}" {axis} {" ".join(map(self.sometimes, given))}/>'

    def parts(self):
        """Geoms and sites of a body, and a surface with sites outside and inside of it."""
        word, width = GEOMS[self.rng.integers(len(GEOMS))]
        text = f'<geom type="{word}" size="{self.numbers(width, 0.03, 0.1)}" {self.placed()}/>'
        inertial = f'mass="1.5" diaginertia="{self.numbers(3, 0.01, 0.02)}"'
        text += self.sometimes(f"<inertial {self.placed()} {inertial}/>", 0.2)
        text += self.sometimes(f"<frame {self.placed()}>{text.split('<inertial')[0]}</frame>", 0.2)
        text += "".join(f'<site name="{self.name("s", self.sites)}" {self.placed()}/>' for _ in range(2))
        word, surface = ("sphere", "cylinder")[self.rng.integers(2)], self.name("g", self.surfaces)
        size = f'size="{self.numbers(2, 0.02, 0.06)}" mass="0.1"'
        text += f'<geom name="{surface}" type="{word}" {size} {self.placed(0.05)}/>'
        side = f'<site name="{surface}_out" pos="{self.numbers(3, 0.1, 0.2)}"/>'
        return text + side

    def body(self, depth=0):
        draw = self.rng.random()
        if depth == 0 and draw < 0.4:
            joints = "<freejoint/>"
        else:
            choices = [["slide"], ["hinge"]] if draw > 0.7 else [["hinge", "slide", "ball"]]
            joints = "".join(map(self.joint, choices))
        beyond = "".join(self.body(depth + 1) for _ in range(self.rng.integers(0, 3))) if depth < 2 else ""
        lift = self.sometimes('gravcomp="0.6"', 0.2)
        return f'<body name="{self.name("b")}" {self.placed()} {lift}>{joints}{self.parts()}{beyond}</body>'

    def tendon(self, number):
        given = self.sometimes(f'stiffness="4" springlength="0.2 0.3" damping="{self.numbers(1, 0)}"')
        if self.rng.random() < 0.4 and self.joints:
            on = self.rng.choice(self.joints, min(2, len(self.joints)), replace=False)
            parts = "".join(f'<joint joint="{joint}" coef="{self.numbers(1)}"/>' for joint in on)
            return f'<fixed name="t{number}" {given}>{parts}</fixed>'
        parts = [f'<site site="{site}"/>' for site in self.rng.choice(self.sites, 3, replace=False)]
        for k in (2, 1):
            surface = self.rng.choice(self.surfaces)
            side = self.sometimes(f'sidesite="{surface}_out"', 0.5)
            parts.insert(k, self.sometimes(f'<geom geom="{surface}" {side}/>', 0.6))
        return f'<spatial name="t{number}" {given}>{"".join(parts)}</spatial>'

    def actuator(self, number):
        targets = [f'tendon="t{number}"', f'site="{self.rng.choice(self.sites)}" gear="0 0 2 0 0 0"']
        targets += [f'joint="{self.rng.choice(self.joints)}" gear="-1.5"'] if self.joints else []
        word, law = (("motor", ""), ("position", 'kp="9" kv="1"'), ("velocity", 'kv="2"'))[self.rng.integers(3)]
        target = self.rng.choice(targets[: 3 if word == "motor" else 1] + targets[2:])
        law += self.sometimes(' forcerange="-3 2"', 0.2)
        return f'<{word} name="a{number}" {target} {law} ctrlrange="-1 1"/>'

    def text(self):
        degree = ("degree", "radian")[self.rng.integers(2)]
        world = (
            f'<site name="{self.name("s", self.sites)}" {self.placed()}/>'
            + self.body()
            + (self.body() if self.rng.random() < 0.3 else "")
        )
        tendons = "".join(self.tendon(k) for k in range(3))
        actuators = "".join(self.actuator(k) for k in range(2))
        return (
            f'<mujoco><compiler angle="{degree}"/><option gravity="1 -2 -9"/>{DEFAULTS}<worldbody>{world}</worldbody>'
            f"<tendon>{tendons}</tendon><actuator>{actuators}</actuator></mujoco>"
        )


def torques(model, engine, q, u, controls):
    """(nu,) of all that acts, where the actuators have these controls."""
    known = {engine.actuator(i).name: x for i, x in enumerate(controls)}
    given = np.array([known[actuator.name] for actuator in model.actuators])
    tau = limit_torques(model, q, u) + actuator_forces(model, q, u, given)
    pulling = [muscle for muscle in model.muscles if muscle.law]
    shares = [(known.get(f"a{muscle.name[1]}", 0.0) + 1) / 2 for muscle in pulling]
    return tau + muscle_torques(replace(model, muscles=tuple(pulling)), q, u, np.array(shares))


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:.*carry no force")
@pytest.mark.parametrize("seed", range(8))
def test_accelerations_and_lengths_are_mujocos(tmp_path, seed):
    rng = np.random.default_rng(20261157 + seed)
    path = write(tmp_path, Draw(rng).text())
    engine, data = opened(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnsupportedWarning)
        model = load_model(path, **({"wrapping": "mujoco3"} if mujoco.__version__.startswith("3.") else {}))
    for _ in range(3):
        q = engine.qpos0.copy()
        mujoco.mj_integratePos(engine, q, rng.normal(size=engine.nv), 0.5)
        v, controls = rng.normal(size=engine.nv), rng.uniform(-1, 1, engine.nu)
        forward(engine, data, qpos=q, qvel=v, ctrl=controls)
        lengths = dict(zip(model.muscle_names, path_lengths(model, q), strict=True))
        for k, length in enumerate(data.ten_length):
            if engine.wrap_type[engine.tendon_adr[k]] != mujoco.mjtWrap.mjWRAP_JOINT:
                assert lengths[f"t{k}"] == pytest.approx(length, abs=1e-9)
        u, expected = in_axes_of_bodies(model.system, q, v, data.qacc)
        found = dynamics.forward_dynamics(model, q, u, torques(model, engine, q, u, controls))
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
