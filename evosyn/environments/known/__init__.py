"""Environments that generators may be shown as examples: one program each, read as text and never imported."""
