"""Run a student's cells in a worker behind walls, and decide on points outside of it."""
