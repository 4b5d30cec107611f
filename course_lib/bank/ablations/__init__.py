"""Exercises of assignment 18: ablations."""
