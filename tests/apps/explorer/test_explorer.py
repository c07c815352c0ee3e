"""The explorer's numbers: what sliders make of q, and what is drawn of it."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ipywidgets", reason="needs the extra notebooks")
pytest.importorskip("anywidget", reason="needs the extra notebooks")

import ipywidgets as widgets
import plotly.graph_objects as go

from myoquat.apps.explorer import Explorer, Player
from myoquat.apps.explorer.explorer import LiveFigure, plotly_module
from myoquat.data import load_model
from myoquat.dynamics import simulate
from myoquat.joints import (
    convert_coordinates,
    euler_from_quaternion,
    quaternion_exp,
    quaternion_from_euler,
    rotation_matrix,
)
from myoquat.joints.multibody.sampling import random_system
from myoquat.joints.sequences import SEQUENCES
from myoquat.muscle import Model, equilibrium_states, muscle_forces, path_jacobian, path_lengths
from myoquat.muscle.display import stick_figure

TWO_LINK = load_model("two_link")
SHOULDER = Path(__file__).parents[3] / "notebooks" / "shoulder.osim"


@pytest.fixture
def explorer():
    return Explorer(TWO_LINK)


def lines(shown):
    return {trace.name: np.array([trace.x, trace.y, trace.z]).T for trace in shown.view.figure.data if trace.name}


def test_it_begins_where_the_model_does(explorer):
    assert np.array_equal(explorer.q, TWO_LINK.start_q)
    a = np.array([m.activation for m in TWO_LINK.muscles])
    np.testing.assert_allclose(explorer.forces, muscle_forces(TWO_LINK, explorer.q, np.zeros(6), a))


def test_sliders_about_an_axis_make_quaternions(explorer):
    ball = explorer.controls[1]
    for text, x in zip(ball.axis, (1.0, 2.0, -2.0), strict=True):
        text.value = x
    ball.angle.value = 60
    np.testing.assert_allclose(explorer.q[4:], quaternion_exp(np.radians(60) * np.array([1, 2, -2]) / 3), atol=1e-15)
    before = explorer.q.copy()
    for text in ball.axis:
        text.value = 0.0
    np.testing.assert_allclose(np.linalg.norm(explorer.q[4:]), 1, atol=1e-15)  # no axis, no turn
    assert np.array_equal(explorer.q[:4], before[:4])


def test_sliders_of_euler_angles_make_quaternions(explorer):
    ball = explorer.controls[0]
    for sequence in SEQUENCES:
        Q = explorer.q[:4]
        ball.mode.value = sequence  # another way to say the same
        np.testing.assert_allclose(rotation_matrix(explorer.q[:4]), rotation_matrix(Q), atol=1e-12)
        shown = np.radians([slider.value for slider in ball.angles])
        np.testing.assert_allclose(shown, euler_from_quaternion(Q, sequence), atol=1e-12)
        for slider, degrees in zip(ball.angles, (20, 50, -70), strict=True):
            slider.value = degrees
        expected = quaternion_from_euler(np.radians([20, 50, -70]), sequence)
        np.testing.assert_allclose(explorer.q[:4], expected, atol=1e-15)


def test_moment_arms_are_those_of_what_is_shown(explorer):
    arms, names = explorer.moment_arms
    np.testing.assert_allclose(arms, -path_jacobian(TWO_LINK, explorer.q))
    assert names == list(TWO_LINK.system.velocity_names)
    for control, sequence in zip(explorer.controls, ("YZY", "YZX"), strict=True):
        control.mode.value = sequence
    arms, names = explorer.moment_arms
    euler = TWO_LINK.with_rotations("sequence")
    phi = convert_coordinates(TWO_LINK.system, euler.system, explorer.q)
    np.testing.assert_allclose(arms, -path_jacobian(euler, phi, "coordinates"), atol=1e-12)
    assert names == ["A.Y1", "A.Z2", "A.Y3", "B.Y1", "B.Z2", "B.X3"]
    assert np.array_equal(explorer.arms.data[0].z, 1e3 * arms)  # [mm]


def test_the_figure_shows_paths_of_their_length_and_colours_by_tension(explorer):
    explorer.activations[1].value = 0.0
    drawn, lengths = lines(explorer), path_lengths(TWO_LINK, explorer.q)
    for name, l in zip(TWO_LINK.muscle_names, lengths, strict=True):
        np.testing.assert_allclose(np.linalg.norm(np.diff(drawn[name], axis=0), axis=1).sum(), l, rtol=1e-12)
    assert explorer.forces[1] < 12
    colors = {trace.name: trace.line.color for trace in explorer.view.figure.data}
    assert colors["m2"] != colors["m4"]


def test_set_q_moves_the_sliders(explorer, rng):
    q = TWO_LINK.system.random(1, rng)[0]
    explorer.set_q(q)
    np.testing.assert_allclose(explorer.q, q)
    with pytest.raises(ValueError, match="must be 1 to within"):
        explorer.set_q(2 * q)


@pytest.mark.parametrize("name", ["two_link_euler", "mapping_analysis"])
def test_other_library_models(name):
    explorer = Explorer(name)
    assert explorer.label == ("length [m]" if name.startswith("mapping") else "tension [N]")
    assert np.isfinite(explorer.forces).all()


def test_every_joint_type_has_sliders(rng):
    """Moved to either end, they give coordinates that the system takes."""
    system = random_system(12, rng)
    explorer = Explorer(Model(system))
    count = 0
    for control in explorer.controls:
        for slider in getattr(control, "sliders", getattr(control, "angles", [])):
            slider.value = slider.max
            count += 1
    system.check_q(explorer.q)
    assert count >= system.nu
    assert len(stick_figure(explorer.model, explorer.q).joints) == 12


def test_a_player_shows_the_rows_of_a_trajectory():
    trajectory = simulate(TWO_LINK, duration=1.0, step=1e-3)
    player = Player(trajectory, speed=0.5)
    np.testing.assert_allclose(np.diff(trajectory.time[player.frames]), 0.025, atol=1e-3)
    player.slider.value = 20
    row = player.frames[20]
    assert player.clock.value == f"t = {trajectory.time[row]:.3f} s"
    np.testing.assert_allclose(lines(player)["m1"], stick_figure(TWO_LINK, trajectory.q[row]).muscles["m1"])
    assert player.curves.layout.shapes[0].x0 == trajectory.time[row]
    with pytest.raises(ValueError, match=r"run \(3,\) does not name one of a batch \(\)"):
        Player(trajectory, run=3)
    with pytest.raises(ValueError, match="speed must be positive"):
        Player(trajectory, speed=0)


SCRIPT = '<img src=x onerror="alert(1)">$\\href{javascript:alert(1)}{x}$%{x}'


def renamed(model, name):
    """The model with a name for its last body and its first muscle."""
    last = model.system.bodies[-1]
    bodies = tuple(replace(body, name=name) if body is last else body for body in model.system.bodies)
    muscles = [
        replace(
            muscle,
            name=name if i == 0 else muscle.name,
            path=replace(
                muscle.path,
                points=tuple(replace(p, body=name) if p.body == last.name else p for p in muscle.path.points),
            ),
        )
        for i, muscle in enumerate(model.muscles)
    ]
    return replace(model, system=replace(model.system, bodies=bodies), muscles=tuple(muscles), file=None)


def texts(widget):
    """Every text that a widget and its children show, plotly's included; labels are no HTML but typeset formulas."""
    if hasattr(widget, "to_plotly_json"):
        yield json.dumps(widget.to_plotly_json(), default=str, ensure_ascii=False)
        return
    if isinstance(widget, widgets.HTML):
        yield widget.value
    elif isinstance(getattr(widget, "description", None), str):
        assert not widget.description_allow_html
        yield widget.description.replace("<img", "").replace("%{x}", "")
    for child in getattr(widget, "children", ()):
        yield from texts(child)


