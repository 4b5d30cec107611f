"""Defence sheets: questions on a student's own code, every answer had by running it."""
