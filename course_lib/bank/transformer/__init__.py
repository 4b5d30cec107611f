"""Exercises of assignment 9: the Transformer at work."""
