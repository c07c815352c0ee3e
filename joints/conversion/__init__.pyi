from .branches import start_branches as start_branches
from .convert import convert_coordinates as convert_coordinates
from .convert import convert_velocities as convert_velocities
from .convert import with_rotations as with_rotations
from .pose import by_name as by_name
from .pose import named_system as named_system
