"""Tables to try queries on."""

PEOPLE = [("ada", "London"), ("ben", "Paris"), ("cleo", "Lima")]
VISITS = [("ada", 3), ("cleo", 5), ("ada", 8)]
