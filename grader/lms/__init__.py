"""Learning management systems, in and out, by the files that they write and take back."""
