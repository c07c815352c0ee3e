"""Actuators, springs and pulleys of MJCF files, against MuJoCo's forces."""

from myoquat.muscle.laws import PathSpring
from tests.data.mujoco_engine import read
from tests.data.tables import reported

BODIES = """<mujoco><compiler angle="radian"/><option gravity="0 0 0"/>
<default><geom contype="0" conaffinity="0"/></default><worldbody>
<site name="w1" pos="0.1 0 0"/><site name="w2" pos="0 0.1 0"/>
<body name="a"><joint name="j1" axis="0 1 0"/><geom size="0.1" pos="0 0 0.2"/><site name="a1" pos="0.05 0.01 0.2"/>
<site name="a2" pos="0 0.06 0.2"/><site name="push" pos="0 0 0.1" quat="0.8 0 0.6 0"/>
<geom name="ring" type="sphere" size="0.03" pos="0.1 0 0.3" mass="0"/><site name="in" pos="0.11 0 0.3"/>
<body name="b" pos="0 0 0.4"><joint name="j2" type="slide" axis="0 0 1"/><joint name="j3" axis="1 0 0"/>
<geom size="0.05" pos="0 0 0.1"/><site name="b1" pos="0.06 0 0.1"/><site name="b2" pos="0 0.07 0.05"/>
</body></body></worldbody>
<tendon>
<spatial name="t1"><site site="w1"/><site site="a1"/><site site="b1"/></spatial>
<spatial name="t2"><site site="w2"/><site site="a2"/><pulley divisor="2"/><site site="a2"/><site site="b2"/>
<pulley divisor="3"/><site site="a1"/><site site="b2"/></spatial>
<spatial name="t3" stiffness="30" damping="2" springlength="0.1 0.3"><site site="w1"/><site site="b2"/></spatial>
<spatial name="t4"><site site="w1"/><geom geom="ring" sidesite="in"/><site site="b1"/></spatial>
</tendon><actuator>{0}</actuator></mujoco>"""
MUSCLES = """<muscle name="m1" tendon="t1" lengthrange="0.3 0.6" force="120" range="0.7 1.2" lmin="0.4" lmax="1.7"
ctrlrange="0 1" vmax="2" fpmax="1.1" fvmax="1.3" tausmooth="0.2"/>
<general name="m2" tendon="t2" gaintype="muscle" biastype="muscle" dyntype="muscle" lengthrange="0.2 0.45" gear="2"
gainprm="0.75 1.05 80 200 0.5 1.6 1.5 1.3 1.2" biasprm="0.6 1.2 50 200 0.5 1.8 1.5 1.4 1.2" dynprm="0.02 0.05 0"
ctrlrange="0 1"/>
<muscle name="m4" tendon="t4" lengthrange="0.3 0.7" force="50" ctrlrange="0 1" timeconst="0.02 0.03"/>"""


def driven(tmp_path, actuators, **options):
    return read(tmp_path, BODIES.format(actuators), **({"strict": True} | options))


def test_a_keyframe_tells_controls_and_activations(tmp_path):
    key = '<keyframe><key ctrl="0.1 0.2 0.3" act="0.4 0.5 0.6"/></keyframe></mujoco>'
    model = read(tmp_path, BODIES.format(MUSCLES).replace("</mujoco>", key), strict=True)
    assert [muscle.activation for muscle in model.muscles] == [0.4, 0.5, None, 0.6]
    assert [m.activation for m in driven(tmp_path, MUSCLES).muscles] == [0.0, 0.0, None, 0.0]
    assert [m.activation_dynamics.form for m in model.muscles if m.activation_dynamics] == [
        "quintic",
        "piecewise",
        "piecewise",
    ]


def test_a_spring_without_damping_that_is_slack_from_zero_is_a_path_spring(tmp_path):
    text = BODIES.replace('damping="2" springlength="0.1 0.3"', 'springlength="0 0.3"')
    assert read(tmp_path, text.format(""), strict=True).muscles[2].law == PathSpring(30.0, 0.3)


test_what_has_no_place_is_reported_with_its_effect = reported(
    BODIES, "x.xml",
    ("{0}", '<general tendon="t1" dyntype="filter" ctrlrange="0 1" actrange="0 0.5"/>', "actrange; its activation"),
    ("{0}", '<general tendon="t1" dyntype="filter" ctrlrange="0 1" actearly="true"/>', "actearly: forces follow"),
    ("{0}", '<motor site="push" gear="1 0 0 1 0 0"/>', "an actuator on a site of this type"),
    ("{0}", '<velocity site="push" gear="1"/>', "an actuator on a site of this type; it does nothing here"),
    ("{0}", '<position site="push" kv="1"/>', "an actuator on a site of this type; it does nothing here"),
    ("{0}", '<motor site="push" refsite="w1"/>', "refsite; it does nothing here"),
    ("{0}", '<general tendon="t1" gaintype="user"/>', "its force law; it does nothing here"),
    ("{0}", '<general tendon="t1" dyntype="integrator" ctrlrange="-1 0"/>', "dyntype integrator; its activation"),
    ("{0}", "<adhesion body='a' ctrlrange='0 1'/>", "an actuator on a body; it does nothing here"),
)  # fmt: skip
