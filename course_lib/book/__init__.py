"""Building the rendered book and looking at what came out."""

from course_lib.book.builder import BuildError, build, epub, links
from course_lib.book.inspection import report
