"""From seed problems to a dataset: generate, deduplicate, draw, execute, rank, prune, write; one file a stage."""
