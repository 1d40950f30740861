"""The stages of a synthesis, one a file, in this order: make, decontaminate, deduplicate, draw, judge."""
