"""Comparisons that are run from a checkout of the repository; no part of the package."""
