"""Exercises of assignment 12: the vision transformer."""
