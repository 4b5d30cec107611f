"""From a text source to a released notebook, and from a submission to points and feedback."""
