"""A path, its reverse and its copy in another unit of length have one length; an end on a surface is outside."""

import numpy as np
import pytest

from benchmarks.wrapping import symmetries
from benchmarks.wrapping.certificate import paths
from myoquat.muscle import WrapCylinder, WrapEllipsoid, WrapSphere


@pytest.mark.parametrize("generator", symmetries.GENERATORS)
def test_reversed_and_scaled_copies_have_the_same_length(generator):
    types, row = symmetries.drawn("SED", generator, 200, 5)
    found = paths(types, row)
    for name, (copy, scale) in symmetries.copies(types, row).items():
        if name != "mirrored":
            assert np.abs(copy.length / scale - found.length).max() < 1e-9, name


@pytest.mark.parametrize("surface", [
    WrapSphere(body="ground", radius=0.05),
    WrapCylinder(body="ground", radius=0.05),
    WrapEllipsoid(body="ground", radii=(0.05, 0.05, 0.05)),
])  # fmt: skip
def test_an_end_on_a_surface_is_outside(surface):
    contact = surface.contact(np.array([0.05, 0.0, 0.0]), np.array([0.05 * np.cos(3.0), 0.05 * np.sin(3.0), 0.0]))
    assert contact.on
    assert not contact.inside
    assert abs(contact.arc - 0.15) < 1e-6
    assert contact.jump.max() < 1e-9
