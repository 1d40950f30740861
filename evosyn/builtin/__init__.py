"""Data that comes with the package: problems to start from, written for this project. It holds no code.

`builtin:python-seeds` names the folder `python_seeds`, one YAML file a problem in the fields of a pool line;
`evosyn.pools` reads it. DESIGN.md section 4.
"""
