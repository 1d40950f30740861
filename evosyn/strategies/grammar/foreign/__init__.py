"""Programs of models and people as trees, where they fit: ordinary numpy is understood, never executed.

Of the scores only the order counts, so a tree that ranks alike is as good as the program. What is not understood to the
last is not read: `program.read_foreign` gives None. docs/evolve.md, "Bursts".
"""
