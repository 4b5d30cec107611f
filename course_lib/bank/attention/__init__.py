"""Exercises of assignment 03: scaled dot-product attention."""
