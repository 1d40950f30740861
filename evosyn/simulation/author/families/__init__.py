"""Parametrised families of problems, one file each; `catalogue` finds them. See `catalogue.Family`."""
