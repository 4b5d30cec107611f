"""What students get of the course, and what they run with it: ``course check``, ``reset``."""
