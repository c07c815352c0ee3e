"""Geometry files: polygons as triangles, and memory that is linear in the size of the file."""

import tracemalloc

import numpy as np
import pytest

from myoquat.data.files import MAX_LINE
from myoquat.data.meshes import MAX_BYTES, fans, read_mesh
from myoquat.joints.errors import ModelError


def test_polygons_become_triangles_around_their_first_corners():
    corners = np.array([5, 6, 7, 8, 1, 2, 0, 1, 2, 3, 4])  # a quadrangle, two corners alone, a pentagon
    triangles = [[5, 6, 7], [5, 7, 8], [0, 1, 2], [0, 2, 3], [0, 3, 4]]
    assert fans(corners, np.array([0, 4, 6])).tolist() == triangles
    assert fans(corners[:0], np.zeros(0, dtype=int)).shape == (0, 3)


def test_reading_a_text_takes_memory_of_a_few_times_its_size(tmp_path):
    path = tmp_path / "mesh.stl"
    path.write_text("vertex 0 0 0\nvertex 1 0 0\nvertex 1 1.5 0\n" * 5000)
    tracemalloc.start()
    mesh = read_mesh(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(mesh.faces) == 5000
    assert peak < 8 * path.stat().st_size


def test_files_and_lines_have_limits(tmp_path):
    path = tmp_path / "mesh.obj"
    path.write_text("v 0 0 0\nf " + "1 " * (MAX_LINE // 2))
    with pytest.raises(ModelError, match="the line holds more than 4194304 characters") as caught:
        read_mesh(path)
    assert caught.value.line == 2
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)  # a file of holes
    with pytest.raises(ModelError, match="at most 128 are read"):
        read_mesh(path)
