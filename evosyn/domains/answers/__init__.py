"""Final answers in words and numbers: where one stands in a reply, what it is worth, and whether two are the same.

Answers are hostile texts and are read in our own process: nothing is evaluated but sums, products, quotients, powers,
roots, logarithms and factorials of exact numbers, each step paid from a budget and each number bounded (`exact`).
docs/math-answer.md.
"""
