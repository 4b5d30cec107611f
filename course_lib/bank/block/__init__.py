"""Exercises on the Transformer block: assignment 6."""
