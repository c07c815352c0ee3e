from .read import read_c3d_channels as read_c3d_channels
from .read import read_c3d_plates as read_c3d_plates
from .read import read_c3d_points as read_c3d_points
