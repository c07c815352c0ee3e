from .read import read_model as read_model
from .write import model_text as model_text
