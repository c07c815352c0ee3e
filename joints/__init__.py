"""Placeholder docstring; see the room."""