def test_names_are_no_markup():
    model = renamed(TWO_LINK, SCRIPT)
    player = Player(simulate(model, duration=0.02, step=1e-3))
    shown = [*texts(Explorer(model).widget), *texts(player.widget)]
    assert sum("alert(1)" in text for text in shown) >= 5  # there they are, as text
    for text in shown:
        assert "<img" not in text
        assert "%{x}" not in text
        assert "$" not in text
        assert "\\\\href" not in text
        assert "\\href" not in text


@pytest.mark.parametrize("name", ["bones", "joints", "1", "2024-01-01"])
def test_a_muscle_may_have_any_name(name):
    muscles = (replace(TWO_LINK.muscles[0], name=name), *TWO_LINK.muscles[1:])
    explorer = Explorer(replace(TWO_LINK, muscles=muscles, file=None))
    assert explorer.arms.layout.yaxis.type == "category"
    assert explorer.arms.data[0].y[0] == name
    drawn = [trace for trace in explorer.view.figure.data if trace.name == name]
    length = np.linalg.norm(np.diff(np.array([drawn[-1].x, drawn[-1].y, drawn[-1].z]).T, axis=0), axis=1).sum()
    np.testing.assert_allclose(length, path_lengths(TWO_LINK, explorer.q)[0], rtol=1e-12)


