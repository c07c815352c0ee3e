"""Systems show themselves in a line, and in a table whose names are texts, never HTML."""

from dataclasses import replace

import numpy as np

from myoquat.data import load_model
from myoquat.joints import ArticulatedSystem, Axis, Body, CustomJoint, RevoluteJoint, random_system
from myoquat.joints.functions import PiecewiseLinear, SimmSpline


def test_a_system_is_one_line() -> None:
    system = random_system(40, np.random.default_rng(0))
    assert repr(system) == f"<ArticulatedSystem: 40 bodies, nq = {system.nq}, nu = {system.nu}>"
    assert repr(replace(system, name="tree")).startswith("<ArticulatedSystem 'tree': 40 bodies")
    assert repr(load_model("two_link").system.bodies[1]) == "<Body 'B' on 'A' by a spherical joint, 5 kg>"


def test_bodies_joints_and_functions_are_one_line() -> None:
    x = tuple(map(float, range(100)))
    for function in (SimmSpline(x, x), PiecewiseLinear(x, x)):
        joint = CustomJoint(("a", "b"), (Axis((0.0, 0.0, 1.0), 0, function),))
        for shown in (function, joint, Body("b", "ground", joint, position=(0.1,) * 3)):
            assert len(repr(shown)) < 100
            assert "\n" not in repr(shown)


def test_the_table_shows_names_as_texts() -> None:
    name = "<script>alert('x')</script>"
    body = Body(name, "ground", RevoluteJoint(), mass=1.5, coordinate_names=("knee & <b>angle</b>",))
    html = ArticulatedSystem((body,), name="<i>leg</i>")._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "<i>" not in html
    for part in ("&lt;script&gt;", "knee &amp; &lt;b&gt;angle", "revolute", "1.5", "ground", "&lt;i&gt;leg"):
        assert part in html
