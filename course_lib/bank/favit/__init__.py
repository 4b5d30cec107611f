"""Exercises of assignment 16: a few keys for everyone."""
