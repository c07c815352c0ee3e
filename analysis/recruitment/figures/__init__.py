"""Figures of muscles, activations, moment arms and joint loads."""
