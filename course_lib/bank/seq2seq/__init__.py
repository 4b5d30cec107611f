"""Exercises of assignment 1: sequence to sequence."""
