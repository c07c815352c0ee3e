from .read import CHANGES as CHANGES, load_urdf as load_urdf, read_model as read_model
from .write import write_model as write_model, write_urdf as write_urdf
