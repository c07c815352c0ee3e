from .read import CHANGES as CHANGES
from .read import load_urdf as load_urdf
from .read import read_model as read_model
from .write import write_model as write_model
from .write import write_urdf as write_urdf
