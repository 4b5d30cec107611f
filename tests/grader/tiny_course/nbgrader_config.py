"""nbgrader in the tiny course."""

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "tiny"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "*.md"]
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.LanguageModels.rule = "tutor"
