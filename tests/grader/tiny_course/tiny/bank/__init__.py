"""Exercises of the course."""
