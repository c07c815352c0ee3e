from .read import read_markers as read_markers
from .write import write_markers as write_markers
