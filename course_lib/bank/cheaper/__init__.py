"""Exercises of assignment 14: attention that costs less."""
