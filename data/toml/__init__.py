"""Model files in TOML: the schema in `myoquat.data.toml.read`, dataclasses as tables in `myoquat.data.toml.records`."""

from myoquat.data.toml.read import parse_model, read_model
from myoquat.data.toml.write import model_text, write_model

__all__ = ["model_text", "parse_model", "read_model", "write_model"]
