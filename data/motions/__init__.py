"""Recorded motions: OpenSim's tables (.mot, .sto) and marker files (.trc), read and written as DataFrames."""

from myoquat.data.motions.coordinates import motion_from_states, states_from_motion
from myoquat.data.motions.formats import MOTION_FORMATS, MotionFormat, load_table, save_table
from myoquat.data.motions.muscles import muscle_states_from_motion
from myoquat.data.motions.storage import read_motion, write_motion
from myoquat.data.motions.trc import read_markers, write_markers

__all__ = [
    "MOTION_FORMATS",
    "MotionFormat",
    "load_table",
    "motion_from_states",
    "muscle_states_from_motion",
    "read_markers",
    "read_motion",
    "save_table",
    "states_from_motion",
    "write_markers",
    "write_motion",
]
