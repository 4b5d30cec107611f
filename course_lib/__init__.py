"""A course on attention: full implementations, checks and grading."""
