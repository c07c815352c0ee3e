from .contacts import acting_surfaces as acting_surfaces, holds_end as holds_end, path_contacts as path_contacts
from .segment_solver import Piece as Piece
from .surfaces.base import Contact as Contact, Wrap as Wrap
from .surfaces.cylinder import WrapCylinder as WrapCylinder
from .surfaces.ellipsoid import WrapEllipsoid as WrapEllipsoid
from .surfaces.sphere import WrapSphere as WrapSphere
from .surfaces.torus import WrapTorus as WrapTorus
