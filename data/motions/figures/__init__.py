"""Figures and films of motions."""
