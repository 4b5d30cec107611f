"""Commands of students: ``course check``, ``reset``, and their handout."""
