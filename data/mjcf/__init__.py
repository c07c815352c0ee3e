"""MuJoCo's model files, MJCF: written from models."""

from myoquat.data.mjcf.write import write_model

__all__ = ["write_model"]
