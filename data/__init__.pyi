from .formats import MODEL_FORMATS as MODEL_FORMATS, ModelFormat as ModelFormat
from .library import library_models as library_models, load_model as load_model
from .motions import (
    MOTION_FORMATS as MOTION_FORMATS,
    Emg as Emg,
    Forces as Forces,
    Markers as Markers,
    Motion as Motion,
    MotionFormat as MotionFormat,
    MotionLike as MotionLike,
    Orientations as Orientations,
    SuitRecording as SuitRecording,
    angle_quality as angle_quality,
    axes_rotation as axes_rotation,
    load_bvh as load_bvh,
    load_emg as load_emg,
    load_forces as load_forces,
    load_markers as load_markers,
    load_motion as load_motion,
    load_orientations as load_orientations,
    load_suit as load_suit,
    load_table as load_table,
    lock_distance as lock_distance,
    motion_from_states as motion_from_states,
    motion_of as motion_of,
    muscle_states_from_motion as muscle_states_from_motion,
    save_bvh as save_bvh,
    save_table as save_table,
    states_from_motion as states_from_motion,
)
from .osim.muscles import load_paths as load_paths
from .reports import (
    ImplausibleWarning as ImplausibleWarning,
    UnsupportedWarning as UnsupportedWarning,
    UnwrittenWarning as UnwrittenWarning,
)
from .setups.motion import load_marker_weights as load_marker_weights
from .tables import column_units as column_units
