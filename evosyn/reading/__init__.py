"""Finished and running directories as answers: plain data, which `evosyn inspect` prints and `evosyn view` serves.

Each kind of directory has one module; `opening.open_directory` finds it. Nothing here writes, prints or knows its
readers. DESIGN.md section 4.
"""
