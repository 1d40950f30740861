"""Domains, one a file: `create()` gives a `ports.Domain`, a family of executably checkable tasks."""
