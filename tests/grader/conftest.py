"""The tiny course is run by the tests beside it, and is none itself."""

collect_ignore = ["tiny_course"]
