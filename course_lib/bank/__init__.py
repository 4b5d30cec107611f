"""The exercises, by topic: a reference's properties, its known mistakes, other right answers.

All of it is data of the engine in :mod:`grader.checks`, which finds an exercise here by its id.
"""
