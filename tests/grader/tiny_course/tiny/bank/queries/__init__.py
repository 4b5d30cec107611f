"""Exercises of assignment 1."""
