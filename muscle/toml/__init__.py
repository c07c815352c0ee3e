"""Model files in TOML: the schema in `muscle.toml.read`, dataclasses as tables in `muscle.toml.records`."""
