"""Exercises of assignment 10: reading attention maps."""
