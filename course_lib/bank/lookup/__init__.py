"""Exercises of assignment 2: attention as lookup."""
