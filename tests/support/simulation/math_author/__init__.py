"""A stand-in for a model that solves problems in words, and writes new ones from templates: all of it is SIMULATED.

It knows the steps of each problem from its template; its mistakes are those steps with another operator, a slip, or the
last one forgotten, so that wrong answers repeat. docs/math-answer.md.
"""
