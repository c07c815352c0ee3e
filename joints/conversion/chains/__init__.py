"""Chains of bodies whose joints together are one ball joint."""
