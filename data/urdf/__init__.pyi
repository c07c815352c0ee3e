from .read import load_urdf as load_urdf
from .read import read_model as read_model
from .reading.drives import CHANGES as CHANGES
from .write import write_model as write_model
from .write import write_urdf as write_urdf
