"""Pictures of activations, loads and sockets: what is drawn, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from myoquat.analysis import plot_activations, plot_loads, plot_socket
from myoquat.analysis.recruitment import JointCone
from myoquat.data import Emg


@pytest.fixture
def found():
    model = SimpleNamespace(muscle_names=("biceps", "triceps"))
    motion = SimpleNamespace(time=np.array([0.0, 0.1, 0.2]))
    return SimpleNamespace(model=model, motion=motion, activation=np.array([[0.1, 0.0], [0.4, 0.1], [0.2, 0.3]]))


def test_activations_beside_emg(found):
    raw = Emg([0.0, 0.2], ("triceps",), [[2.0], [1.0]])  # drawn over its greatest value
    figure = plot_activations(found, raw, others={"again": found})
    axes = [axis for axis in figure.axes if axis.lines]
    assert [axis.get_title("left") for axis in axes] == ["biceps", "triceps"]
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), found.activation[:, 0])
    assert [len(axis.collections) for axis in axes] == [0, 1]
    assert axes[0].get_ylim() == (0.0, 1.0)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(labels) == {"found", "again", "EMG"}
    assert not plot_activations(found, muscles=["biceps"]).legends
    with pytest.raises(ValueError, match="bicep"):
        plot_activations(found, muscles=["bicep"])


def test_the_lowest_axis_of_each_column_has_times(found):
    found.model.muscle_names, found.activation = tuple("abcdefgh"), np.tile(found.activation[:, :1], 8)
    axes = plot_activations(found).axes  # two rows of four, or a row of five and one of three
    lowest = {axis.get_position().x0.round(3): axis for axis in axes}  # the last one of each column
    for axis in lowest.values():
        assert axis.xaxis.get_tick_params()["labelbottom"]
    assert sum(axis.xaxis.get_tick_params()["labelbottom"] for axis in axes) == len(lowest)


def test_loads_over_elevation():
    force = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 10.0]])
    line = plot_loads([0.0, 90.0], {"shoulder": force}, weight=50.0).axes[0].lines[0]
    assert line.axes.get_xlabel() == "time [s]"
    np.testing.assert_allclose(line.get_ydata(), [10.0, 20.0])
    with pytest.raises(ValueError, match=r"forces 'shoulder' must have the shape \(3, 3\), not \(2, 3\)"):
        plot_loads([0.0, 45.0, 90.0], {"shoulder": force})


def test_a_socket_from_its_joint():
    """A force at 0.4 rad from the direction lies at that distance from the middle, one along it in the middle."""
    cone = JointCone("shoulder", (0.0, 0.0, 2.0), 0.5)
    force = np.array([[0.0, 0.0, 5.0], 7 * cone.frame.T @ [np.cos(0.4), np.sin(0.4), 0.0]])
    edge, course, start = plot_socket(cone, {"found": force}).axes[0].lines
    np.testing.assert_allclose(np.hypot(*edge.get_data()), np.degrees(0.5))
    np.testing.assert_allclose(np.stack(course.get_data(), axis=-1), [[0.0, 0.0], [np.degrees(0.4), 0.0]], atol=1e-9)
    assert len(start.get_xdata()) == 1
    with pytest.raises(ValueError, match=r"forces 'found' must have the shape \(t, 3\)"):
        plot_socket(cone, {"found": force[0]})
