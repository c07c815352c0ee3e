"""Conversion of ball joints between Euler angles, chains of bodies and unit quaternions."""
