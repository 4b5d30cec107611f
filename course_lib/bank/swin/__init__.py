"""Exercises of chapter 15: windows that move."""
