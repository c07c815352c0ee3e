"""The simplified bones of the library's shoulder."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from site_bones import BONES, shoulder_bones, write_obj

from myoquat.apps.viewer.films import opened
from myoquat.data import load_model
from myoquat.data.meshes import read_mesh

MODEL = load_model("thoracoscapular")
MADE = shoulder_bones(MODEL)


@pytest.mark.parametrize("name", BONES)
def test_the_stored_bones_are_those_that_are_made(name, tmp_path):
    """`python docs/site_bones.py data/models/geometry` makes them again."""
    write_obj(MADE[name], tmp_path / "a.obj")
    made, stored = read_mesh(tmp_path / "a.obj"), read_mesh(MODEL.file.parent / "geometry" / f"{name}.obj")
    np.testing.assert_array_equal(made.faces, stored.faces)
    np.testing.assert_allclose(made.vertices, stored.vertices, atol=1.01e-4)


@pytest.mark.parametrize("name", BONES)
def test_they_face_outward(name):
    """The volume inside, by Gauss's theorem."""
    a, b, c = (MADE[name].vertices[MADE[name].faces[:, k]] for k in range(3))
    assert np.einsum("ij,ij->i", a - a.mean(axis=0), np.cross(b - a, c - a)).sum() > 0


def test_the_scapula_has_the_points_that_glide_on_the_ribs():
    vertices = MADE["scapula"].vertices
    for constraint in MODEL.constraints[:2]:
        away = np.linalg.norm(vertices - np.array(constraint.second_point), axis=-1)
        assert away.min() < 0.004


def test_the_ribs_are_inside_the_ellipsoid_on_which_the_scapula_glides():
    ribs = MODEL.constraints[0]
    x = (MADE["thorax"].vertices[: 9 * 31 * 5] - ribs.first_point) / ribs.radii
    assert np.linalg.norm(x, axis=-1).max() < 1.05


def test_every_body_of_the_first_picture_is_a_bone():
    scene, _, _ = opened("thoracoscapular", [], (), None, (), None)
    assert [part.body for part in scene.bones] == list(BONES)
    assert scene.missing_geometry_message == ""
