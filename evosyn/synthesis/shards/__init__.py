"""A synthesis in parts, each a run directory of its own, by several workers on one machine or many. docs/scale.md."""
