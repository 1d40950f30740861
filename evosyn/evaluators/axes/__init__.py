"""Behaviour axes: one module each, with a `create`; ranges are declared there and never rescaled by looking."""
