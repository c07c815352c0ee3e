"""Surfaces that paths wrap around: one file each, with geodesics and initial guesses."""
