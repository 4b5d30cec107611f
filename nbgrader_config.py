"""nbgrader in this checkout: text sources, one course, no answers in a release."""

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "attention"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
# `generate_assignment` copies every other file of the source folder, answers included.
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints", "*.pyc", "__pycache__", ".pytest_cache", "*.py", "README*",
    # Every text but those for coding assistants.
    "[!AC]*.md", "AGENTS?*.md", "CLAUDE?*.md",
    *(f"{name[:n]}{rest}.md" for name in ("AGENTS", "CLAUDE") for n in range(1, 6)
      for rest in ("", f"[!{name[n]}]*")),
]  # fmt: skip
# What language models may do for students: "none", "tutor" (explain and give hints), or "free".
# After a change `make exercises`; each notebook says it, and AGENTS.md beside it to assistants.
c.LanguageModels.rule = "tutor"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.IncludeHeaderFooter.header = ""
c.Execute.timeout = 120
# Formgrader shows below an answer in writing what it earns points for.
c.HTMLExporter.preprocessors = ["course_lib.grading.formgrader.ShowRubrics"]
