"""Exercises of assignment 8: relative positions."""
