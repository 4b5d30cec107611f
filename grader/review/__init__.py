"""Look again: regrading, likeness between answers, and what has to be in place before."""
