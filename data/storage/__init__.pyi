from .read import read_motion as read_motion
from .write import write_motion as write_motion
