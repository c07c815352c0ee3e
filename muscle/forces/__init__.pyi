from .base import LoadingForce as LoadingForce, MeasuredForce as MeasuredForce, PassiveForce as PassiveForce
from .bodies import (
    Bushing as Bushing,
    BushingExpressions as BushingExpressions,
    BushingFunctions as BushingFunctions,
    CoordinateExpression as CoordinateExpression,
    GravityCompensation as GravityCompensation,
    PointExpression as PointExpression,
    PointSpring as PointSpring,
    PrescribedForce as PrescribedForce,
)
from .contact import (
    Contact as Contact,
    ContactCapsule as ContactCapsule,
    ContactEllipsoid as ContactEllipsoid,
    ContactForce as ContactForce,
    ContactHalfSpace as ContactHalfSpace,
    ContactMaterial as ContactMaterial,
    ContactSphere as ContactSphere,
    ContactSurface as ContactSurface,
    HuntCrossley as HuntCrossley,
    LinearContact as LinearContact,
    SmoothSphereHalfSpace as SmoothSphereHalfSpace,
)
from .coordinates import (
    CoordinateFriction as CoordinateFriction,
    CoordinateSpring as CoordinateSpring,
    RotationLimit as RotationLimit,
    SwingTwistLimit as SwingTwistLimit,
)
