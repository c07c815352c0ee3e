from .read import read_columns as read_columns
from .write import write_columns as write_columns
