"""What the domains of Python programs share: reading replies, lifting asserts, preparing tables, comparing values."""
