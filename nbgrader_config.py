"""nbgrader in this checkout: text sources, one course, no answers in a release."""

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "attention"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
# `generate_assignment` copies every other file of the source folder, answers included.
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints", "*.pyc", "__pycache__", ".pytest_cache", "*.md", "*.py", "README*",
]  # fmt: skip
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.IncludeHeaderFooter.header = ""
c.Execute.timeout = 120
# Formgrader shows below an answer in writing what it earns points for.
c.HTMLExporter.preprocessors = ["course_lib.grading.formgrader.ShowRubrics"]
