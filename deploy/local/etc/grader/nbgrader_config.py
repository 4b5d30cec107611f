"""nbgrader in the grader's account: its copy of the course, and the course's judge."""

from pathlib import Path

from grader import formgrader
from grader.hub.settings import read

c = get_config()  # noqa: F821
place = read(Path(__file__).parents[1] / "hub.toml")
load_subconfig(str(place.checkout / "nbgrader_config.py"))  # noqa: F821

c.CourseDirectory.root = str(place.checkout)
if place.gradebook:
    c.CourseDirectory.db_url = place.gradebook
formgrader.use(c)
