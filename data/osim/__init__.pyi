from .read import read_model as read_model
from .sets import read_marker_set as read_marker_set, with_markers as with_markers
from .write import model_text as model_text
