"""The course command."""
