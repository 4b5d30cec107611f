"""Exercises of assignment 5: masks."""
