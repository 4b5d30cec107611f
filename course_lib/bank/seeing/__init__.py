"""Exercises of assignment 13: what an image model looks at, and what a comparison shows."""
