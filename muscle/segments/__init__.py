"""Paths as segments between bodies: lengths, Jacobians, torques and flags."""
