"""The strategies that come with evosyn: one module each, which is itself the program that runs in the sandbox.

They are read as text and never imported; their docstrings name where they come from. DESIGN.md section 5, "Strategy".
"""

CONTROLS = ("inverse", "random")
"""What any strategy must beat: scored and shown beside the others, chosen by nothing."""
