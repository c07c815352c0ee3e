"""MuJoCo's model files, MJCF: read into models, and written from them."""

from myoquat.data.mjcf.read import load_mjcf, read_model
from myoquat.data.mjcf.write import write_model

__all__ = ["load_mjcf", "read_model", "write_model"]
