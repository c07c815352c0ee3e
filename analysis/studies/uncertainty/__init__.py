"""Bands on the curves of a recorded trial, and which of its uncertain inputs they come from."""
