"""Exercises of assignment 19: two senses."""
