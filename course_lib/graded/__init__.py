"""Stand-ins for modules that draw, while an answer is graded: ``course.toml`` names them."""
