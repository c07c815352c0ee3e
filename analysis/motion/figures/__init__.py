"""Figures of recorded motion."""
