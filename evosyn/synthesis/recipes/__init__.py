"""Recipes: ordered stages, each a thin assembly of the parts below it."""
