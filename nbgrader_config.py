"""nbgrader in this checkout: text sources, one course, no answers in a release."""

from grader.stock import FromText

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "attention"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
# `generate_assignment` copies every other file of the source folder, answers included.
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints",
    "*.pyc",
    "__pycache__",
    ".pytest_cache",
    "*.py",
    "*.md",
    "README*",
]
# Makes the notebooks of the text sources, and the guides for coding assistants beside a release.
c.GenerateAssignment.post_convert_hook = FromText(__file__)
# What language models may do for students: "none", "tutor" (explain and give hints), or "free".
# After a change `make exercises`; each notebook says it, and AGENTS.md beside it to assistants.
c.LanguageModels.rule = "tutor"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.IncludeHeaderFooter.header = ""
c.Execute.timeout = 120
# Formgrader shows below an answer in writing what it earns points for.
c.HTMLExporter.preprocessors = ["grader.formgrader.ShowRubrics"]
