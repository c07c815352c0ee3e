from .read import load_mjcf as load_mjcf, read_model as read_model
from .write import write_model as write_model
