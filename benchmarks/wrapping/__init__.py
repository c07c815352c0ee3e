"""Paths around surfaces: certificates against geodesic shooting, jumps, ranges of real models."""
