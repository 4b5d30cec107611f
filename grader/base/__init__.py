"""Tools that every part of the grader calls, and the course that it grades."""
