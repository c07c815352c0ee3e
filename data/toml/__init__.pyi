from .read import parse_model as parse_model, read_model as read_model
from .write import model_text as model_text, write_model as write_model
