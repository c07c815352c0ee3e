from .read import parse_model as parse_model
from .read import read_model as read_model
from .write import model_text as model_text
from .write import write_model as write_model
