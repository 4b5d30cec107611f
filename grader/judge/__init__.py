"""Run a student's cells in a worker behind walls, and decide on points outside of it."""

# Tries of a submission on which a judge or its warm parent ended.
ATTEMPTS = 2
