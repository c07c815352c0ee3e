from .conversion.balls import ball_joint_obstacle as ball_joint_obstacle, with_branches as with_branches
from .conversion.convert import (
    convert_coordinates as convert_coordinates,
    convert_velocities as convert_velocities,
    with_rotations as with_rotations,
)
from .errors import (
    ConstraintWarning as ConstraintWarning,
    CoordinateWarning as CoordinateWarning,
    ModelError as ModelError,
)
from .kinematics import (
    angular_momentum as angular_momentum,
    center_of_mass as center_of_mass,
    center_of_mass_jacobian as center_of_mass_jacobian,
    frame_acceleration as frame_acceleration,
    frame_jacobian as frame_jacobian,
    frame_jacobian_rate as frame_jacobian_rate,
    frame_pose as frame_pose,
    frame_velocity as frame_velocity,
    momentum as momentum,
    point_position as point_position,
)
from .maps import (
    constrained_to_spatial as constrained_to_spatial,
    constrained_torque as constrained_torque,
    euler_to_spatial as euler_to_spatial,
    quaternion_radial as quaternion_radial,
    quaternion_tangent as quaternion_tangent,
    quaternion_to_constrained as quaternion_to_constrained,
    quaternion_to_spatial as quaternion_to_spatial,
    quaternion_torque as quaternion_torque,
    spatial_to_constrained as spatial_to_constrained,
    spatial_to_euler as spatial_to_euler,
    spatial_to_quaternion as spatial_to_quaternion,
    spatial_torque as spatial_torque,
)
from .multibody.body import Body as Body, Shape as Shape
from .multibody.indices import (
    BodyIndex as BodyIndex,
    CoordinateIndex as CoordinateIndex,
    FrameIndex as FrameIndex,
    VelocityIndex as VelocityIndex,
)
from .multibody.sampling import random_system as random_system
from .multibody.system import ArticulatedSystem as ArticulatedSystem
from .quaternion import (
    normalize as normalize,
    quaternion_conjugate as quaternion_conjugate,
    quaternion_exp as quaternion_exp,
    quaternion_from_matrix as quaternion_from_matrix,
    quaternion_from_rotation as quaternion_from_rotation,
    quaternion_from_scalar_last as quaternion_from_scalar_last,
    quaternion_log as quaternion_log,
    quaternion_multiply as quaternion_multiply,
    quaternion_to_scalar_last as quaternion_to_scalar_last,
    random_quaternions as random_quaternions,
    rotation_from_quaternion as rotation_from_quaternion,
    rotation_matrix as rotation_matrix,
)
from .rates import (
    E as E,
    E_inverse as E_inverse,
    G as G,
    G_parent as G_parent,
    T as T,
    condition_constrained as condition_constrained,
)
from .sequences import (
    SEQUENCES as SEQUENCES,
    condition_davenport as condition_davenport,
    condition_euler as condition_euler,
    davenport_from_quaternion as davenport_from_quaternion,
    davenport_rate_matrix as davenport_rate_matrix,
    euler_from_quaternion as euler_from_quaternion,
    euler_rate_inverse as euler_rate_inverse,
    euler_rate_matrix as euler_rate_matrix,
    quaternion_from_davenport as quaternion_from_davenport,
    quaternion_from_euler as quaternion_from_euler,
    rotation_matrix_from_euler as rotation_matrix_from_euler,
    unreached_angle as unreached_angle,
)
from .types import (
    JOINT_FACTS as JOINT_FACTS,
    Angles as Angles,
    Axis as Axis,
    ConstantCurvatureJoint as ConstantCurvatureJoint,
    CoordinateJoint as CoordinateJoint,
    CustomJoint as CustomJoint,
    Dependent as Dependent,
    EllipsoidJoint as EllipsoidJoint,
    EulerJoint as EulerJoint,
    FixedJoint as FixedJoint,
    FloatingJoint as FloatingJoint,
    FollowerJoint as FollowerJoint,
    GimbalJoint as GimbalJoint,
    Joint as Joint,
    JointFacts as JointFacts,
    PlanarJoint as PlanarJoint,
    PrismaticJoint as PrismaticJoint,
    ReversedJoint as ReversedJoint,
    RevoluteJoint as RevoluteJoint,
    SphericalJoint as SphericalJoint,
    Turn as Turn,
    UniversalJoint as UniversalJoint,
    joint_table as joint_table,
)
