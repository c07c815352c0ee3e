from .angles import angle_quality as angle_quality, lock_distance as lock_distance
from .coordinates import (
    motion_from_states as motion_from_states,
    muscle_states_from_motion as muscle_states_from_motion,
    states_from_motion as states_from_motion,
)
from .emg import Emg as Emg, load_emg as load_emg
from .forces import Forces as Forces, load_forces as load_forces
from .formats import (
    MOTION_FORMATS as MOTION_FORMATS,
    MotionFormat as MotionFormat,
    load_table as load_table,
    save_table as save_table,
)
from .markers import Markers as Markers, load_markers as load_markers
from .motion import Motion as Motion, MotionLike as MotionLike, load_motion as load_motion, motion_of as motion_of
from .orientations import Orientations as Orientations, load_orientations as load_orientations
from .recordings import (
    SuitRecording as SuitRecording,
    load_bvh as load_bvh,
    load_suit as load_suit,
    save_bvh as save_bvh,
)
from .series import axes_rotation as axes_rotation
