"""Read what a student handed in, and trust nothing of it."""
