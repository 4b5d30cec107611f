"""Exercises of chapter 17: sparse queries, series cut into windows, time and space in turn."""
