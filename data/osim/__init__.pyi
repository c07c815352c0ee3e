from .read import read_model as read_model
from .write import write_model as write_model
