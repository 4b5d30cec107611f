"""Exercises of assignment 13: what a picture model looks at, and what a comparison shows."""
