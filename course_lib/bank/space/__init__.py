"""Exercises of assignment 11: positions in space."""
