"""Pinocchio, in a loop of C++."""
