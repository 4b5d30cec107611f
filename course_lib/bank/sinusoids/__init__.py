"""Exercises of assignment 7: sinusoids."""
