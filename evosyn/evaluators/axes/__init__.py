"""Behaviour axes: one module each, with `create()`; ranges are declared there and never rescaled by looking."""