@pytest.mark.parametrize("rotations", ["file", "quaternion"])
def test_elastic_tendons_are_in_equilibrium(rotations):
    model = load_model(SHOULDER, rotations)
    explorer = Explorer(model)
    a = np.full(10, 0.5)
    state = equilibrium_states(model, explorer.q, a)
    np.testing.assert_allclose(explorer.forces, muscle_forces(model, explorer.q, np.zeros(model.system.nu), a, state))
    trajectory = simulate(model, duration=0.01, step=1e-3, activation=np.full(10, 0.3))
    player = Player(trajectory)
    assert np.isfinite(player.forces).all()


LEG = load_model(Path(__file__).parents[2] / "data" / "small_leg.osim")  # y is up


def test_gravity_is_down_and_the_model_fills_the_figure():
    for model in (LEG, TWO_LINK):
        scene = Explorer(model).view.figure.layout.scene
        gravity = np.array(model.system.gravity)
        up = np.array([scene.camera.up[k] for k in "xyz"])
        np.testing.assert_allclose(up, -gravity / np.linalg.norm(gravity), atol=1e-12)
        stick = stick_figure(model, model.start)
        points = np.concatenate([stick.joints, stick.attachments])
        low, high = (np.array([scene[f"{k}axis"].range[end] for k in "xyz"]) for end in (0, 1))
        assert (points > low).all()
        assert (points < high).all()
        assert np.ptp(points, axis=0).max() > 0.6 * (high - low).max()


def test_balls_of_joints_are_in_proportion_to_the_bones():
    explorer = Explorer(LEG)
    scene = explorer.view.figure.layout.scene
    pixels = 500 / max(scene[f"{k}axis"].range[1] - scene[f"{k}axis"].range[0] for k in "xyz")  # per metre
    bones = [np.linalg.norm(s[1] - s[0]) for found in stick_figure(LEG, LEG.start).bones.values() for s in found]
    assert explorer.view._joints.marker.size < max(0.2 * np.median(bones) * pixels, 2.1)


def test_moment_arms_of_a_joint_are_those_of_the_muscles_that_turn_it():
    explorer = Explorer(LEG)
    explorer._chooser()
    for joint in [value for _, value in explorer.joint.options]:
        explorer.joint.value = joint
        z, muscles = np.array(explorer.arms.data[0].z), list(explorer.arms.data[0].y)
        arms, names = explorer.moment_arms
        columns = [names.index(name) for name in explorer.arms.data[0].x]
        rows = [LEG.muscle_names.index(name) for name in muscles]
        np.testing.assert_allclose(z, 1e3 * arms[np.ix_(rows, columns)])
    assert "0.000" not in {text for row in explorer.arms.data[0].text for text in row}


def test_a_motion_plays_in_the_explorer(rng):
    motion = simulate(TWO_LINK, duration=0.2, step=1e-2)
    explorer = Explorer(TWO_LINK, motion=motion)
    np.testing.assert_allclose(explorer.q, motion.q[0])
    _, slider, clock = explorer.player.children
    slider.value = 20
    np.testing.assert_allclose(explorer.q, motion.q[20], atol=1e-12)
    assert clock.value == "t = 0.200 s"
    with pytest.raises(ValueError, match="no motion was given"):
        Explorer(TWO_LINK).seek(0)


def test_a_saved_notebook_has_the_module_of_plotly_once():
    """Each figure names the widget that holds it, compressed: 20 MB of explore.ipynb became 2.3 MB."""
    first, second = LiveFigure(), LiveFigure()
    for figure in (first, second):
        figure.publish()
    assert first._module is second._module is plotly_module()
    assert len(plotly_module().packed) < 2_000_000
    assert gzip.decompress(plotly_module().packed).decode() == str(go.FigureWidget._esm)
    for figure in (first, second):
        assert len(str(figure.get_state())) < 100_000
