"""Recorded motions: labelled records of motions, markers, orientations and forces, and the files that hold them."""

from myoquat.data.motions.angles import lock_distance
from myoquat.data.motions.coordinates import motion_from_states, states_from_motion
from myoquat.data.motions.emg import Emg, load_emg
from myoquat.data.motions.forces import Forces, load_forces
from myoquat.data.motions.formats import MOTION_FORMATS, MotionFormat, load_table, save_table
from myoquat.data.motions.markers import Markers, load_markers
from myoquat.data.motions.motion import Motion, load_motion
from myoquat.data.motions.muscles import muscle_states_from_motion
from myoquat.data.motions.orientations import Orientations, load_orientations
from myoquat.data.motions.series import axes_rotation
from myoquat.data.motions.storage import read_motion, write_motion
from myoquat.data.motions.trc import read_markers, write_markers

__all__ = [
    "MOTION_FORMATS",
    "Emg",
    "Forces",
    "Markers",
    "Motion",
    "MotionFormat",
    "Orientations",
    "axes_rotation",
    "load_emg",
    "load_forces",
    "load_markers",
    "load_motion",
    "load_orientations",
    "load_table",
    "lock_distance",
    "motion_from_states",
    "muscle_states_from_motion",
    "read_markers",
    "read_motion",
    "save_table",
    "states_from_motion",
    "write_markers",
    "write_motion",
]
