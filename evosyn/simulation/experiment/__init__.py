"""Experiments: arms that differ in one thing, compared over seeds. One module with a `create` each; now `table2`.

Its parts: `toy_*` (a toy language and a policy trained from scratch), `function_*` (small Python functions of the
offline teacher), `own_data` (a user's), and `real_runs` (ordinary training runs of a real model) on the last two; all
share `choices`, `search` and `table`.
"""
