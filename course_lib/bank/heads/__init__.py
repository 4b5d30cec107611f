"""Exercises of assignment 04: heads."""
