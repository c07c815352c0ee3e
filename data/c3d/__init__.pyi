from .read import (
    read_c3d_channels as read_c3d_channels,
    read_c3d_plates as read_c3d_plates,
    read_c3d_points as read_c3d_points,
)
