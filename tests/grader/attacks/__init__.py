"""Attacks on the grader, as a table that can be read and run: ``course attacks``."""
