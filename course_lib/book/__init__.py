"""Building the rendered book and looking at what came out."""

from course_lib.book.build import BuildError, build
from course_lib.book.report import report

__all__ = ["BuildError", "build", "report"]
