"""Descriptions of rotations beside quaternions and Euler sequences."""
