"""Motions in several phases."""
