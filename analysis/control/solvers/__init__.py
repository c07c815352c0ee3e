"""Solvers of nonlinear programs, and how they end."""
