"""MuJoCo's model files, MJCF: written from models."""
