"""Everything that pretends: the offline teacher, made-up data.

Nothing imports it; the command line alone reaches it, through the registry. What it makes is marked `simulated`.
DESIGN.md section 3.
"""
