"""What a worker can import, and what `course check` takes away because a worker cannot."""

from course_lib.grading.judging import packages


def test_what_the_course_requires_is_there_and_the_rest_is_not():
    found, there = packages.others(), {d.name for d in packages.required()}
    assert {"torch", "numpy", "ipykernel", "sympy", "pip"} <= there
    assert {"nbgrader", "pytest", "sphinx"} <= found
    assert not found & {"torch", "numpy", "PIL", "yaml", "sympy", "course_lib", "test"}
